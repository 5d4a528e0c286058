/** The functions that make models from files and descriptions. */
import { checkOptions } from './error.js';
import type * as native from './etude.mjs';
import type { Files, LaterFiles, Within } from './files.js';
import { Model } from './model.js';
import { module } from './module.js';
import type * as options from './options.mjs';
import { withCustomObjects, type CustomObjects } from './registry.js';
import { withProgress, loadFrom, pathIn, type Loaded, type ModelSource, type Progress, type ProgressOptions } from './sources.js';

/** Options of `modelFromJson`. */
export interface ModelFromJsonOptions {
  /** Custom classes that are not registered. */
  customObjects?: CustomObjects | undefined;
}
/** Options of `loadModel`. */
export interface LoadModelOptions extends options.LoadModelOptions, ModelFromJsonOptions, ProgressOptions {}

/**
 * Loads a model from a file or files that the page has, or fetches: of a .keras file, an .h5 file of Keras 2, or a
 * model.json of TensorFlow.js. Loads the parts of the module that it needs.
 */
export function loadModel(source: ModelSource, options?: LoadModelOptions): Promise<Model>;
/**
 * Loads a model from a folder of save, from a .keras file, from an .h5 file of Keras 2, or from a model.json of TensorFlow.js.
 * It is compiled, with its optimizer's state unless it is of TensorFlow.js; or not, if compile is false.
 */
export function loadModel<Path extends string>(path: Path, options?: LoadModelOptions): Loaded<Path, Model>;
export function loadModel(source: string | ModelSource, given?: LoadModelOptions): Model | Promise<Model> {
  const { customObjects, onProgress, ...options } = withProgress(given, 'loadModel');
  const within: Within = (work) => withCustomObjects(customObjects, work);
  const path = pathIn(source, 'loadModel');
  if (path !== undefined) return new Model(() => within(() => module.model_load(path, options, onProgress)), {});
  const load = (path: string, files: Files | LaterFiles, progress?: Progress) => module.model_loadTask(path, options, files, progress);
  return loadFrom(source, 'loadModel', onProgress, load, within).then((handle) => new Model(() => handle, {}));
}
/**
 * The layers of strings in a .keras file, such as TextVectorization, with their vocabularies, by their names. loadModel leaves
 * them out, because models have numbers only: call them on the texts, and pass their results to the model. A path gives them at
 * once; other sources return a promise, and load the parts of the module that they need.
 */
export function loadStringLayers(source: ModelSource): Promise<Record<string, native.StringLayer>>;
export function loadStringLayers<Path extends string>(path: Path): Loaded<Path, Record<string, native.StringLayer>>;
export function loadStringLayers(source: string | ModelSource): Record<string, native.StringLayer> | Promise<Record<string, native.StringLayer>> {
  const path = pathIn(source, 'loadStringLayers');
  if (path !== undefined) return module.loadStringLayers(path);
  return loadFrom(source, 'loadStringLayers', undefined, (path, files) => module.loadStringLayersTask(path, files) as Promise<Record<string, native.StringLayer>>);
}
/**
 * A model from the description of toJson, of Keras, or of the model.json of a TensorFlow.js layers model, with new weights.
 * It is compiled if the description says how.
 */
export function modelFromJson(text: string, options?: ModelFromJsonOptions): Model {
  const { customObjects } = checkOptions(options, 'modelFromJson', ['customObjects']);
  return new Model(() => withCustomObjects(customObjects, () => module.model_fromJson(text)), {});
}
