import { describe, fail } from './error.js';
import { flattenData, isDict } from './nested.js';
import { Tensor, tensor, type TensorLike } from './tensor.js';

/** Tensors by the names of a model's inputs or outputs, in lists and objects of any depth. */
export type NamedTensors = { readonly [name: string]: Exclude<Group, number | boolean> };
type Group = TensorLike | readonly Group[] | NamedTensors;
/** Data by name; lists and objects of Tensors, if a model has several inputs or outputs. */
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
    const [x, y, sampleWeight] = groups.map((what) => arraysIn((data as NamedData | undefined)?.[what], what)) as [Arrays, Arrays, Arrays];
    const made = ({ arrays }: Arrays) => arrays.map((array) => tensor(array as TensorLike));
    this.x = made(x);
    this.y = made(y);
    this.sampleWeight = made(sampleWeight);
    if ([x, y, sampleWeight].some(({ names }) => names.length)) this.names = { x: x.names, y: y.names, sampleWeight: sampleWeight.names };
  }
}

interface Arrays {
  arrays: unknown[];
  names: string[];
}
/** The arrays in a group, and their names, if it has objects, or lists inside lists. Those that are null are left out. */
export function arraysIn(group: unknown, what: string): Arrays {
  if (group === undefined || group === null) {
    if (what === 'x') fail('data', 'data', `x = ${group} - expected a Tensor, a typed array or nested arrays - pass the inputs.`);
    return { arrays: [], names: [] };
  }
  const { names, values } = flattenData(group);
  const given = (_: unknown, i: number) => !names.length || (values[i] !== null && values[i] !== undefined);
  return { arrays: values.filter(given), names: names.filter(given) };
}

/** An iterator in the module's form: converted items, and null at the end. */
export class ItemIterator<Item, Made> {
  readonly #iterator: Iterator<Item> | AsyncIterator<Item>;
  readonly #made: (result: IteratorResult<Item>) => Made | null;
  constructor(items: Iterable<Item> | AsyncIterable<Item>, make: (item: Item) => Made) {
    if (typeof items !== 'object' || items === null || !(Symbol.asyncIterator in items || Symbol.iterator in items))
      fail('data', 'data', `${describe(items)} - expected a generator, or another iterable - return one.`);
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
