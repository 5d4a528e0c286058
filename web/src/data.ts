import { BatchIterator, ItemIterator, asBatch, asNamed, type BatchGenerator, type BatchLike, type DatasetElement } from './batch.js';
import { checkOptions, describe, fail } from './error.js';
import type { Dataset } from './etude.mjs';
import { asLazyArray, isDataset, isLazyArray, type LazyArray, type Columns } from './kinds.js';
import { free, led, module, outcome, ready } from './module.js';
import { inNode, readFile, streamFile } from './node.js';
import type { CsvOptions } from './options.mjs';
import type { Tensor } from './tensor.js';

// ---- Datasets: lazy sequences of elements, made one at a time when a loop reads them ----

/** One element for each row of the arrays: x, [x, y], [x, y, sampleWeight] or {x, y, sampleWeight}. Lazy arrays are read row by row. */
export function fromTensorSlices(arrays: BatchLike | Columns): Dataset {
  const { x, y, sampleWeight } = asNamed(arrays as BatchLike) as Columns;
  const columns = [x, y, sampleWeight].map(lazyOnes);
  if (!columns[0]?.length || columns.includes(undefined)) return module.data_fromTensorSlices(asBatch(arrays as BatchLike));
  const [lazyX, lazyY, lazyWeight] = columns.map((column) => (column ?? []).map(asLazyArray));
  return module.data_fromArrayLikes({ x: lazyX, y: lazyY, sampleWeight: lazyWeight });
}

/** The lazy arrays of a column; undefined if it has other arrays. */
function lazyOnes(column: unknown): LazyArray[] | undefined {
  if (column === undefined || column === null) return [];
  const all: unknown[] = Array.isArray(column) && column.length > 0 ? column : [column];
  return all.every(isLazyArray) ? all : undefined;
}

/** The elements of a generator, possibly asynchronous. `make` is called again for every epoch. */
export function fromGenerator(make: () => BatchGenerator): Dataset {
  if (typeof make !== 'function') fail('value', 'data.fromGenerator', `${describe(make)} - expected a function that makes a generator - pass it.`);
  return module.data_fromIterators(() => new BatchIterator(make()));
}

/** The numbers begin, begin + step, … before end; or 0, 1, … before `begin` if it is the only argument. */
export const range = (begin: number, end?: number, step = 1): Dataset =>
  end === undefined ? module.data_range(0, begin, step) : module.data_range(begin, end, step);

/**
 * Combines one element of each dataset. If all have only inputs, they become inputs, targets and sample weights, in
 * this order.
 */
export const zip = (datasets: Dataset[]): Dataset => module.data_zip(datasets);

/** A source of bytes. A stream or a Response can be read once: for several epochs pass a function that opens it. */
export type ByteSource = string | URL | Blob | Uint8Array | Response | ReadableStream<Uint8Array> | (() => ByteSource | Promise<ByteSource>);

/** The lines of a CSV text, which may be larger than memory: x has the columns, y the column of `label`. */
export const csv = (source: ByteSource, options: CsvOptions = {}): Dataset =>
  module.data_csv(() => new ItemIterator(pieces(source, 'csv'), (piece) => piece), options);

/** The elements of a dataset: `for await (const { x, y } of et.data.iterate(dataset))`. */
export async function* iterate(dataset: Dataset, iteration = 0): AsyncGenerator<DatasetElement, void> {
  if (!isDataset(dataset)) fail('value', 'data.iterate', `${describe(dataset)} - expected a Dataset - make one by et.data, such as et.data.fromTensorSlices.`);
  const iterator = dataset.iterator(iteration);
  try {
    for (let element = await next(iterator); element; element = await next(iterator)) yield element;
  } finally {
    free(iterator);
  }
}

/** The next element of `dataset.iterator()`, or null at the end. */
export const next = (iterator: ReturnType<Dataset['iterator']>): Promise<DatasetElement | null> => outcome(module.data_next(iterator));

export const toArray = (dataset: Dataset): Promise<DatasetElement[]> =>
  led(async () => {
    const elements: DatasetElement[] = [];
    for await (const element of iterate(dataset)) elements.push(element);
    return elements;
  });

async function* pieces(source: ByteSource, where: string): AsyncGenerator<Uint8Array, void> {
  if (typeof source === 'function') return yield* pieces(await source(), where);
  if (source instanceof Uint8Array) return yield source;
  if (source instanceof Blob) return yield* chunks(source.stream(), where);
  if (source instanceof Response) return yield* chunks(opened(source, source.url, where), where);
  if (source instanceof ReadableStream) return yield* chunks(source, where);
  if (typeof source !== 'string' && !(source instanceof URL))
    fail('value', where, `${describe(source)} - expected a URL, a path in Node.js, a Blob, bytes, a Response or a stream - pass one.`);
  if (isPath(source)) return yield* streamFile(pathOf(source), where);
  const response = await fetch(source).catch(unreadable(source, where));
  yield* chunks(opened(response, String(source), where), where);
}

function opened(response: Response, address: string, where: string): ReadableStream<Uint8Array> {
  if (!response.ok || !response.body) fail('io', where, `"${address}" answered ${response.status} - expected a file - check the address.`);
  return response.body;
}

/** The chunks of a stream, also in browsers whose streams cannot be iterated. */
async function* chunks(stream: ReadableStream<Uint8Array>, where: string): AsyncGenerator<Uint8Array, void> {
  if (stream.locked) fail('state', where, 'a stream that was read already - expected a new one - pass a function that opens it, which is called for each epoch.');
  const reader = stream.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    await reader.cancel();
  }
}

// ---- Files ----

/** The tensor in a .npy file of NumPy: float32, int32, uint8 and bool keep their dtype; other integers become int32. */
export const parseNpy = (bytes: Uint8Array): Tensor => module.parseNpy(bytes);
/** Reads a .npy file: from a URL, from a path in Node.js, or from bytes. */
export async function readNpy(source: string | URL | Blob | Uint8Array): Promise<Tensor> {
  const [bytes] = await Promise.all([read(source, 'readNpy'), ready({ parts: ['data'] })]);
  return parseNpy(bytes);
}

/**
 * The tensor in an IDX file, the format of MNIST: uint8, int32 or float32. For gzipped bytes use `readIdx` or `gunzip`.
 */
export const parseIdx = (bytes: Uint8Array): Tensor => module.parseIdx(bytes);

export interface GunzipOptions {
  /** The most bytes after expansion. Default: 100 times the gzipped size, or 1 MiB if that is more. */
  limit?: number;
}

/** Expands gzipped bytes. */
export async function gunzip(bytes: Uint8Array, options?: GunzipOptions, where = 'gunzip'): Promise<Uint8Array> {
  if (!(bytes instanceof Uint8Array)) fail('value', where, `${describe(bytes)} - expected a Uint8Array - pass one.`);
  const limit = checkOptions(options, where, ['limit']).limit ?? Math.max(100 * bytes.length, 2 ** 20);
  let size = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.length;
      if (size <= limit) controller.enqueue(chunk);
      else controller.error(new Error('too many bytes'));
    },
  });
  try {
    const packed = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
    const unpacked = packed.pipeThrough(new DecompressionStream('gzip')).pipeThrough(counted);
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
  } catch (error) {
    if (size > limit)
      fail('data', where, `${bytes.length} bytes that expand to more than ${limit} - expected less - check that they are the right file, and pass a larger limit if they are.`);
    // Browsers throw a TypeError, Node.js a zlib error; neither has advice.
    const reason = error instanceof Error ? (error.cause instanceof Error ? error.cause : error).message : String(error);
    fail('data', where, `${bytes.length} bytes that are not a complete gzip file (${reason}) - expected a complete one - fetch the file again.`);
  }
}

/** Reads an IDX file, gzipped or not: from a URL, from a path in Node.js, or from bytes. */
export async function readIdx(source: string | URL | Blob | Uint8Array, options?: GunzipOptions): Promise<Tensor> {
  const [bytes] = await Promise.all([read(source, 'readIdx'), ready({ parts: ['data'] })]);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return parseIdx(isGzip ? await gunzip(bytes, options, 'readIdx') : bytes);
}

/** The arrays in a .npz file of NumPy, by name: from a URL, from a path in Node.js, or from bytes. */
export async function readNpz(source: string | URL | Blob | Uint8Array, options?: GunzipOptions): Promise<Record<string, Tensor>> {
  const { limit } = checkOptions(options, 'readNpz', ['limit']);
  const [bytes] = await Promise.all([read(source, 'readNpz'), ready({ parts: ['data', 'archives'] })]);
  return module.parseNpz(bytes, limit);
}

/** Images, and a label for each. */
export interface Images {
  /** uint8 [images, height, width, channels]. */
  x: Tensor;
  /** uint8 [images, 1]. */
  y: Tensor;
}
/** The images of CIFAR-10's binary version: x [images, 32, 32, 3], and their labels y [images, 1], uint8. */
export const parseCifar10 = (bytes: Uint8Array): Images => module.parseCifar10(bytes) as Images;
/** Reads them: from a URL, from a path in Node.js, or from bytes; of several files, one after the other. */
export async function readCifar10(source: Source | readonly Source[]): Promise<Images> {
  return parseCifar10(await readAll(source, 'readCifar10'));
}
/** The same for CIFAR-100. labelMode: 'fine', one of 100 classes, or 'coarse', one of 20. */
export const parseCifar100 = (bytes: Uint8Array, labelMode: 'fine' | 'coarse' = 'fine'): Images => module.parseCifar100(bytes, labelMode) as Images;
/** Reads them: from a URL, from a path in Node.js, or from bytes; of several files, one after the other. */
export async function readCifar100(source: Source | readonly Source[], labelMode: 'fine' | 'coarse' = 'fine'): Promise<Images> {
  return parseCifar100(await readAll(source, 'readCifar100'), labelMode);
}

/** A URL, a path in Node.js, or bytes. */
export type Source = string | URL | Blob | Uint8Array;
/** The bytes of several files in a row, and the part of the module that parses them. */
async function readAll(source: Source | readonly Source[], where: string): Promise<Uint8Array> {
  const sources = Array.isArray(source) ? (source as readonly Source[]) : [source as Source];
  const files = await Promise.all(sources.map((each) => read(each, where)));
  await ready({ parts: ['data'] });
  const bytes = new Uint8Array(files.reduce((sum, file) => sum + file.length, 0));
  let at = 0;
  for (const file of files) {
    bytes.set(file, at);
    at += file.length;
  }
  return bytes;
}

const unreadable = (source: string | URL, where: string) => (error: Error) => fail('io', where, `cannot read "${source}": ${error.message} - expected a file - check the address.`);
const isPath = (source: string | URL) => inNode && !/^(https?|data|blob):/.test(String(source));
const pathOf = (source: string | URL) => (String(source).startsWith('file:') ? new URL(source) : source);

async function read(source: string | URL | Blob | Uint8Array, where: string): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (typeof source !== 'string' && !(source instanceof URL))
    fail('value', where, `${describe(source)} - expected a URL, a path in Node.js, a Blob or a Uint8Array - pass one.`);
  if (isPath(source)) {
    try {
      return await readFile(pathOf(source));
    } catch (error) {
      fail('io', where, `cannot read "${source}": ${(error as Error).message} - expected a file - check the path.`);
    }
  }
  const response = await fetch(source).catch(unreadable(source, where));
  if (!response.ok) fail('io', where, `"${source}" answered ${response.status} - expected a file - check the address.`);
  return new Uint8Array(await response.arrayBuffer().catch(unreadable(source, where)));
}
