/** Functions that replace the executions of loops: those that makeTrainFunction and similar functions of models return. */
import { ItemIterator, asBatch, type BatchGenerator, type DatasetElement } from './batch.js';
import { fail } from './error.js';
import type { Link } from './layer_base.js';
import { module } from './module.js';
import { flattenData, type Nested } from './nested.js';
import { tensor, type Tensor } from './tensor.js';

type Logs = Record<string, number>;
/**
 * Runs an execution of fit or evaluate: takes batches, runs steps by the default function, and returns logs, for
 * callbacks and, at the end, for the epoch. The default function takes any batches, also others than those of the data:
 * it runs one step on each, and returns the logs of the last one. For `batches.next()` declare `batches: ExecutionBatches`.
 */
export type TrainFunction = { run(batches: BatchGenerator): Logs | Promise<Logs> }['run'];
/** The same for predict: returns the outputs for all rows of the execution, in the form of predict. */
export type PredictFunction = { run(batches: BatchGenerator): Nested<Tensor> | Promise<Nested<Tensor>> }['run'];
/** The batches of an execution: as many as `stepsPerExecution`, or fewer at the end. Batches that are not taken are skipped. */
export type ExecutionBatches = AsyncIterableIterator<DatasetElement>;

const makers = { makeTrainFunction: 'trainFunction', makeTestFunction: 'testFunction', makePredictFunction: 'predictFunction' } as const;
export type Maker = keyof typeof makers;
export const makerNames = Object.keys(makers) as Maker[];

/** One execution, which the module knows by its number. */
class Execution implements ExecutionBatches {
  readonly #id: number;
  readonly #pending = new Set<Promise<unknown>>();
  /** The last request for batches. They run one after the other. */
  #last: Promise<boolean> = Promise.resolve(true);
  /** The batch that was taken last. */
  #taken: DatasetElement | undefined;
  #over = false;

  constructor(id: number) {
    this.#id = id;
  }
  [Symbol.asyncIterator](): this {
    return this;
  }
  next(): Promise<IteratorResult<DatasetElement, undefined>> {
    return this.#awaited(this.#next());
  }
  /** The default function, with its logs or its outputs. */
  run(batches: BatchGenerator, result: (id: number) => unknown): Promise<unknown> {
    return this.#awaited(this.#run(batches, result));
  }
  /** Runs the function of the user. Steps that it did not await end before the execution ends. */
  async finish(run: (batches: ExecutionBatches) => unknown): Promise<unknown> {
    try {
      return await run(this);
    } finally {
      while (this.#pending.size) await Promise.allSettled(this.#pending);
      this.#over = true;
    }
  }

  async #next(): Promise<IteratorResult<DatasetElement, undefined>> {
    const taken = !this.#over && (await this.#inOrder(() => module.execution_next(this.#id)));
    if (!taken) return { done: true, value: undefined };
    const batch: DatasetElement = module.execution_batch(this.#id);
    this.#taken = batch;
    return { done: false, value: batch };
  }
  async #run(batches: BatchGenerator, result: (id: number) => unknown): Promise<unknown> {
    if (batches === this) await this.#inOrder(() => module.execution_run(this.#id));
    else await module.execution_run(this.#id, new ItemIterator(batches, (batch) => batch === this.#taken || asBatch(batch)));
    return result(this.#id);
  }
  #inOrder(request: () => Promise<boolean>): Promise<boolean> {
    return (this.#last = this.#last.then(request));
  }
  #awaited<T>(promise: Promise<T>): Promise<T> {
    const settled = () => void this.#pending.delete(promise);
    this.#pending.add(promise);
    promise.then(settled, settled);
    return promise.then((result) => result); // which nothing handles yet: a failure that is not awaited is reported
  }
}

/** The functions of a model that replace executions, and the executions that run. */
export class Executions {
  readonly #functions: Partial<Record<Maker, (batches: ExecutionBatches) => unknown>> = {};
  readonly #running: { maker: Maker; execution: Execution }[] = [];

  /** What the module calls to make such a function: `make` of the user, and to run it. */
  called(name: string, make: unknown, link: Link, keys: () => string[]): ((...given: unknown[]) => unknown) | undefined {
    const maker = makerNames.find((each) => each === name || makers[each] === name);
    if (!maker) return undefined;
    if (maker !== name) return (id) => this.#run(maker, id as number, keys);
    const functions = this.#functions;
    return function (this: object, force) {
      const made = (make as (force: unknown) => unknown).call(this, force);
      if (typeof made !== 'function') fail('value', maker, `no function was returned - expected one - return async (batches) => {…}, or super.${maker}(force).`);
      functions[maker] = made as (batches: ExecutionBatches) => unknown;
      module.execution_replace(link, makers[maker]);
    };
  }
  /** The default function. */
  runSteps<Result>(maker: Maker, result: (id: number) => Result): (batches: BatchGenerator) => Promise<Result> {
    return (batches) => {
      const all = this.#running.filter((each) => each.maker === maker && (!(batches instanceof Execution) || batches === each.execution));
      const running = all.at(-1);
      if (!running) return fail('state', makers[maker], `called outside of a loop - expected a call within the function that ${maker} returned - call fit, evaluate or predict.`);
      return running.execution.run(batches, result) as Promise<Result>;
    };
  }
  /** Whether the user has such a function: then single batches must be awaited, too. */
  refuseSingle(maker: Maker, made: unknown, where: string, loop: string): void {
    if (made) fail('state', where, `a model with ${maker} - expected its function to be awaited - call ${loop} with this batch.`);
  }

  async #run(maker: Maker, id: number, keys: () => string[]): Promise<unknown> {
    const running = { maker, execution: new Execution(id) };
    this.#running.push(running);
    try {
      const result = await running.execution.finish(this.#functions[maker] as (batches: ExecutionBatches) => unknown);
      return maker === 'makePredictFunction' ? listed(result, keys()) : result;
    } finally {
      this.#running.splice(this.#running.indexOf(running), 1);
    }
  }
}

/** Outputs in the module's form: a list, in the order of these paths if there are some. */
function listed(outputs: unknown, keys: string[]): Tensor[] {
  const { names, values } = flattenData(outputs);
  const inOrder = keys.length ? keys.map((key) => values[names.indexOf(key)]) : values;
  return inOrder.map((each) => tensor(each as Tensor));
}
