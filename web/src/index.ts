/**
 * Étude: Keras-style training, compiled from C++ to WebAssembly.
 *
 *     import * as et from 'etude-ml';
 *     await et.ready(); // in a page, before all else; Node.js loads the module when it is first used
 *
 * Nothing needs to be freed explicitly: the module frees objects that JavaScript has collected.
 */
import { lambda } from './callback.js';
import type * as native from './etude.mjs';
import { imageDatasetFromDirectory, loadImg } from './images.js';
import { lambdaLayer } from './lambda.js';
import type { LayerLike } from './model.js';
import { inputLayer } from './models.js';
import { factories, family, late, opFamily, type Family, type OpFamily } from './module.js';
import type * as options from './options.mjs';
import { serialization, type Serialization } from './serialization.js';

export { devices, floatx, type Device } from './backend.js';
export { Batch, type BatchGenerator, type BatchLike, type DatasetElement, type NamedData, type NamedTensors } from './batch.js';
export { Callback, type CallbackLike, type CallbackParams, type Hooks, type Logs, type PredictLogs } from './callback.js';
export { Constraint, Initializer, LearningRateSchedule, Loss, Metric, Optimizer, Regularizer } from './custom.js';
export type { CustomConstraint, CustomInitializer, CustomLoss, CustomMetric, CustomOptimizer, CustomRegularizer, CustomSchedule } from './custom.js';
export * as data from './data.js';
export { EtudeError, type ErrorKind } from './error.js';
export * as experiment from './experiment.js';
export type {
  Callback as NativeCallback,
  Dataset,
  DatasetIterator,
  EarlyStopping,
  FeatureSpace,
  GroupedQueryAttention,
  Layer as NativeLayer,
  MultiHeadAttention,
  OperationalMetrics,
  PreprocessingLayer,
  Recurrent,
  ReversibleEmbedding,
  StringLayer,
  SymbolicTensor,
  Variable,
  VocabularyLayer,
} from './etude.mjs';
export type { ExecutionBatches, PredictFunction, TrainFunction } from './execution.js';
export type { FileSink } from './files.js';
export type { DecodeImage, DecodedImage, ImageDataset, ImageDatasetOptions, LoadImgOptions } from './images.js';
export { CsrMatrix, DatasetCreator, RaggedTensor } from './kinds.js';
export type { ColumnGroup, ColumnLike, Columns, DataLike, InputContext, LazyArray, NamedColumns, SequenceLike } from './kinds.js';
export type { Configuration } from './load.js';
export { Layer, type Config } from './layer.js';
export { loadModel, loadStringLayers, modelFromJson, type LoadModelOptions, type ModelFromJsonOptions } from './load_model.js';
export type { NamedSymbols } from './layer_base.js';
export type { Nested } from './nested.js';
export { configure, ready, reload, variant, type ReadyOptions } from './module.js';
export type { HttpPost } from './network.js';
export { Model, type AnyLayer, type LayerLike } from './model.js';
export type {
  BatchOptions,
  CompileOptions,
  EvaluateOptions,
  ExplainOptions,
  FitOptions,
  History,
  LoadWeightsOptions,
  ModelClassOptions,
  PredictOptions,
  SaveOptions,
  SaveProgressOptions,
  SummaryOptions,
} from './model_options.js';
export { cloneModel, model, modelToDot, sequential } from './models.js';
export type * from './options.mjs';
export { openFiles, type PageFiles } from './page_files.js';
export type { Part } from './parts.js';
export { plotModel, type PlotModelOptions, type Viz } from './plot.js';
export type { PredictionStream } from './predictions.js';
export { registerClass, type CustomClass, type CustomObjects, type RegisterOptions } from './registry.js';
export { RnnCell, type StateSize } from './rnn_cell.js';
export type { Loaded, ModelArtifacts, ModelHandler, ModelSource, Progress, ProgressOptions } from './sources.js';
export type { FileFormat, SyncFile } from './targets.js';
export type { Serialization } from './serialization.js';
export { Tensor, tensor, type DType, type NestedArray, type TensorData, type TensorLike } from './tensor.js';
export type { TextInput, TextLike } from './text.js';
export type { Variant } from './variant.js';
export { Value, type StepData, type StepLogs, type ValueLike } from './value.js';
export { Wrapper, type WrapperOptions } from './wrapper.js';

/** Makes layers: `et.layers.dense({ units: 10 })`. */
export const layers: options.Layers & Serialization<LayerLike> & { readonly inputLayer: typeof inputLayer; readonly lambda: typeof lambdaLayer } = /* @__PURE__ */ factories('layers', { inputLayer, lambda: lambdaLayer }, /* @__PURE__ */ serialization('layer'));
/** The activations that layers accept by name, for custom steps and functional models; plain ones are in `ops`. */
export const activations: OpFamily<'activations'> = /* @__PURE__ */ opFamily('activations');
/** Makes losses. Those without options may be named: `loss: 'mse'`. */
export const losses: options.Losses & Serialization<native.Loss> = /* @__PURE__ */ factories('losses', {}, /* @__PURE__ */ serialization('loss'));
/** Makes metrics. Those without options may be named: `metrics: ['accuracy']`. */
export const metrics: options.Metrics & Serialization<native.Metric> = /* @__PURE__ */ factories('metrics', {}, /* @__PURE__ */ serialization('metric'));
/** Makes optimizers: `et.optimizers.adam({ learningRate: 1e-3 })`. */
export const optimizers: options.Optimizers & Serialization<native.Optimizer> = /* @__PURE__ */ factories('optimizers', {}, /* @__PURE__ */ serialization('optimizer'));
/** Learning rates that depend on the step. */
export const schedules: options.Schedules & Serialization<native.LearningRateSchedule> = /* @__PURE__ */ factories('schedules', {}, /* @__PURE__ */ serialization('schedule'));
/** Makes initializers, the first values of variables. */
export const initializers: options.Initializers & Serialization<native.Initializer> = /* @__PURE__ */ factories('initializers', {}, /* @__PURE__ */ serialization('initializer'));
/** Makes regularizers, penalties that are added to the loss. */
export const regularizers: options.Regularizers & Serialization<native.Regularizer> = /* @__PURE__ */ factories('regularizers', {}, /* @__PURE__ */ serialization('regularizer'));
/** Makes constraints, which weights satisfy after each update. */
export const constraints: options.Constraints & Serialization<native.Constraint> = /* @__PURE__ */ factories('constraints', {}, /* @__PURE__ */ serialization('constraint'));
/**
 * Keras's callbacks. Pass them in one list with your own: `callbacks: [et.callbacks.earlyStopping(), {onEpochEnd()
 * {…}}]`.
 */
export const callbacks: options.Callbacks & { readonly lambda: typeof lambda } = /* @__PURE__ */ factories('callbacks', { lambda });
/**
 * The operations of steps, on Values. On SymbolicTensors they add an op to a functional model: `et.ops.add(x, y)`. There,
 * a Tensor is a constant.
 */
export const ops: OpFamily<'ops'> = /* @__PURE__ */ opFamily('ops');

/**
 * Functions that prepare data, by Keras's names. A page loads their part first: `await et.ready({ parts: ['data'] })`.
 */
export const utils: Omit<Family<'utils'>, 'imageDatasetFromDirectory' | 'loadImg'> & {
  readonly imageDatasetFromDirectory: typeof imageDatasetFromDirectory;
  readonly loadImg: typeof loadImg;
} = /* @__PURE__ */ family('utils', { imageDatasetFromDirectory, loadImg }) as never;

/**
 * An input of a model's description: data [batch, ...shape]. Apply layers to it: layer.apply(x). An extent of null is
 * unknown: `et.input({ shape: [null, null, 3] })` accepts images of any size.
 */
export const input = /* @__PURE__ */ late('input');
/**
 * d loss / d each variable, or each Value of the step; null if the loss does not depend on it. Can be differentiated
 * again.
 */
export const gradients = /* @__PURE__ */ late('gradients');
/**
 * A variable keeps its value from step to step: variable.read() and variable.assign(value) within a step, as in
 * TensorFlow.js. A variable that a model's `call` reads is trained, counted and saved with the model; make it before,
 * not within `call`.
 */
export const variable = /* @__PURE__ */ late('variable');
/** The data of a Value, in a model that is compiled with runEagerly. */
export const inspect = /* @__PURE__ */ late('inspect');
/** Makes initial weights, shuffles and dropout reproducible from here on. */
export const setRandomSeed = /* @__PURE__ */ late('setRandomSeed');
/**
 * The dtype policy of new layers: 'float32'; or 'mixed_bfloat16' and 'mixed_float16', half precision with variables of
 * float32, as on a GPU. Here that is slower than float32: it shows the results of a model on a GPU. '' resets it.
 */
export const setDtypePolicy = /* @__PURE__ */ late('setDtypePolicy');
/** The policy that new layers have. */
export const dtypePolicy = /* @__PURE__ */ late('dtypePolicy');
/** The small number by which losses, metrics, constraints and layers avoid a division by 0, as in Keras: 1e-7. */
export const epsilon = /* @__PURE__ */ late('epsilon');
/** Sets it, for models whose steps are traced from here on. */
export const setEpsilon = /* @__PURE__ */ late('setEpsilon');
/** The default of the option `dataFormat` of layers: 'channels_last', unless it was set. */
export const imageDataFormat = /* @__PURE__ */ late('imageDataFormat');
/** Sets it, 'channels_last' or 'channels_first', for layers that are made from here on. */
export const setImageDataFormat = /* @__PURE__ */ late('setImageDataFormat');
/** Sets the dtype of variables: 'float32', since the module computes no other. For half precision: setDtypePolicy. */
export const setFloatx = /* @__PURE__ */ late('setFloatx');
/**
 * The milliseconds that training runs before it yields to the page or Node.js, after a step or a trace. Default: 16.
 * For one fit: yieldEvery.
 */
export const setYieldEvery = /* @__PURE__ */ late('setYieldEvery');
/**
 * The number of threads of kernels, if there are threads: in Node.js, and in pages that are cross-origin isolated.
 * Default: the number of cores. Elsewhere it is always one.
 */
export const setNumThreads = /* @__PURE__ */ late('setNumThreads');
/** How many threads kernels use. */
export const numThreads = /* @__PURE__ */ late('numThreads');
/** The module's memory, which never shrinks, and its used part, in bytes. */
export const memory = /* @__PURE__ */ late('memory');
