/**
 * Étude for pages that want the smallest download: sequential and functional models of the usual classes.
 *
 *     import * as et from 'etude-ml/lite';
 *     await et.ready(); // in a page, before all else
 *
 * Each name is that of 'etude-ml'. A use of a class or a function that this import lacks throws an EtudeError that says so.
 */
import { absent } from './absent.js';
import { lambda } from './callback.js';
import type * as native from './etude.mjs';
import type { Classes } from './lite_classes.mjs';
import type { Model as FullModel } from './model.js';
import { inputLayer, model as newModel, sequential as newSequential } from './models.js';
import { factories, late } from './module.js';
import type * as options from './options.mjs';

export { type Hooks, Callback, type CallbackParams, type Logs, type PredictLogs } from './callback.js';
export { EtudeError, type ErrorKind } from './error.js';
export type { Callback as NativeCallback, EarlyStopping, Layer as NativeLayer, Recurrent, SymbolicTensor, Variable } from './etude.mjs';
export type { ColumnGroup, ColumnLike, Columns, NamedColumns } from './kinds.js';
export type { Configuration } from './load.js';
export { configure, ready, reload, variant } from './module.js';
export type { BatchOptions, CompileOptions, EvaluateOptions, FitOptions, History, LoadWeightsOptions, PredictOptions, SummaryOptions } from './model_options.js';
export type * from './options.mjs';
export type { Loaded, ModelSource, Progress } from './sources.js';
export { Tensor, tensor, type DType, type NestedArray, type TensorData, type TensorLike } from './tensor.js';
export type { Variant } from './variant.js';

/** The members that only models of 'etude-ml' have. */
type Absent = 'call' | 'save' | 'toJson' | 'explain' | 'predictStream' | 'predictOutputsStream' | 'trainStep' | 'testStep' | 'predictStep' | 'computeLoss' | 'computeMetrics' | 'addLoss' | 'addMetric' | 'writeTo' | 'download'
  | 'makeTrainFunction' | 'makeTestFunction' | 'makePredictFunction';
/** A model: see Model of 'etude-ml'. Of its weights it writes and reads safetensors. */
export interface Model extends Omit<FullModel, Absent | 'toBytes'> {
  /** The bytes of a file of the weights. */
  toBytes(format: 'safetensors'): Promise<Uint8Array>;
}
/** The layers of a model, which may be models too. */
export type LayerLike = native.Layer | Model;

/** Makes layers: `et.layers.dense({ units: 10 })`. */
export const layers: Pick<options.Layers, Classes['layers']> & { readonly inputLayer: typeof inputLayer } = /* @__PURE__ */ factories('layers', { inputLayer });
/** Makes losses. Those without options may be named: `loss: 'mse'`. */
export const losses: Pick<options.Losses, Classes['losses']> = /* @__PURE__ */ factories('losses');
/** Makes metrics. Those without options may be named: `metrics: ['accuracy']`. */
export const metrics: Pick<options.Metrics, Classes['metrics']> = /* @__PURE__ */ factories('metrics');
/** Makes optimizers: `et.optimizers.adam({ learningRate: 1e-3 })`. */
export const optimizers: Pick<options.Optimizers, Classes['optimizers']> = /* @__PURE__ */ factories('optimizers');
/** Learning rates that depend on the step. */
export const schedules: Pick<options.Schedules, Classes['schedules']> = /* @__PURE__ */ factories('schedules');
/** Makes initializers, the first values of variables. */
export const initializers: Pick<options.Initializers, Classes['initializers']> = /* @__PURE__ */ factories('initializers');
/** Makes regularizers, penalties that are added to the loss. */
export const regularizers: Pick<options.Regularizers, Classes['regularizers']> = /* @__PURE__ */ factories('regularizers');
/** Keras's callbacks. Pass them in one list with your own: `callbacks: [et.callbacks.earlyStopping(), {onEpochEnd() {…}}]`. */
export const callbacks: Pick<options.Callbacks, Classes['callbacks']> & { readonly lambda: typeof lambda } = /* @__PURE__ */ factories('callbacks', { lambda });

/** A sequence of layers: see `sequential` of 'etude-ml'. */
export const sequential = newSequential as unknown as (layers?: (LayerLike | native.SymbolicTensor)[], options?: Pick<options.SequentialOptions, 'name'>) => Model;
/** A model that is described from its inputs to its outputs: see `model` of 'etude-ml'. */
export const model = newModel as unknown as (options: Pick<options.FunctionalOptions, 'inputs' | 'outputs' | 'name'>) => Model;

/** An input of a model's description: data [batch, ...shape]. Apply layers to it: layer.apply(x). */
export const input = /* @__PURE__ */ late('input');
/** Makes initial weights, shuffles and dropout reproducible from here on. */
export const setRandomSeed = /* @__PURE__ */ late('setRandomSeed');
/** The milliseconds that training runs before it yields to the page or Node.js, after a step or a trace. Default: 16. */
export const setYieldEvery = /* @__PURE__ */ late('setYieldEvery');
/** The module's memory, which never shrinks, and its used part, in bytes. */
export const memory = /* @__PURE__ */ late('memory');

/** Names that only 'etude-ml' has: a use of one throws an EtudeError "state" that says so. */
export const {
  Batch, Constraint, CsrMatrix, DatasetCreator, Initializer, Layer, LearningRateSchedule, Loss, Metric, Model, Optimizer, RaggedTensor, Regularizer, RnnCell, Value, Wrapper,
  activations, cloneModel, constraints, data, devices, dtypePolicy, epsilon, experiment, floatx, gradients, imageDataFormat, inspect, loadModel, loadStringLayers, modelFromJson, modelToDot, numThreads,
  openFiles, ops, plotModel, registerClass, setDtypePolicy, setEpsilon, setFloatx, setImageDataFormat, setNumThreads, utils, variable,
} = absent;
