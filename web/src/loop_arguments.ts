import { BatchIterator, type BatchGenerator } from './batch.js';
import { prepare, type CallbackLike } from './callback.js';
import { checkOptions, fail } from './error.js';
import type * as native from './etude.mjs';
import { givesBatches, isColumns, isLazyArray, type ColumnGroup, type Columns, type DataLike, type DatasetCreator, type SequenceLike } from './kinds.js';
import type { Model } from './model.js';
import { module, ready } from './module.js';
import { defaultVerbose } from './stdout.js';
import { Tensor } from './tensor.js';

/** Data that consists of batches, or has its columns by name. */
export type Source = Columns | BatchGenerator | (() => BatchGenerator) | native.Dataset | SequenceLike | DatasetCreator;

interface LoopOptions {
  callbacks?: CallbackLike[] | undefined;
  sampleWeight?: ColumnGroup | undefined;
  verbose?: unknown;
}
/** The arguments of a loop: (x, y, options) or (data, options). */
export type LoopArguments<Options> = [x: ColumnGroup | Source, y?: ColumnGroup | Options | undefined, options?: Options | undefined];

/** The data and options of a loop; sets the model of callbacks. */
export function loopArguments<Options extends LoopOptions>(given: LoopArguments<Options>, model: Model, where: string): [DataLike, Options] {
  const [first, second, third] = given;
  const isSource = givesBatches(first) || isColumns(first);
  const options = ((isSource ? second : third) ?? third) as LoopOptions | undefined;
  if (isSource) refuseTargets(second, options?.sampleWeight, where);
  const { sampleWeight, ...rest } = checkOptions(options, where);
  const data = isSource ? (first as Source) : ({ x: first, y: second, sampleWeight } as Columns);
  for (const callback of Array.isArray(rest.callbacks) ? rest.callbacks : []) prepare(callback, model, where);
  return [data, { ...rest, verbose: rest.verbose ?? defaultVerbose } as LoopOptions as Options];
}

/** Data that consists of batches includes targets and weights. */
function refuseTargets(second: unknown, sampleWeight: unknown, where: string): void {
  const name = Array.isArray(second) || ArrayBuffer.isView(second) || second instanceof Tensor || isLazyArray(second) ? '`y`' : sampleWeight === undefined ? '' : '`sampleWeight`';
  if (name) fail('value', where, `${name} beside data of batches - ${name} argument is not supported when using dataset, generator or sequence as input - put it into the batches.`);
}

export const isFunction = (data: unknown): data is () => BatchGenerator => typeof data === 'function';
/** The generators that a function makes, one for each epoch. */
export async function ofEpochs(make: () => BatchGenerator): Promise<native.Dataset> {
  await ready({ parts: ['data'] });
  return module.data_fromIterators(() => new BatchIterator(make()));
}
