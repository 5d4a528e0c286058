/** Options of the functions of models, beside those that the module declares. */
import type { ColumnGroup } from './kinds.js';
import type * as options from './options.mjs';
import type { Progress, ProgressOptions } from './sources.js';

/** The logs of every epoch: one number for each epoch in which the name occurred. */
export interface History {
  epoch: number[];
  history: Record<string, number[]>;
}

/** Options of `fit`. */
export interface FitOptions extends options.FitOptions {
  /** What each sample counts in the loss and in weighted metrics: an array, or one for each output. Default: 1. */
  sampleWeight?: ColumnGroup;
}
/** Options of `evaluate`. */
export interface EvaluateOptions extends options.EvaluateOptions {
  /** What each sample counts in the loss and in weighted metrics: an array, or one for each output. Default: 1. */
  sampleWeight?: ColumnGroup;
}
/** Options of `trainOnBatch` and `testOnBatch`. */
export interface BatchOptions extends options.BatchOptions {
  /** What each sample counts in the loss and in weighted metrics: an array, or one for each output. Default: 1. */
  sampleWeight?: ColumnGroup | undefined;
}
/** Options of `predict`. */
export interface PredictOptions extends options.PredictOptions {}
/** Options of `summary`. */
export interface SummaryOptions extends options.SummaryOptions {
  /** The receiver of the text. Default: stdout. */
  printFn?: ((text: string) => void) | undefined;
}
/** Options of `explain`. */
export interface ExplainOptions extends options.ExplainOptions {}
/** Options of the constructor of `Model`, for classes that extend it. */
export type ModelClassOptions = Pick<options.ModelOptions, 'name' | 'trainable'>;
/** Options of `compile`. */
export interface CompileOptions extends options.CompileOptions {}
/** Options of `model.loadWeights`. */
export interface LoadWeightsOptions extends options.LoadWeightsOptions, ProgressOptions {}
/** The progress of a save. */
export interface SaveProgressOptions {
  /** Called after each weight that was written, with a number from 0 to 1, which is the last. */
  onProgress?: Progress | undefined;
}
/** Options of `model.save` and `model.saveWeights`. */
export interface SaveOptions extends options.SaveOptions, SaveProgressOptions {}
