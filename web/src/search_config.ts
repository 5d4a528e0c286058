/** The config of a search. */
import type { RetentionRules } from './checkpoints.js';
import { describe, fail } from './error.js';

/** A range of whole numbers, with both ends. */
export interface IntHyperparameter { type: 'int'; minval: number; maxval: number; count?: number }
/** A range of numbers. */
export interface DoubleHyperparameter { type: 'double'; minval: number; maxval: number; count?: number }
/** Powers of the base, 10 by default, with an exponent in that range. */
export interface LogHyperparameter { type: 'log'; minval: number; maxval: number; base?: number; count?: number }
/** One of a list, of any JSON. */
export interface CategoricalHyperparameter { type: 'categorical'; vals: readonly unknown[] }
/** The same value in all trials. */
export interface ConstHyperparameter { type: 'const'; val: unknown }
/** The values of a hyperparameter; an object without a text `type` is nested, and any other value is a constant. */
export type Hyperparameter =
  | IntHyperparameter | DoubleHyperparameter | LogHyperparameter | CategoricalHyperparameter | ConstHyperparameter
  | string | number | boolean | null | readonly unknown[] | Hyperparameters;
/** Hyperparameters with their names, in the order in which they are drawn. `count`, for a grid, is the number of values. */
export interface Hyperparameters {
  readonly [name: string]: Hyperparameter;
}

/** How a search chooses trials, and which of them it stops early. */
export interface SearcherOptions {
  /**
   * 'single': one trial. 'random': trials with random hyperparameters. 'grid': a trial for each point of the grid. 'asha':
   * random trials; the worse ones are stopped early, at rungs. 'adaptive_asha': several of these, called brackets,
   * which stop trials more or less early.
   */
  name: 'single' | 'random' | 'grid' | 'asha' | 'adaptive_asha';
  /** The metric of validations that is compared, with or without "val_". */
  metric: string;
  /** Whether a smaller metric is better. Default: true. */
  smallerIsBetter?: boolean;
  /** The measure of the length of training: 'steps_completed', 'epochs', or a metric. Default: 'steps_completed'. */
  timeMetric?: string;
  /** The length of the longest trials, in that measure. asha and adaptive_asha stop a trial then, and need it. */
  maxTime?: number;
  /** The number of trials of random, asha and adaptive_asha, which need it. */
  maxTrials?: number;
  /** The most trials that have begun and have not ended. Default: as many as guarantee that one reaches the last rung. */
  maxConcurrentTrials?: number;
  /** About one trial in this number continues at each rung. Default: 4. */
  divisor?: number;
  /** The rungs of asha, and the most of adaptive_asha. Default: 5. */
  maxRungs?: number;
  /** The brackets of adaptive_asha: of 1 to all rungs, of half to all, or of all. Default: 'standard'. */
  mode?: 'conservative' | 'standard' | 'aggressive';
}

/** A search, with where its trials are. */
export interface SearchConfig {
  /** The name of the experiment: letters, digits, ".", "_" and "-". Default: 'search'. */
  name?: string;
  /** The searcher. */
  searcher: SearcherOptions;
  /** The hyperparameters. */
  hyperparameters: Hyperparameters;
  /** How often a trial that failed is started again. Default: 5. */
  maxRestarts?: number;
  /** The folder of all files of the search. Default: 'search'. */
  storage?: string;
  /**
   * Which checkpoints of all trials stay at the end of the search; its trials keep as many of their own meanwhile. Default:
   * each trial's program decides.
   */
  checkpointStorage?: Omit<RetentionRules, 'smallerIsBetter'>;
  /** The seed, which determines all hyperparameters. Default: 0. */
  seed?: number;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const named = (options: object) => Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value as unknown]));

/** The JSON of a config, with the names that etude-search reads, too. */
export function jsonOf(config: object, where: string): string {
  if (typeof config !== 'object' || config === null) fail('value', where, `${describe(config)} as config - expected an object - pass one such as {searcher: {…}, hyperparameters: {…}}.`);
  const result = named(config);
  for (const member of ['searcher', 'checkpoint_storage']) {
    const options = result[member];
    if (typeof options === 'object' && options !== null) result[member] = named(options);
  }
  return JSON.stringify(result);
}
