/** The functions that make models: from layers, from files and from other models. */
import type * as native from './etude.mjs';
import type { Files, LaterFiles, Within } from './files.js';
import { Model, type LayerLike } from './model.js';
import { module } from './module.js';
import type * as options from './options.mjs';
import { withCustomObjects, type CustomObjects } from './registry.js';
import { checkProgress, isPath, loadFrom, type ModelSource, type Progress, type ProgressOptions } from './sources.js';

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
 * It is compiled, with its optimizer's state unless that is of Keras 2 or TensorFlow.js; or not, if compile is false.
 */
export function loadModel(path: string, options?: LoadModelOptions): Model;
export function loadModel(source: string | ModelSource, { customObjects, onProgress, ...options }: LoadModelOptions = {}): Model | Promise<Model> {
  checkProgress(onProgress, 'loadModel');
  const within: Within = (work) => withCustomObjects(customObjects, work);
  if (isPath(source)) return new Model(() => within(() => module.model_load(source, options, onProgress)), {});
  const load = (path: string, files: Files | LaterFiles, progress?: Progress) => module.model_loadTask(path, options, files, progress);
  return loadFrom(source, 'loadModel', onProgress, load, within).then((handle) => new Model(() => handle, {}));
}
/**
 * The layers of strings in a .keras file, such as TextVectorization, with their vocabularies, by their names. loadModel leaves
 * them out, because models have numbers only: call them on the texts, and pass their results to the model.
 */
export function loadStringLayers(path: string): Record<string, native.StringLayer> {
  return module.loadStringLayers(path);
}
/**
 * A model from the description of toJson, of Keras, or of the model.json of a TensorFlow.js layers model, with new weights.
 * It is compiled if the description says how.
 */
export function modelFromJson(text: string, { customObjects }: ModelFromJsonOptions = {}): Model {
  return new Model(() => withCustomObjects(customObjects, () => module.model_fromJson(text)), {});
}
/**
 * A model of the same structure with new layers and new weights, not compiled. Each layer of the clone is the result of
 * cloneFunction, called once for each layer but inputs; without it, a new layer of the same config. The model must be
 * made by sequential(), or by model() from inputs and outputs.
 */
export function cloneModel(model: Model, cloneFunction?: (layer: LayerLike) => LayerLike): Model {
  return new Model(() => module.cloneModel(model.handle, cloneFunction), {});
}

/**
 * The graph of a model in the DOT language, from which Graphviz draws a picture: a node for each layer, an edge for each
 * tensor between two layers.
 */
export function modelToDot(model: Model, options: options.ModelToDotOptions = {}): string {
  return module.modelToDot(model.handle, options);
}

/** An input as the first layer of a sequential model, which is then built at once. */
export const inputLayer = (options: options.InputOptions): native.Layer => module.layers_inputLayer(options) as native.Layer;

/**
 * A sequence of layers, built on the first batch; or at once, if it begins with `et.input({ shape })` or an inputLayer.
 * Options may include steps in JavaScript.
 */
export function sequential(layers: (LayerLike | native.SymbolicTensor)[] = [], options: options.SequentialOptions & ThisType<Model> = {}): Model {
  return new Model((link) => module.model_sequential(layers, options, link), options);
}

/**
 * A model that is described from its inputs to its outputs, possibly several:
 *
 *     const x = et.input({ shape: [784] });
 *     const model = et.model({ inputs: [x], outputs: [et.layers.dense({ units: 10 }).apply(x)] });
 *
 * Inputs or outputs by name are objects, `et.model({ inputs: { age, photo }, outputs: { price, risk } })`: then data,
 * losses and metrics have these names, and predict returns such an object. Lists and objects may be nested:
 * `et.model({ inputs: { image, meta: { age, sizes: [s, t] } }, outputs: { boxes: [b, c], score } })`.
 *
 * Or one whose `call` is a function of Values. `layers` lists the layers that it uses: they are trained and saved with
 * it.
 */
export function model(options: (options.FunctionalOptions | options.ModelOptions) & ThisType<Model>): Model {
  if ('inputs' in options) return new Model((link) => module.model_functional(options, link), options);
  return new Model((link) => module.model_free(options as options.ModelOptions, link), options);
}
