import { describe, fail } from './error.js';
import { Tensor, tensor, type TensorLike } from './tensor.js';

/** Tensors by the names of a model's inputs or outputs. */
export type NamedTensors = { readonly [name: string]: Exclude<TensorLike, number | boolean> };
type Group = TensorLike | Tensor[] | NamedTensors;
/** Data by name; a list of Tensors, or an object by name, if a model has several inputs or outputs. */
export interface NamedData {
  x: Group;
  y?: Group | undefined;
  sampleWeight?: Group | undefined;
}
/**
 * One batch of a generator: x, [x, y], [x, y, sampleWeight] or {x, y, sampleWeight}, where each may be an object by name.
 * Pass inputs that are named x, y or sampleWeight as {x: {x, y}}.
 */
export type BatchLike = NamedData | Tensor | NamedTensors | readonly [Group, Group?, Group?] | readonly TensorLike[];
/** A sequence of batches, possibly asynchronous. */
export type BatchGenerator = Iterable<BatchLike> | AsyncIterable<BatchLike>;
/** The argument of a dataset's function: Tensors; if there are several, lists of them, or objects by name. */
export interface DatasetElement {
  x: any;
  y?: any;
  sampleWeight?: any;
}

const groups = ['x', 'y', 'sampleWeight'] as const;
type PerGroup<T> = Record<(typeof groups)[number], T>;

/** A batch in the module's form: lists of Tensors, and the names of those by name. */
export class Batch implements PerGroup<Tensor[]> {
  readonly x: Tensor[];
  readonly y: Tensor[];
  readonly sampleWeight: Tensor[];
  readonly names: PerGroup<string[]> | undefined;
  constructor(data: NamedData) {
    this.x = list(data.x, 'x');
    this.y = list(data.y, 'y');
    this.sampleWeight = list(data.sampleWeight, 'sampleWeight');
    const namesOf = (what: (typeof groups)[number]) => (isDict(data[what]) ? namesIn(data[what], what) : []);
    if (groups.some((what) => isDict(data[what]))) this.names = { x: namesOf('x'), y: namesOf('y'), sampleWeight: namesOf('sampleWeight') };
  }
}

/** Whether it is a plain object: no promise, no Map, no Tensor. */
export const isDict = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && (Object.getPrototypeOf(value) ?? Object.prototype) === Object.prototype && Object.keys(value).length > 0;

/** The names of a dict, sorted. Its values are arrays. */
export function namesIn(values: Record<string, unknown>, what: string): string[] {
  const names = Object.keys(values).sort();
  for (const name of names)
    if (isDict(values[name]) && !('slice' in values[name]))
      fail('data', 'data', `${what}.${name} = ${describe(values[name])} - expected an array for each name, without objects inside - pass those arrays by names of their own.`);
  return names;
}

function list(values: Group | null | undefined, what: string): Tensor[] {
  if (values === undefined || values === null) {
    if (what === 'x') fail('data', 'data', `x = ${values} - expected a Tensor, a typed array or nested arrays - pass the inputs.`);
    return [];
  }
  if (isDict(values)) return namesIn(values, what).map((name) => tensor(values[name] as TensorLike));
  const several = Array.isArray(values) && values.length > 0 && values.every((value) => value instanceof Tensor);
  return several ? (values as Tensor[]) : [tensor(values as TensorLike)];
}

/** An iterator in the module's form: converted items, and null at the end. */
export class ItemIterator<Item, Made> {
  readonly #iterator: Iterator<Item> | AsyncIterator<Item>;
  readonly #made: (result: IteratorResult<Item>) => Made | null;
  constructor(items: Iterable<Item> | AsyncIterable<Item>, make: (item: Item) => Made) {
    this.#iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    this.#made = (result) => (result.done ? null : make(result.value));
  }

  /** The next item, or null; a promise if the iterator is asynchronous. */
  readonly next = (): Made | null | Promise<Made | null> => {
    const result = this.#iterator.next();
    return 'then' in result ? result.then(this.#made) : this.#made(result);
  };

  /** Ends the iterator, so that the `finally` blocks of a generator run. */
  readonly close = (): void => {
    const result = this.#iterator.return?.();
    if (result && 'then' in result) result.then(undefined, () => {});
  };
}
/** A generator of batches. */
export class BatchIterator extends ItemIterator<BatchLike, Batch> {
  constructor(generator: BatchGenerator) {
    super(generator, asBatch);
  }
}

export function isGenerator(value: unknown): value is BatchGenerator {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** The items of an iterable, unchanged; null if it is none. */
export function itemsOf(value: unknown): ItemIterator<unknown, unknown> | null {
  return isGenerator(value) ? new ItemIterator<unknown, unknown>(value, (item) => item) : null;
}

/** A key x beside keys other than y or sampleWeight is a model's input. */
export function isNamed(value: unknown): value is NamedData {
  if (typeof value !== 'object' || value === null || value instanceof Tensor || !('x' in value)) return false;
  return !isDict(value) || Object.keys(value).every((key) => groups.includes(key as 'x'));
}

export function asBatch(value: BatchLike): Batch {
  return value instanceof Batch ? value : new Batch(asNamed(value));
}

/** Converts x, [x, y], [x, y, sampleWeight] or {x, y, sampleWeight} to data by name. */
export function asNamed(value: BatchLike): NamedData {
  if (isNamed(value)) return value;
  if (!Array.isArray(value)) return { x: value as Tensor };
  if (value.length === 0 || value.length > 3)
    fail('data', 'data', `${describe(value)} - Data is expected to be in format \`x\`, \`[x]\`, \`[x, y]\`, or \`[x, y, sampleWeight]\` - check it.`);
  const [x, y, sampleWeight] = value as [Group, Group?, Group?];
  return { x, y, sampleWeight };
}
