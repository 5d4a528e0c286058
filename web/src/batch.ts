import { describe, fail } from './error.js';
import { Tensor, tensor, type TensorLike } from './tensor.js';

type One<T> = T | Tensor[];
/** Data by name; a list of Tensors if a model has several inputs or outputs. */
export interface NamedData {
  x: One<TensorLike>;
  y?: One<TensorLike> | undefined;
  sampleWeight?: One<TensorLike> | undefined;
}
/** One batch of a generator: x, [x, y], [x, y, sampleWeight] or {x, y, sampleWeight}. */
export type BatchLike = NamedData | Tensor | readonly [TensorLike, TensorLike?, TensorLike?] | readonly TensorLike[];
/** A sequence of batches, possibly asynchronous. */
export type BatchGenerator = Iterable<BatchLike> | AsyncIterable<BatchLike>;
/** The argument of a dataset's function: Tensors, or lists of them if there are several. */
export interface DatasetElement {
  x: any;
  y?: any;
  sampleWeight?: any;
}

/** A batch in the module's form: lists of Tensors. */
export class Batch {
  readonly x: Tensor[];
  readonly y: Tensor[];
  readonly sampleWeight: Tensor[];
  constructor(data: NamedData) {
    this.x = list(data.x, 'x');
    this.y = list(data.y, 'y');
    this.sampleWeight = list(data.sampleWeight, 'sampleWeight');
  }
}

function list(values: One<TensorLike> | null | undefined, what: string): Tensor[] {
  if (values === undefined || values === null) {
    if (what === 'x') fail('data', 'data', `x = ${values} - expected a Tensor, a typed array or nested arrays - pass the inputs.`);
    return [];
  }
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

export function isNamed(value: unknown): value is NamedData {
  return typeof value === 'object' && value !== null && !(value instanceof Tensor) && 'x' in value;
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
  const [x, y, sampleWeight] = value as [TensorLike, TensorLike?, TensorLike?];
  return { x, y, sampleWeight };
}
