/** Distinguishes the kinds of data of loops. Core converts each kind. */
import { BatchIterator, arraysIn, asNamed, isGenerator, isNamed, type BatchGenerator, type BatchLike, type NamedData } from './batch.js';
import { describe, fail } from './error.js';
import type { Dataset } from './etude.mjs';
import { Tensor, tensor, type TensorLike } from './tensor.js';

/** An array whose rows are provided on demand, possibly asynchronously: a file, a server. */
export interface LazyArray {
  readonly shape: readonly number[];
  readonly dtype: Tensor['dtype'];
  /** Rows first … last - 1. */
  slice(first: number, last: number): TensorLike | Promise<TensorLike>;
}

/** Batches with random access, so that they can be shuffled, and requested concurrently (`workers`). */
export interface SequenceLike {
  readonly length: number;
  getItem(index: number): BatchLike | Promise<BatchLike>;
  onEpochEnd?(): void | Promise<void>;
}

/** Throws EtudeError "value" unless these are lists. */
function checkLists(where: string, lists: Record<string, unknown>): void {
  for (const [name, list] of Object.entries(lists))
    if (typeof (list as ArrayLike<number> | null | undefined)?.length !== 'number') fail('value', where, `${describe(list)} as ${name} - expected an array of numbers - pass one.`);
}

/** A sparse matrix in compressed rows: row r has values[rowSplits[r]] …, in the columns at the same positions. */
export class CsrMatrix {
  constructor(
    readonly columns: number,
    readonly values: TensorLike,
    readonly columnOf: ArrayLike<number>,
    readonly rowSplits: ArrayLike<number>,
  ) {
    checkLists('CsrMatrix', { columnOf, rowSplits });
  }
}

/** Rows of different lengths: row r is values[rowSplits[r]] …; batches are padded and have a mask. */
export class RaggedTensor {
  constructor(
    readonly values: TensorLike,
    readonly rowSplits: ArrayLike<number>,
  ) {
    checkLists('RaggedTensor', { rowSplits });
  }
}

/** The context in which a dataset is created and read. */
export interface InputContext {
  numInputPipelines: number;
  inputPipelineId: number;
  numReplicasInSync: number;
}
/** Creates a dataset where it is read; the loop needs the number of steps. */
export class DatasetCreator {
  constructor(readonly datasetFn: (context: InputContext) => Dataset) {}
}

/** An array in any of its forms. */
export type ColumnLike = TensorLike | LazyArray | CsrMatrix | RaggedTensor;
/** Arrays by the names of a model's inputs or outputs, in lists and objects of any depth. */
export type NamedColumns = { readonly [name: string]: Exclude<ColumnGroup, number | boolean> };
/** A model's inputs, targets or sample weights: one array, a list in the model's order, or arrays by name. */
export type ColumnGroup = ColumnLike | readonly ColumnGroup[] | NamedColumns;
/** All arrays of a model. Pass inputs that are named x, y or sampleWeight as {x: {x, y}}. */
export interface Columns {
  x: ColumnGroup;
  y?: ColumnGroup | undefined;
  sampleWeight?: ColumnGroup | undefined;
}
/**
 * Data of a loop, and of validationData: arrays, a dataset, a generator of batches or a function that makes one for each
 * epoch, a sequence, a creator.
 */
export type DataLike = Columns | BatchLike | BatchGenerator | (() => BatchGenerator) | Dataset | SequenceLike | DatasetCreator;

interface Column {
  form: 'tensor' | 'list' | 'array' | 'csr' | 'ragged';
  value: unknown;
}
/** Columns, with their names, if they have names. */
interface Group {
  columns: Column[];
  names: string[];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
export const isDataset = (value: unknown): value is Dataset => isObject(value) && value.constructor?.name === 'Dataset' && 'cardinality' in value;
const isSequence = (value: unknown): value is SequenceLike => isObject(value) && 'getItem' in value && 'length' in value;
export const isLazyArray = (value: unknown): value is LazyArray =>
  isObject(value) && !(value instanceof Tensor) && !ArrayBuffer.isView(value) && 'shape' in value && 'dtype' in value && 'slice' in value;
const isColumn = (value: unknown) => value instanceof Tensor || isLazyArray(value) || value instanceof CsrMatrix || value instanceof RaggedTensor;
/** A key x beside keys other than y or sampleWeight is a model's input. Sequences and iterables are no columns. */
export const isColumns = (value: unknown): value is Columns =>
  isNamed(value) && !isSequence(value) && !isGenerator(value) && Object.keys(value).every((key) => ['x', 'y', 'sampleWeight'].includes(key));
const isArrays = (value: unknown) =>
  isColumns(value) || isColumn(value) || Array.isArray(value) || ArrayBuffer.isView(value);

/** Each kind: its name, its test, and its conversion for the module. Exactly one accepts each value. */
const kinds: { kind: string; accepts(value: unknown): boolean; give(value: never): unknown }[] = [
  { kind: 'columns', accepts: isArrays, give: columns },
  { kind: 'dataset', accepts: isDataset, give: (dataset: Dataset) => dataset },
  { kind: 'generator', accepts: isGenerator, give: (generator: BatchGenerator) => new BatchIterator(generator) },
  { kind: 'sequence', accepts: isSequence, give: asSequence },
  { kind: 'creator', accepts: (value) => value instanceof DatasetCreator, give: (creator: DatasetCreator) => creator.datasetFn },
];

/** Whether it is not an array, but an iterator of batches. */
export const givesBatches = (value: unknown): boolean =>
  typeof value === 'function' || kinds.some(({ kind, accepts }) => kind !== 'columns' && accepts(value));

export function asData(value: DataLike): { kind: string; value: unknown } {
  if (typeof value === 'function') return asData(value());
  const found = kinds.filter(({ accepts }) => accepts(value));
  const [first, second] = found;
  if (!first)
    fail('data', 'data', `Failed to find data adapter that can handle input: ${describe(value)} - expected arrays, a dataset, a generator or a sequence - convert it.`);
  if (second)
    fail('value', 'data', `Data adapters should be mutually exclusive for handling inputs: ${describe(value)} fits the kinds ${first.kind} and ${second.kind} - expected one of them - pass only one kind of data.`);
  return { kind: first.kind, value: first.give(value as never) };
}

function columns(value: BatchLike | Columns) {
  const named = asNamed(value as BatchLike) as NamedData | Columns;
  const groups = { x: group(named.x, 'x'), y: group(named.y, 'y'), sampleWeight: group(named.sampleWeight, 'sampleWeight') };
  const all = Object.values(groups).flatMap(({ columns }) => columns);
  // Lists together with other forms are small tensors.
  if (!all.every(({ form }) => form === 'list')) for (const column of all) if (column.form === 'list') column.form = 'tensor';
  return groups;
}

function group(values: ColumnGroup | null | undefined, what: string): Group {
  const { arrays, names } = arraysIn(values, what);
  return { columns: arrays.map((array) => asColumn(array as ColumnLike)), names };
}

function asColumn(value: ColumnLike): Column {
  if (value instanceof CsrMatrix) {
    const { columns, values, columnOf, rowSplits } = value;
    return { form: 'csr', value: { columns, values, columnOf: Array.from(columnOf), rowSplits: Array.from(rowSplits) } };
  }
  if (value instanceof RaggedTensor) return { form: 'ragged', value: { values: value.values, rowSplits: Array.from(value.rowSplits) } };
  if (isLazyArray(value)) return { form: 'array', value: asLazyArray(value) };
  return { form: Array.isArray(value) ? 'list' : 'tensor', value: tensor(value as TensorLike) };
}

/** A lazy array in the module's form: functions that need no `this`. */
export function asLazyArray(array: LazyArray) {
  return { shape: [...array.shape], dtype: array.dtype, slice: (first: number, last: number) => array.slice(first, last) };
}

/** The promises of onEpochEnd. */
const epochEnds = new WeakMap<SequenceLike, Promise<void>>();
/** Waits for the end of the last epoch, if this is a sequence whose onEpochEnd returned a promise. */
export async function lastEpochEnd(data: unknown): Promise<void> {
  const ended = epochEnds.get(data as SequenceLike);
  epochEnds.delete(data as SequenceLike);
  await ended;
}

/** A sequence likewise. Batches of the next epoch wait for the end of the previous one. */
function asSequence(sequence: SequenceLike) {
  let ended: Promise<void> | undefined;
  return {
    size: () => sequence.length,
    getItem: (index: number) => (ended ? ended.then(() => sequence.getItem(index)) : sequence.getItem(index)),
    onEpochEnd: () => {
      const result = sequence.onEpochEnd?.();
      ended = result ? Promise.resolve(result) : undefined;
      if (!ended) return void epochEnds.delete(sequence);
      ended.catch(() => {}); // getItem or the loop awaits it
      epochEnds.set(sequence, ended);
    },
  };
}
