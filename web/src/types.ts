/** The names in the generated declarations. */
export type { Batch, BatchLike, DatasetElement } from './batch.js';
export type { CallbackLike, CallbackParams } from './callback.js';
export type { PredictFunction, TrainFunction } from './execution.js';
export type { FileSink, Files, LaterFiles } from './files.js';
export type { DataLike } from './kinds.js';
export type { LayerLike } from './model.js';
export type { History } from './model_options.js';
export type { Nested } from './nested.js';
export type { HttpPost } from './network.js';
export type { DType, Tensor, TensorLike } from './tensor.js';
export type { TextInput, TextLike } from './text.js';
export type { StepData, StepLogs, Value, ValueLike } from './value.js';
