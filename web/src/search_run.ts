/** Runs searches: each trial is a worker. */
import { checkOptions, describe, fail } from './error.js';
import type { SearchRun } from './etude.mjs';
import { checkFiles, loadExperiment, module } from './experiment_part.js';
import { hostFiles } from './module.js';
import { cores } from './node.js';
import { jsonOf, type SearchConfig } from './search_config.js';
import type { Settings } from './trial.js';
import type { FromTrial } from './trial_worker.js';
import { workerMaker, type MakeWorker, type TrialWorker, type WorkerOfTrial } from './trial_workers.js';

export type { TrialWorker };

const where = 'runSearch';

/** A trial of a search. */
export interface TrialReport {
  /** The number of the trial, from 1 on. */
  trial: number;
  /** What it does. waiting: to be started, or started again; stopping: it was asked to end; the last three: it has ended. */
  status: 'waiting' | 'running' | 'stopping' | 'finished' | 'failed' | 'invalid';
  /** The hyperparameters. */
  hparams: Settings;
  /** How often it was started again after it had failed. */
  restarts: number;
  /** Its part that is done, from 0 to 1, if it reports that. */
  progress: number;
  /** The latest metric of a validation; null if there is none yet. */
  metric: number | null;
  /** How long the trial had trained then. */
  time: number | null;
  /** The best metric. */
  best: number | null;
  /** Whether the search stopped it before maxTime. */
  stopped: boolean;
}

/** The end of a search. */
export interface SearchResult {
  /** Whether all trials have ended; false if the search was interrupted. */
  done: boolean;
  /** All trials. */
  trials: TrialReport[];
  /** The number of the trial with the best metric; 0 if there is none. */
  best: number;
}

/** How `runSearch` runs trials. */
export interface SearchRunOptions {
  /**
   * The module that runs one trial, which calls `trialMain`: its address, or a function that makes the worker, such as
   * `() => new Worker(new URL('./trial.js', import.meta.url), { type: 'module' })`, which bundlers need.
   */
  worker: URL | string | (() => TrialWorker);
  /** The most workers at a time. Default: maxConcurrentTrials, or without that the number of the machine's threads. */
  maxConcurrent?: number | undefined;
  /** The seconds in which a trial that is stopped may save its state. Then its worker is terminated. Default: 30. */
  grace?: number | undefined;
  /** Its abort interrupts the search: all trials save their states, and the same call continues it later. */
  signal?: AbortSignal | undefined;
  /** Called at each change of a trial, with a text such as "created", "running" or "validated", or a warning. */
  report?: ((trial: TrialReport, change: string) => void) | undefined;
}

/** A worker with a trial. */
interface Running {
  worker: WorkerOfTrial;
  /** Whether it was asked to end, and whether it has ended. */
  asked: boolean;
  ended: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

class Runner {
  readonly #running = new Map<number, Running>();
  #interrupted = false;
  #over = false;
  readonly #result: Promise<SearchResult>;
  #resolve!: (result: SearchResult) => void;
  #reject!: (error: unknown) => void;

  constructor(
    readonly run: SearchRun,
    readonly make: MakeWorker,
    readonly options: { grace: number; signal: AbortSignal | undefined; most: number },
  ) {
    this.#result = new Promise((resolve, reject) => ([this.#resolve, this.#reject] = [resolve, reject]));
  }

  async go(): Promise<SearchResult> {
    const { signal } = this.options, interrupt = () => this.#act(() => this.#interrupt());
    signal?.addEventListener('abort', interrupt);
    try {
      this.#act(() => {
        this.#interrupted = signal?.aborted === true;
        module.searchRun_begin(this.run);
      });
      return await this.#result;
    } finally {
      signal?.removeEventListener('abort', interrupt);
      this.#over = true;
      for (const { timer } of this.#running.values()) clearTimeout(timer);
      await Promise.all([...this.#running.values()].map(({ worker }) => worker.terminate()));
      await hostFiles()?.saved?.();
    }
  }

  /** Does something, stores the state, and then does what follows from it. An error ends the search. */
  #act(work: () => void): void {
    if (this.#over) return;
    try {
      work();
      module.searchRun_save(this.run);
      for (const trial of this.#trials('stopping')) this.#ask(trial);
      if (!this.#interrupted) for (const trial of this.#trials('waiting')) this.#start(trial);
      module.searchRun_save(this.run);
      if (this.#running.size === 0 && (this.#interrupted || module.searchRun_done(this.run))) this.#resolve(module.searchRun_result(this.run) as SearchResult);
    } catch (error) {
      this.#over = true;
      this.#reject(error);
    }
  }
  #trials(status: TrialReport['status']): number[] {
    return module.searchRun_trials(this.run, status) as number[];
  }

  #start(trial: number): void {
    const { most } = this.options;
    if (this.#running.size >= most) return;
    const path = module.searchRun_prepare(this.run, trial), folder = module.searchRun_folder(this.run, trial);
    const receive = (message: FromTrial) => {
      const mirror = hostFiles()?.mirror;
      if (this.#running.get(trial)?.worker !== worker) return; // of an earlier worker
      if (message.etude === 'ready') {
        worker.tell({ etude: 'trial', path, threads: Math.max(1, Math.floor(cores() / most)), ...(mirror ? { files: mirror.entriesOf(folder) } : {}) });
        if (this.#running.get(trial)?.asked) worker.tell({ etude: 'end' }); // what it heard before it was ready is lost
      } else if (message.etude !== 'ended') this.#read(trial, message);
      else if (message.error === undefined) this.#end(trial, message.status, true);
      else failed(message.error, message.status);
    };
    const failed = (text: string, status = 1) => {
      if (!this.#over && this.#running.get(trial)?.ended === false) console.error(text);
      this.#end(trial, status || 1); // without the message of its end, also 0 is none
    };
    const worker = this.make(folder, receive, failed);
    this.#running.set(trial, { worker, asked: false, ended: false });
    module.searchRun_started(this.run, trial);
  }

  #read(trial: number, message: FromTrial): void {
    this.#act(() => {
      if (this.#running.get(trial)?.ended !== false) return;
      if (message.etude === 'files') hostFiles()?.mirror?.apply(message.changes);
      module.searchRun_read(this.run, trial);
    });
  }

  #end(trial: number, status: number, itself = false): void {
    const running = this.#running.get(trial);
    if (!running || running.ended) return;
    running.ended = true;
    clearTimeout(running.timer);
    // Until its thread has ended, it may hold files.
    void (itself ? running.worker.ended() : running.worker.terminate()).then(() =>
      this.#act(() => {
        this.#running.delete(trial);
        module.searchRun_read(this.run, trial);
        module.searchRun_ended(this.run, trial, status, this.#interrupted);
      }),
    );
  }

  /** Asks a trial to save its state and end. */
  #ask(trial: number): void {
    const running = this.#running.get(trial);
    if (!running || running.asked || running.ended) return;
    running.asked = true;
    running.worker.tell({ etude: 'end' });
    running.timer = setTimeout(() => this.#end(trial, killed), Math.min(1000 * this.options.grace, longestTimer));
  }
  #interrupt(): void {
    this.#interrupted = true;
    for (const trial of this.#running.keys()) this.#ask(trial);
  }
}
/** The status of a trial whose worker was terminated: 128 + SIGKILL. */
const killed = 137;
/** The most milliseconds of a timer: a longer one fires at once. */
const longestTimer = 2 ** 31 - 1;

/**
 * Runs a search to its end, or continues one that was interrupted or killed, in the folder config.storage, with the trials
 * that it had. Each trial is a worker that calls `trialMain`: a thread of Node.js, or a Web Worker of a page, which opens
 * files first. search.json has the state of the search, and is replaced after every event; trial_1 is the folder of trial 1.
 *
 *     const result = await et.experiment.runSearch(config, { worker: new URL('./trial.mjs', import.meta.url), maxConcurrent: 2 });
 *
 * A trial that throws, or whose worker fails, is started again, up to maxRestarts times. Rejects with EtudeError "state" if
 * the folder is in use, "value" for an invalid config and for the folder of another search, "io" if a file refuses; all
 * workers are terminated then.
 */
export async function runSearch(config: SearchConfig, options: SearchRunOptions): Promise<SearchResult> {
  const { worker, maxConcurrent, grace = 30, signal, report = () => {} } = checkOptions(options, where, ['worker', 'maxConcurrent', 'grace', 'signal', 'report']);
  if (maxConcurrent !== undefined && !(Number.isInteger(maxConcurrent) && maxConcurrent > 0)) fail('value', where, `maxConcurrent = ${describe(maxConcurrent)} - expected a whole number of 1 or more - correct it.`);
  if (!(grace >= 0)) fail('value', where, `grace = ${describe(grace)} - expected 0 seconds or more - correct it.`);
  const [make] = await Promise.all([workerMaker(worker, where), loadExperiment()]);
  checkFiles(where);
  const json = jsonOf(config, where);
  const run = module.searchRun_create(json, (trial: unknown, change: string) => report(trial as TrialReport, change));
  const { searcher } = JSON.parse(json) as { searcher: { max_concurrent_trials?: number } };
  const most = maxConcurrent ?? (searcher.max_concurrent_trials || cores());
  try {
    return await new Runner(run, make, { grace, signal, most }).go();
  } finally {
    module.searchRun_close(run);
  }
}
