import type { Callback as NativeCallback } from './etude.mjs';
import type { Model } from './model.js';
import type { Tensor } from './tensor.js';

/** What an epoch or a step reports: loss, metrics, val_*. Values are fetched when they are read, within the hook. */
export type Logs = Record<string, number>;
/** Those of onPredictBatchEnd: what was computed, as a copy that is made when it is read; a list for a model of several outputs. */
export interface PredictLogs {
  readonly outputs: Tensor | Tensor[];
}
type Wait = void | Promise<void>;

/** Hooks into fit, evaluate and predict, each of which may be asynchronous: the loop waits. One that throws ends the loop. */
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
  /** What it has to remember, as anything that JSON holds: `backupAndRestore` saves it. */
  state?(): unknown;
  /** What `state` gave, in a fit that goes on after it was interrupted: called after onTrainBegin, and once more within an epoch. */
  restore?(state: unknown): void;
}
export interface CallbackParams {
  epochs: number;
  /** Steps per epoch, if known. */
  steps: number | null;
  verbose: number;
}
/** Hooks, of which `this.model` and `this.params` are set while a loop runs; or one of `et.callbacks`. */
export type CallbackLike = (Hooks & { model?: Model; params?: CallbackParams }) | NativeCallback;

/** A callback to derive from: `class Stop extends et.Callback { onEpochEnd(epoch, logs) { … } }`. */
export class Callback {
  declare model: Model;
  declare params: CallbackParams;
}
export interface Callback extends Hooks {}

/** Functions as a callback. */
export const lambda = (hooks: Hooks): Callback => Object.assign(new Callback(), hooks);

// ---- How the module calls hooks ----

export function callHook(callback: object, hook: (...given: unknown[]) => unknown, logs: Logs, ...index: number[]): unknown {
  return hook.call(callback, ...index, logs);
}

export function assign(callback: object, name: string, value: unknown): void {
  if (Object.isExtensible(callback)) (callback as Record<string, unknown>)[name] = value;
}

/** Undefined: it has nothing to remember. */
export const stateOf = (callback: Hooks) =>
  typeof callback.state === 'function' && typeof callback.restore === 'function' ? JSON.stringify(callback.state()) : undefined;
export function restoreState(callback: Hooks, state: string): void {
  callback.restore?.(JSON.parse(state));
}

type Read = (id: number, index: number) => number;
type ReadOutputs = (id: number) => Tensor | Tensor[];

/** Logs whose values are fetched when they are read, and kept. */
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
  /** What the hook set: values of these names, or under new ones. */
  static changes(logs: OpenLogs): [string, number][] {
    const names = Object.keys(logs);
    if (!logs.#changed && names.length === logs.#names.length) return [];
    return names
      .filter((name) => logs.#changed?.has(name) || !logs.#names.includes(name))
      .map((name) => [name, (logs as unknown as Logs)[name] as number]);
  }

  /** So that console.log shows values instead of getters. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { ...this };
  }
}

const properties = new WeakMap<readonly string[], PropertyDescriptorMap>();

/** Getters for these names, made once: the module passes the same array while the names stay the same. */
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
