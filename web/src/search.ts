/** The decisions of a search, for programs that run trials in their own way. */
import type { HyperparameterSearch as Handle } from './etude.mjs';
import { loadExperiment, module } from './experiment_part.js';
import { jsonOf, type SearchConfig } from './search_config.js';
import type { Settings } from './trial.js';

/** An operation that a search requests: create and start a trial, stop one, or nothing more, because all trials have ended. */
export type SearchOperation =
  | { kind: 'create'; trial: number; trialSeed: number; hparams: Settings }
  | { kind: 'stop'; trial: number }
  | { kind: 'done' };
/** The members of a search's config that decide. */
export type HyperparameterSearchConfig = Pick<SearchConfig, 'searcher' | 'hyperparameters' | 'seed'>;

/**
 * A search for hyperparameters, as a state machine: it gets the events of trials and returns operations. It runs nothing
 * itself. The same calls give the same operations natively and here. Made by `hyperparameterSearch`.
 */
export class HyperparameterSearch {
  readonly #handle: Handle;
  /** For the module only. */
  constructor(config: HyperparameterSearchConfig) {
    this.#handle = module.search_create(jsonOf(config, 'hyperparameterSearch'));
  }

  /** The first trials. */
  start(): SearchOperation[] {
    return module.search_start(this.#handle) as SearchOperation[];
  }
  /** A trial reported a metric after training for `time`, in the measure of timeMetric. NaN and null count as the worst. */
  validated(trial: number, metric: number | null, time: number): SearchOperation[] {
    return module.search_validated(this.#handle, trial, metric, time) as SearchOperation[];
  }
  /** A trial ended: by itself or because it was stopped; with an error; or because its hyperparameters are invalid. */
  exited(trial: number, end: 'finished' | 'failed' | 'invalid'): SearchOperation[] {
    return module.search_exited(this.#handle, trial, end) as SearchOperation[];
  }
  /** The number of trials that were created. */
  trials(): number {
    return module.search_trials(this.#handle);
  }
  /** Whether a trial was stopped. */
  stopped(trial: number): boolean {
    return module.search_stopped(this.#handle, trial);
  }
  /** Whether all trials have ended. */
  done(): boolean {
    return module.search_done(this.#handle);
  }
  /** The operation that created a trial. */
  creation(trial: number): SearchOperation {
    return module.search_creation(this.#handle, trial) as SearchOperation;
  }
  /** The complete state, as JSON. */
  snapshot(): string {
    return module.search_snapshot(this.#handle);
  }
  /** Continues from the snapshot of a search with the same config: the same calls then give the same operations. */
  restore(snapshot: string): void {
    module.search_restore(this.#handle, snapshot);
  }
}

/** A search without trials. Throws EtudeError "value" for a config that is not valid. */
export async function hyperparameterSearch(config: HyperparameterSearchConfig): Promise<HyperparameterSearch> {
  await loadExperiment();
  return new HyperparameterSearch(config);
}
