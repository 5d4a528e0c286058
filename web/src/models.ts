/** The functions that make models: from layers and from other models. */
import { checkOptions, describe, fail } from './error.js';
import type * as native from './etude.mjs';
import { Model, type LayerLike } from './model.js';
import { module } from './module.js';
import type * as options from './options.mjs';

function handleOf(model: unknown, where: string): native.Layer {
  return model instanceof Model ? model.handle : fail('value', where, `${describe(model)} - expected a Model - pass one.`);
}

/**
 * A model of the same structure with new layers and new weights, not compiled. Each layer of the clone is the result of
 * cloneFunction, called once for each layer but inputs; without it, a new layer of the same config. The model must be
 * made by sequential(), or by model() from inputs and outputs.
 */
export function cloneModel(model: Model, cloneFunction?: (layer: LayerLike) => LayerLike): Model {
  if (cloneFunction !== undefined && typeof cloneFunction !== 'function')
    fail('value', 'cloneModel', `${describe(cloneFunction)} as cloneFunction - expected a function from a layer to a layer - pass one.`);
  const handle = handleOf(model, 'cloneModel');
  return new Model(() => module.cloneModel(handle, cloneFunction), {});
}

/**
 * The graph of a model in the DOT language, from which Graphviz draws a picture: a node for each layer, an edge for each
 * tensor between two layers.
 */
export function modelToDot(model: Model, options: options.ModelToDotOptions = {}): string {
  return module.modelToDot(handleOf(model, 'modelToDot'), options);
}

/** An input as the first layer of a sequential model, which is then built at once. */
export const inputLayer = (options: options.InputOptions): native.Layer => module.layers_inputLayer(options) as native.Layer;

/**
 * A sequence of layers, built on the first batch; or at once, if it begins with `et.input({ shape })` or an inputLayer.
 * Options may include steps in JavaScript.
 */
export function sequential(layers: (LayerLike | native.SymbolicTensor)[] = [], options?: options.SequentialOptions & ThisType<Model>): Model {
  const given = checkOptions(options, 'sequential');
  return new Model((link) => module.model_sequential(layers, given, link), given);
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
  if (!options) fail('value', 'model', `${describe(options)} - expected an object of options - pass one such as { inputs, outputs }.`);
  checkOptions(options, 'model');
  if ('inputs' in options) return new Model((link) => module.model_functional(options, link), options);
  return new Model((link) => module.model_free(options as options.ModelOptions, link), options);
}
