import { checkOptions, describe, fail } from './error.js';
import type { Callback as NativeCallback } from './etude.mjs';
import type { Model } from './model.js';
import type { Tensor } from './tensor.js';

/** The logs of an epoch or a step: loss, metrics, val_*. Values are fetched when they are read, within the hook. */
export type Logs = Record<string, number>;
/** The logs of onPredictBatchEnd: the outputs, copied when they are read; a list for a model of several outputs. */
export interface PredictLogs {
  readonly outputs: Tensor | Tensor[];
}
type Wait = void | Promise<void>;

/**
 * Hooks into fit, evaluate and predict. Hooks may be asynchronous: the loop awaits them. A hook that throws ends the
 * loop.
 */
export interface Hooks {
  onTrainBegin?(logs: Logs): Wait;
  onTrainEnd?(logs: Logs): Wait;
  onEpochBegin?(epoch: number, logs: Logs): Wait;
  onEpochEnd?(epoch: number, logs: Logs): Wait;
  onTrainBatchBegin?(step: number, logs: Logs): Wait;
  onTrainBatchEnd?(step: number, logs: Logs): Wait;
  onTestBegin?(logs: Logs): Wait;
  onTestEnd?(logs: Logs): Wait;
  onTestBatchBegin?(step: number, logs: Logs): Wait;
  onTestBatchEnd?(step: number, logs: Logs): Wait;
  onPredictBegin?(logs: Logs): Wait;
  onPredictEnd?(logs: Logs): Wait;
  onPredictBatchBegin?(step: number, logs: Logs): Wait;
  onPredictBatchEnd?(step: number, logs: PredictLogs): Wait;
  /** An older name of onTrainBatchBegin, as in Keras. */
  onBatchBegin?(step: number, logs: Logs): Wait;
  /** An older name of onTrainBatchEnd. */
  onBatchEnd?(step: number, logs: Logs): Wait;
  /** The callback's state, as any JSON value: `backupAndRestore` saves it. */
  state?(): unknown;
  /**
   * Restores the result of `state` in a fit that continues after an interruption. Called after onTrainBegin, and once
   * more within an epoch.
   */
  restore?(state: unknown): void;
}
export interface CallbackParams {
  epochs: number;
  /** Steps per epoch, if known. */
  steps: number | null;
  verbose: number;
}
/** An object with hooks, whose `this.model` and `this.params` are set while a loop runs; or one of `et.callbacks`. */
export type CallbackLike = (Hooks & { model?: Model; params?: CallbackParams } & ThisType<Callback>) | NativeCallback;

/** The base class of callbacks: `class Stop extends et.Callback { onEpochEnd(epoch, logs) { … } }`. */
export class Callback {
  declare model: Model;
  declare params: CallbackParams;
}
export interface Callback extends Hooks {}

/** The hooks that the module calls. */
const hookNames = ['Train', 'Epoch', 'TrainBatch', 'Test', 'TestBatch', 'Predict', 'PredictBatch'].flatMap((what) => [`on${what}Begin`, `on${what}End`]);
const olderNames = { onBatchBegin: 'onTrainBatchBegin', onBatchEnd: 'onTrainBatchEnd' } as const;

/** Makes a callback of functions. */
export const lambda = (hooks: Hooks & ThisType<Callback>): Callback =>
  Object.assign(new Callback(), checkOptions(hooks, 'callbacks.lambda', [...hookNames, ...Object.keys(olderNames), 'state', 'restore']));

/** Prepares an object with hooks for a loop. Throws EtudeError "value" for hooks that are no functions, or have Python's names. */
export function prepare(callback: unknown, model: Model, where: string): void {
  if (typeof callback !== 'object' || callback === null) return; // the module refuses it
  const hooks = callback as Record<string, unknown> & Hooks;
  for (const name of hookNames) {
    const hook = hooks[name], ofPython = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (hook !== undefined && hook !== null && typeof hook !== 'function') fail('value', where, `${describe(hook)} as ${name} of a callback - expected a function - pass one.`);
    if (ofPython in callback) fail('value', where, `a callback with "${ofPython}" - expected ${name} - rename it.`);
  }
  for (const [older, name] of Object.entries(olderNames) as [keyof typeof olderNames, keyof Hooks][])
    if (typeof hooks[older] === 'function' && !hooks[name]) assign(callback, name, (step: number, logs: Logs) => hooks[older]?.(step, logs));
  assign(callback, 'model', model);
}

// ---- The module's calls of hooks ----

export function callHook(callback: object, hook: ((...given: unknown[]) => unknown) | null, logs: Logs, ...index: number[]): unknown {
  return hook?.call(callback, ...index, logs);
}

export function assign(callback: object, name: string, value: unknown): void {
  if (Object.isExtensible(callback)) (callback as Record<string, unknown>)[name] = value;
}

/** The callback's state; undefined if it has none. */
export function stateOf(callback: Hooks): string | undefined {
  if (typeof callback.state !== 'function' || typeof callback.restore !== 'function') return undefined;
  const state = callback.state();
  try {
    return JSON.stringify(state);
  } catch (error) {
    return fail('value', 'state', `${describe(state)} that is not JSON (${(error as Error).message}) - expected numbers, texts, lists and objects - return these.`);
  }
}
export function restoreState(callback: Hooks, state: string): void {
  callback.restore?.(JSON.parse(state));
}

type Read = (id: number, index: number) => number;
type ReadOutputs = (id: number) => Tensor | Tensor[];

/** Logs whose values are fetched and cached when they are read. */
class OpenLogs {
  readonly #read: Read;
  readonly #id: number;
  readonly #names: readonly string[];
  readonly #values: (number | undefined)[] = [];
  #changed: Set<string> | undefined;

  constructor(read: Read, id: number, names: readonly string[], readOutputs?: ReadOutputs) {
    this.#read = read;
    this.#id = id;
    this.#names = names;
    Object.defineProperties(this, propertiesOf(names));
    if (!readOutputs) return;
    let outputs: Tensor | Tensor[] | undefined;
    Object.defineProperty(this, 'outputs', { enumerable: true, get: () => (outputs ??= readOutputs(id)) });
    this.#names = [...names, 'outputs'];
  }

  static get(logs: OpenLogs, index: number): number {
    return (logs.#values[index] ??= logs.#read(logs.#id, index));
  }
  static set(logs: OpenLogs, index: number, value: number): void {
    logs.#values[index] = value;
    (logs.#changed ??= new Set()).add(logs.#names[index] as string);
  }
  /** The values that the hook set, under these or new names. */
  static changes(logs: OpenLogs): [string, number][] {
    const names = Object.keys(logs);
    if (!logs.#changed && names.length === logs.#names.length) return [];
    return names
      .filter((name) => logs.#changed?.has(name) || !logs.#names.includes(name))
      .map((name) => [name, (logs as unknown as Logs)[name] as number]);
  }

  /** Lets console.log show values instead of getters. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { ...this };
  }
}

const properties = new WeakMap<readonly string[], PropertyDescriptorMap>();

/** Getters for these names, made once: the module passes the same array while the names do not change. */
function propertiesOf(names: readonly string[]): PropertyDescriptorMap {
  let result = properties.get(names);
  if (!result) {
    result = Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          enumerable: true,
          get(this: OpenLogs) {
            return OpenLogs.get(this, index);
          },
          set(this: OpenLogs, value: number) {
            OpenLogs.set(this, index, value);
          },
        },
      ]),
    );
    properties.set(names, result);
  }
  return result;
}

export const makeLogs = (read: Read, readOutputs: ReadOutputs) => (names: readonly string[], id: number, hasOutputs: boolean) =>
  new OpenLogs(read, id, names, hasOutputs ? readOutputs : undefined);
export const changedLogs = (logs: object) => OpenLogs.changes(logs as OpenLogs);
