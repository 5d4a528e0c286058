import { describe, fail } from './error.js';
import { Tensor, tensor, type TensorLike } from './tensor.js';

type One<T> = T | Tensor[];
/** Data by name; a list of Tensors where a model has several inputs or outputs. */
export interface NamedData {
  x: One<TensorLike>;
  y?: One<TensorLike> | undefined;
  sampleWeight?: One<TensorLike> | undefined;
}
/** One batch of a generator: x, [x, y], [x, y, sampleWeight] or {x, y, sampleWeight}. */
export type BatchLike = NamedData | Tensor | readonly [TensorLike, TensorLike?, TensorLike?];
/** Batches one after the other, now or later. */
export type BatchGenerator = Iterable<BatchLike> | AsyncIterable<BatchLike>;
/** Data of a loop, and what validationData may be: arrays, a generator of batches, or a function that makes one. */
export type DataLike = BatchLike | BatchGenerator | (() => BatchGenerator);

/** What the module reads: lists of Tensors. */
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

/** A generator as the module reads it. */
export class BatchIterator {
  readonly #iterator: Iterator<BatchLike> | AsyncIterator<BatchLike>;
  constructor(generator: BatchGenerator) {
    this.#iterator = Symbol.asyncIterator in generator ? generator[Symbol.asyncIterator]() : generator[Symbol.iterator]();
  }

  /** The next batch, or null at the end; a promise if the generator is asynchronous. */
  readonly next = (): Batch | null | Promise<Batch | null> => {
    const result = this.#iterator.next();
    return 'then' in result ? result.then(unwrapped) : unwrapped(result);
  };

  /** Ends the generator, so that its `finally` blocks run. */
  readonly close = (): void => {
    const result = this.#iterator.return?.();
    if (result && 'then' in result) result.then(undefined, () => {});
  };
}

const unwrapped = (result: IteratorResult<BatchLike>) => (result.done ? null : asBatch(result.value));

export function isGenerator(value: unknown): value is BatchGenerator {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

export function isNamed(value: unknown): value is NamedData {
  return typeof value === 'object' && value !== null && !(value instanceof Tensor) && 'x' in value;
}

export function asBatch(value: BatchLike): Batch {
  if (value instanceof Batch) return value;
  if (isNamed(value)) return new Batch(value);
  if (!Array.isArray(value)) return new Batch({ x: value as Tensor });
  if (value.length === 0 || value.length > 3)
    fail('data', 'data', `${describe(value)} - Data is expected to be in format \`x\`, \`[x]\`, \`[x, y]\`, or \`[x, y, sampleWeight]\` - check it.`);
  const [x, y, sampleWeight] = value as [TensorLike, TensorLike?, TensorLike?];
  return new Batch({ x, y, sampleWeight });
}

export function asData(value: DataLike): Batch | BatchIterator {
  if (typeof value === 'function') return asData(value());
  return isGenerator(value) ? new BatchIterator(value) : asBatch(value);
}
