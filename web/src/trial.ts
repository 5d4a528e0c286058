/** The context of a trial. */
import type { DatasetElement } from './batch.js';
import type { CallbackLike } from './callback.js';
import { CheckpointContext, type RetentionRules } from './checkpoints.js';
import { next } from './data.js';
import { checkOptions } from './error.js';
import type { Callback, Dataset, Optimizer, TrialContext } from './etude.mjs';
import { checkFiles, loadExperiment, module } from './experiment_part.js';
import { givesBatches, isColumns, type ColumnGroup, type DataLike } from './kinds.js';
import { Model } from './model.js';
import type { FitOptions, History } from './model_options.js';
import { free, hostFiles, led } from './module.js';
import { inNode } from './node.js';
import { PreemptContext, Requests, type PreemptOptions } from './preemption.js';
import { withCustomObjects, type CustomObjects } from './registry.js';
import type { Tensor } from './tensor.js';
import { trialOfWorker } from './trial_worker.js';

/** Values by name, as of a JSON object: hyperparameters, for example. */
export type Settings = Record<string, any>;

/** Which trial of which experiment a program runs. */
export interface TrialInfo {
  /** The id of the trial, unique in its storage of checkpoints: letters, digits, ".", "_" and "-". */
  trialId: string;
  /** The id of the experiment. */
  experimentId: string;
  /** The seed of the trial: et.setRandomSeed(info.trial.trialSeed). */
  trialSeed: number;
  /** The hyperparameters of the trial. */
  hparams: Settings;
}

/** The information from the program that started this one: the trial, and the place of its files. */
export interface ClusterInfo {
  /** The trial. */
  trial: TrialInfo;
  /** The uuid of the checkpoint from which the trial begins. */
  latestCheckpoint: string | null;
  /** The folder of the trial's files. */
  storage: string;
  /** The folder of checkpoints, which several trials may share; `storage`/checkpoints if it is empty. */
  checkpointStorage: string;
  /** How long the trial may become, such as { epochs: 10 }: for information. */
  maxLength: Settings;
  /** Further values. */
  userData: Settings;
  /** The name of the validation's value that decides which checkpoints are best; null if the program decides that. */
  metric: string | null;
  /** Whether less of it is better; null if the program decides that. */
  smallerIsBetter: boolean | null;
  /** Which checkpoints stay; null if the program decides that. */
  retention: RetentionRules | null;
  /** The rank of this process among those of the trial. */
  containerRank: number;
  /** The host names or addresses of the trial's processes. */
  containerAddrs: string[];
  /** Whether no other program has started this one as a trial. */
  detached: boolean;
}

/** Options of `init`. */
export interface Config {
  /** The trial of a detached program. If the variable ETUDE_TRIAL is set, its file says this. */
  trial?: Partial<TrialInfo> | undefined;
  /** The path of the trial's file. Default: the variable ETUDE_TRIAL has it. */
  trialFile?: string | undefined;
  /** The folder of the trial's files, of a detached program. Default: 'experiment'. */
  storage?: string | undefined;
  /** Which checkpoints stay, unless the trial's file says that. */
  retention?: RetentionRules | undefined;
  /** The name of the validation's value that decides which checkpoints are best, with or without "val_". Default: 'loss'. */
  metric?: string | undefined;
  /** Whether metrics are also written for TensorBoard. Default: true in Node.js. */
  tensorboard?: boolean | undefined;
  /** Requests to end the trial. */
  preempt?: PreemptOptions | undefined;
}
const namesOfConfig = ['trial', 'trialFile', 'storage', 'retention', 'metric', 'tensorboard', 'preempt'];

/** Options of `trainingCallback`, and of `context.fit`. */
export interface TrainingOptions {
  /**
   * When checkpoints are stored: after each 'epoch', or after so many batches, counted across epochs. Always also at the
   * end of training and before a preemption; null: only then. Default: 'epoch'.
   */
  checkpointFreq?: 'epoch' | number | null | undefined;
  /**
   * Whether a checkpoint is also stored after a validation: 'best': if its metric is better than all before; 'all': always;
   * 'none'. The 'epoch' of checkpointFreq has all of them. Default: 'best'.
   */
  checkpointPolicy?: 'best' | 'all' | 'none' | undefined;
  /** When metrics of training are reported: after each 'epoch', or after so many batches. Default: 'epoch'. */
  reportFreq?: 'epoch' | number | undefined;
  /**
   * The seconds after which the memory of the library is reported, as the group 'system'. Natively also the processors,
   * disks and network. 0: never. Default: 0.
   */
  systemMetricsInterval?: number | undefined;
  /** The uuid of the checkpoint from which a trial begins that has none itself. Default: info.latestCheckpoint. */
  checkpoint?: string | undefined;
  /**
   * The id of another trial. If that checkpoint is of this one, training continues where it was. If not, training begins
   * with its weights only.
   */
  continueId?: string | undefined;
}

/** Options of `context.batchProcess`. */
export interface BatchProcessOptions {
  /** The number of batches after which the position is stored. Default: 5. */
  checkpointInterval?: number | undefined;
  /** The most batches. Default: those of the dataset. */
  maxBatches?: number | null | undefined;
  /** Called before the position is stored: flush files here. */
  onCheckpointStart?: (() => void) | undefined;
  /** Called when all batches are processed. */
  onFinish?: (() => void) | undefined;
  /** The name of the file of the position in the storage, if a trial processes several datasets. Default: 'batch_process'. */
  name?: string | undefined;
}

/**
 * Reports of a trial: `context.train`. They are lines of the file metrics.jsonl in the storage, each a JSON object. A value
 * that is not a number, or infinite, is null there.
 */
export class TrainContext {
  readonly #handle: TrialContext;
  /** For the module only. */
  constructor(handle: TrialContext) {
    this.#handle = handle;
  }
  /** Reports metrics after `stepsCompleted` batches: of 'training', 'validation', or another group. */
  reportMetrics(group: string, stepsCompleted: number, metrics: Record<string, number>): void {
    module.experiment_reportMetrics(this.#handle, group, stepsCompleted, metrics);
  }
  /** Reports which part of the trial is done, from 0 to 1. */
  reportProgress(progress: number): void {
    module.experiment_reportProgress(this.#handle, progress);
  }
  /** Reports the state of the trial, in a word or two. */
  setStatus(status: string): void {
    module.experiment_setStatus(this.#handle, status);
  }
  /** Reports that the hyperparameters are invalid. */
  reportInvalidHp(message: string): void {
    module.experiment_reportInvalidHp(this.#handle, message);
  }
}

/** The context of a trial, which `init` makes. */
export class Context {
  readonly #handle: TrialContext;
  readonly #requests: Requests;
  /** The trial. latestCheckpoint is the newest state of a training of this trial, if it has one. */
  readonly info: ClusterInfo;
  /** Reports. */
  readonly train: TrainContext;
  /** Checkpoints. */
  readonly checkpoint: CheckpointContext;
  /** Requests to end the trial. */
  readonly preempt: PreemptContext;

  /** For the module only: use `init`. */
  constructor(handle: TrialContext, requests: Requests) {
    this.#handle = handle;
    this.#requests = requests;
    this.info = module.experiment_info(handle) as ClusterInfo;
    this.train = new TrainContext(handle);
    this.checkpoint = new CheckpointContext(handle);
    this.preempt = new PreemptContext(handle);
  }

  /**
   * `model.fit` with a `trainingCallback`, whose options are the last argument. It continues the trial from its newest
   * checkpoint. Rejects with `Preempted` if the trial was asked to end: then its checkpoint is stored.
   */
  fit(model: Model, x: ColumnGroup, y?: ColumnGroup, options?: FitOptions, training?: TrainingOptions): Promise<History>;
  fit(model: Model, data: DataLike, options?: FitOptions, training?: TrainingOptions): Promise<History>;
  async fit(model: Model, first: unknown, second?: unknown, third?: unknown, fourth?: TrainingOptions): Promise<History> {
    const isSource = givesBatches(first) || isColumns(first);
    const options = checkOptions((isSource ? second : third) as FitOptions | undefined, 'fit'), training = (isSource ? third : fourth) as TrainingOptions | undefined;
    const callbacks: CallbackLike[] = [...(options.callbacks ?? []), trainingCallback(this, training)];
    const fitted = { ...options, callbacks };
    try {
      return await (isSource ? model.fit(first as never, fitted) : model.fit(first as ColumnGroup, second as ColumnGroup, fitted));
    } finally {
      await hostFiles()?.saved?.();
    }
  }

  /**
   * The model of a checkpoint, by its uuid; or by the id of a trial, of its best state of training, or of its newest one if
   * no validation has run. For a model of a class that is not registered: `loadWeightsFromCheckpoint`.
   */
  loadModelFromCheckpoint(id: string, options?: { customObjects?: CustomObjects }): Model {
    const { customObjects } = checkOptions(options, 'loadModelFromCheckpoint', ['customObjects']);
    return new Model(() => withCustomObjects(customObjects, () => module.experiment_loadModel(this.#handle, id)), {});
  }
  /** Sets the weights of a built model to those of a checkpoint, which is chosen in the same way. */
  loadWeightsFromCheckpoint(model: Model, id: string): void {
    module.experiment_loadWeights(this.#handle, model.handle, id);
  }

  /** The optimizer itself: a trial is one process here. */
  wrapOptimizer<Kind extends Optimizer | string>(optimizer: Kind): Kind {
    return optimizer;
  }
  /** The dataset itself: a trial is one process here. */
  wrapDataset(dataset: Dataset): Dataset {
    return dataset;
  }

  /**
   * Calls `process` with each batch of a dataset once, and its index; with a model also with its outputs. The position is
   * stored, so that a trial that is started again continues there: one that was preempted with the next batch, one that was
   * interrupted with those since the last stored position. So write the results of batch i to a place that depends on i.
   */
  batchProcess(dataset: Dataset, process: (batch: DatasetElement, index: number) => void | Promise<void>, options?: BatchProcessOptions): Promise<void>;
  batchProcess(model: Model, dataset: Dataset, process: (outputs: Tensor[], batch: DatasetElement, index: number) => void | Promise<void>, options?: BatchProcessOptions): Promise<void>;
  async batchProcess(...given: unknown[]): Promise<void> {
    const model = given[0] instanceof Model ? (given.shift() as Model) : undefined;
    const [dataset, process, third] = given as [Dataset, (...given: unknown[]) => unknown, BatchProcessOptions?];
    const options = checkOptions(third, 'batchProcess', ['checkpointInterval', 'maxBatches', 'onCheckpointStart', 'onFinish', 'name']);
    let iterator: ReturnType<Dataset['iterator']> | undefined;
    const end = () => {
      if (iterator) free(iterator);
      iterator = undefined;
    };
    const begin = (done: number) => {
      const { maxBatches } = options;
      end();
      iterator = (maxBatches === undefined || maxBatches === null ? dataset : dataset.take(maxBatches)).skip(done).iterator(0);
    };
    const processNext = async (index: number) => {
      const batch = await next(iterator as NonNullable<typeof iterator>);
      if (batch) await process(...(model ? [model.predictOutputsOnBatch(batch.x as ColumnGroup)] : []), batch, index);
      return batch !== null;
    };
    await led(() => module.experiment_batchProcess(this.#handle, begin, processNext, options)).finally(end);
    await hostFiles()?.saved?.();
  }

  /** Ends the trial: closes its files, so that it can be started again. Reports have no effect any more. */
  close(): void {
    this.#requests.close();
    module.experiment_close(this.#handle);
  }

  /** For the module only. */
  static callback(context: Context, options: TrainingOptions): Callback {
    return module.experiment_trainingCallback(context.#handle, options);
  }
}

/**
 * A callback that trains a model as a trial, as `context.fit` does: reports metrics and progress, stores checkpoints,
 * continues from them with the bits of an uninterrupted training, and ends it when the trial is preempted. Do not combine it
 * with backupAndRestore.
 */
export function trainingCallback(context: Context, options?: TrainingOptions): Callback {
  return Context.callback(context, checkOptions(options, 'trainingCallback', ['checkpointFreq', 'checkpointPolicy', 'reportFreq', 'systemMetricsInterval', 'checkpoint', 'continueId']));
}

/** The path of the file that describes this program's trial; '' for a detached program. */
const trialFileOf = (config: Config): string => config.trialFile ?? trialOfWorker()?.path ?? (inNode ? process.env['ETUDE_TRIAL'] : undefined) ?? '';

/**
 * The context of this program's trial: of the one that ETUDE_TRIAL or a search describes, or else a detached one, whose files
 * are in `config.storage`. A page opens files first: `await et.openFiles('my page')`. Throws EtudeError "state" if another
 * program, or another context, runs this trial.
 */
export async function init(config?: Config): Promise<Context> {
  const where = 'experiment.init', given = checkOptions(config, where, namesOfConfig);
  const { tensorboard = inNode, ...others } = given;
  const trial = checkOptions(given.trial, where, ['trialId', 'experimentId', 'trialSeed', 'hparams']);
  const retention = checkOptions(given.retention, where, ['saveExperimentBest', 'saveTrialBest', 'saveTrialLatest', 'smallerIsBetter']);
  const preempt = checkOptions(given.preempt, where, ['signal', 'whenHidden', 'file', 'requested']);
  await loadExperiment(...(tensorboard ? (['callbacks'] as const) : []));
  checkFiles('experiment.init');
  const requests = new Requests(preempt, () => trialOfWorker()?.asked === true);
  try {
    const { requested } = requests, { file = '' } = preempt;
    const handle = module.experiment_init({ ...others, trial, retention, tensorboard, trialFile: trialFileOf(given), file, requested });
    return new Context(handle, requests);
  } catch (error) {
    requests.close();
    throw error;
  }
}

/** Reads the description of this program's trial, or returns the defaults of a detached program. */
export async function clusterInfo(): Promise<ClusterInfo> {
  await loadExperiment();
  return module.experiment_clusterInfo(trialFileOf({})) as ClusterInfo;
}
