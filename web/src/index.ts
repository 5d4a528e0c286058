/**
 * Étude: Keras-style training, compiled from C++ to WebAssembly.
 *
 *     import * as et from 'etude-ml';
 *     await et.ready(); // in a page, before all else; Node.js loads the module when it is first used
 *
 * Nothing needs to be freed: what JavaScript lets go of, the module lets go of.
 */
import { lambda } from './callback.js';
import { factories, family, late, type Family } from './module.js';
import type * as options from './options.mjs';

export { Batch, type BatchGenerator, type BatchLike, type DatasetElement, type NamedData } from './batch.js';
export { Callback, type CallbackLike, type CallbackParams, type Hooks, type Logs, type PredictLogs } from './callback.js';
export * as data from './data.js';
export { EtudeError, type ErrorKind } from './error.js';
export type {
  Callback as NativeCallback,
  Dataset,
  DatasetIterator,
  EarlyStopping,
  Initializer,
  Layer,
  LearningRateSchedule,
  Loss,
  Metric,
  MultiHeadAttention,
  OperationalMetrics,
  Optimizer,
  Recurrent,
  Regularizer,
  SymbolicTensor,
  Variable,
} from './etude.mjs';
export type { FileSink } from './files.js';
export { CsrMatrix, DatasetCreator, RaggedTensor } from './kinds.js';
export type { ColumnGroup, ColumnLike, Columns, DataLike, InputContext, LazyArray, NamedColumns, SequenceLike } from './kinds.js';
export type { Configuration } from './load.js';
export { configure, ready, reload, variant } from './module.js';
export type { HttpPost } from './network.js';
export {
  Model,
  loadModel,
  model,
  modelFromJson,
  sequential,
  type BatchOptions,
  type CompileOptions,
  type EvaluateOptions,
  type FitOptions,
  type History,
  type LayerLike,
  type PredictOptions,
} from './model.js';
export type * from './options.mjs';
export { openFiles, type PageFiles } from './page_files.js';
export type { PredictionStream } from './predictions.js';
export { Tensor, tensor, type DType, type NestedArray, type TensorData, type TensorLike } from './tensor.js';
export type { Variant } from './variant.js';
export { Value, type StepData, type StepLogs, type ValueLike } from './value.js';

/** Makes layers: `et.layers.dense({ units: 10 })`. */
export const layers: options.Layers = /* @__PURE__ */ factories('layers');
/** What layers take by name, for steps of your own; the plain ones are in `ops`. */
export const activations: Family<'activations'> = /* @__PURE__ */ family('activations');
/** Makes losses. Those without options may be named: `loss: 'mse'`. */
export const losses: options.Losses = /* @__PURE__ */ factories('losses');
/** Makes metrics. Those without options may be named: `metrics: ['accuracy']`. */
export const metrics: options.Metrics = /* @__PURE__ */ factories('metrics');
/** Makes optimizers: `et.optimizers.adam({ learningRate: 1e-3 })`. */
export const optimizers: options.Optimizers = /* @__PURE__ */ factories('optimizers');
/** Learning rates that follow from the step. */
export const schedules: options.Schedules = /* @__PURE__ */ factories('schedules');
/** Makes initializers, the first values of variables. */
export const initializers: options.Initializers = /* @__PURE__ */ factories('initializers');
/** Makes regularizers, penalties that are added to the loss. */
export const regularizers: options.Regularizers = /* @__PURE__ */ factories('regularizers');
/** Keras's callbacks. They go into one list with your own: `callbacks: [et.callbacks.earlyStopping(), {onEpochEnd() {…}}]`. */
export const callbacks: options.Callbacks & { readonly lambda: typeof lambda } = /* @__PURE__ */ factories('callbacks', { lambda });
/** What steps are written in. */
export const ops: Family<'ops'> = /* @__PURE__ */ family('ops');

/** Begins the description of a model: data [batch, ...shape]. Layers are applied to it: layer.apply(x). */
export const input = /* @__PURE__ */ late('input');
/** d loss / d each variable, within a step; null where the loss does not depend on it. Can be differentiated again. */
export const gradients = /* @__PURE__ */ late('gradients');
/**
 * What keeps a value from step to step: variable.read() and variable.assign(value) within a step. As in TensorFlow.js. One
 * that a model's `call` reads is trained, counted and saved with the model; make it before, not within `call`.
 */
export const variable = /* @__PURE__ */ late('variable');
/** The data behind a Value, in a model compiled with runEagerly. */
export const inspect = /* @__PURE__ */ late('inspect');
/** Makes initial weights, shuffles and dropout reproducible from here on. */
export const setRandomSeed = /* @__PURE__ */ late('setRandomSeed');
/**
 * What new layers compute in: 'float32'; or 'mixed_bfloat16' and 'mixed_float16', half precision with variables of float32,
 * as a GPU computes. Here that is slower than float32: it is for trying what a model will do there. '' is as at first.
 */
export const setDtypePolicy = /* @__PURE__ */ late('setDtypePolicy');
/** The policy that new layers have. */
export const dtypePolicy = /* @__PURE__ */ late('dtypePolicy');
/**
 * How long, in milliseconds, training keeps the thread before the page or Node.js has its turn, which comes after a step
 * or a trace: 16 at first. For one fit: yieldEvery.
 */
export const setYieldEvery = /* @__PURE__ */ late('setYieldEvery');
/**
 * How many threads kernels use, where there are threads: in Node.js, and in pages that are cross-origin isolated. At first
 * as many as there are cores. Elsewhere it is always one.
 */
export const setNumThreads = /* @__PURE__ */ late('setNumThreads');
/** How many threads kernels use. */
export const numThreads = /* @__PURE__ */ late('numThreads');
/** The module's memory, which never shrinks, and how much of it is in use, in bytes. */
export const memory = /* @__PURE__ */ late('memory');
