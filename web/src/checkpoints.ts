/** The checkpoints of trials. */
import type { TrialContext } from './etude.mjs';
import { loadExperiment, module } from './experiment_part.js';

/** Which checkpoints stay: the union of those that a rule keeps. */
export interface RetentionRules {
  /** The number of an experiment's checkpoints with the best scores that stay. Default: 0. */
  saveExperimentBest?: number | undefined;
  /** The same for each trial. Default: 1. */
  saveTrialBest?: number | undefined;
  /** The number of each trial's newest checkpoints that stay. Default: 1. */
  saveTrialLatest?: number | undefined;
  /** Whether a lower score is better. Default: true. */
  smallerIsBetter?: boolean | undefined;
}
/** The metadata of a checkpoint: any JSON. */
export type Metadata = Record<string, unknown>;

/** A stored checkpoint. */
export interface StoredCheckpoint {
  /** Its name in the storage. */
  uuid: string;
  /** The trial that stored it. */
  trialId: string;
  /** The trial's experiment. */
  experimentId: string;
  /** A number that is higher than those of the trial's older checkpoints. */
  serial: number;
  /** The validation's value by which it is compared; null if there was no validation, or the value is not a number. */
  score: number | null;
  /** The metadata that the trial stored with it. */
  metadata: Metadata;
  /** Whether it is the state of a training, from which fit continues. Others are those that the program made. */
  isTraining: boolean;
}

const scoreOf = (score: number | null | undefined) => (Number.isNaN(score) ? null : (score ?? null));

/**
 * A new checkpoint: a folder to write into. It appears in the storage when it is complete, by `commit`. Without that, the
 * folder is removed when the context is closed.
 */
export class NewCheckpoint {
  readonly #handle: TrialContext;
  /** The folder, until commit. */
  readonly path: string;
  /** For the module only. */
  constructor(
    handle: TrialContext,
    /** Its name in the storage. */
    readonly uuid: string,
  ) {
    this.#handle = handle;
    this.path = module.experiment_pathOf(handle, uuid);
  }
  /** Completes the checkpoint, with the value by which it is compared. Throws EtudeError "io". */
  commit(score?: number | null): void {
    module.experiment_commit(this.#handle, this.uuid, scoreOf(score));
  }
  /** Removes the folder, unless the checkpoint is complete. */
  discard(): void {
    module.experiment_discard(this.#handle, this.uuid);
  }
}

/**
 * The checkpoints of a trial: `context.checkpoint`. Each is a folder with a name of its own, a uuid, and a file
 * metadata.json, which describes it. They appear complete or not at all.
 */
export class CheckpointContext {
  readonly #handle: TrialContext;
  /** For the module only. */
  constructor(handle: TrialContext) {
    this.#handle = handle;
  }

  /** The folder of the checkpoints. */
  get folder(): string {
    return module.experiment_checkpointFolder(this.#handle);
  }
  /**
   * A new checkpoint, with these values beside it.
   *
   *     const made = context.checkpoint.storePath({ steps: 1000 });
   *     model.saveWeights(`${made.path}/weights.safetensors`);
   *     made.commit();
   */
  storePath(metadata: Metadata = {}): NewCheckpoint {
    return new NewCheckpoint(this.#handle, module.experiment_storePath(this.#handle, metadata));
  }
  /** The folder of a checkpoint, for reading. Throws EtudeError "value" if there is none of that uuid. */
  restorePath(uuid: string): string {
    return module.experiment_restorePath(this.#handle, uuid);
  }
  /** The description of a checkpoint. Throws EtudeError "value" if there is none of that uuid. */
  get(uuid: string): StoredCheckpoint {
    return module.experiment_get(this.#handle, uuid) as StoredCheckpoint;
  }
  /** Whether there is a checkpoint of that uuid. */
  contains(uuid: string): boolean {
    return module.experiment_contains(this.#handle, uuid);
  }
  /** Removes a checkpoint. Throws EtudeError "value" if there is none of that uuid. */
  remove(uuid: string): void {
    module.experiment_remove(this.#handle, uuid);
  }
  /** Sets the score of a checkpoint that was stored before its validation. */
  setScore(uuid: string, score: number | null): void {
    module.experiment_setScore(this.#handle, uuid, scoreOf(score));
  }
  /** The checkpoints of this trial, oldest first; with a trial's id, those of that trial, and with '' those of all. */
  list(trialId?: string): StoredCheckpoint[] {
    return module.experiment_list(this.#handle, trialId ?? null) as StoredCheckpoint[];
  }
  /**
   * Removes the checkpoints of this trial that the rules do not keep, except that of the uuid `also`, and returns their
   * uuids. Without rules those of the context. Checkpoints of other trials count for saveExperimentBest, and stay.
   */
  collect(rules?: RetentionRules, also = ''): string[] {
    return module.experiment_collect(this.#handle, rules, also);
  }
}

/** The checkpoints of all trials in a folder, those of each trial in the order of their age. */
export async function listCheckpoints(folder: string): Promise<StoredCheckpoint[]> {
  await loadExperiment();
  return module.experiment_listCheckpoints(folder) as StoredCheckpoint[];
}

/**
 * Removes the checkpoints that the rules do not keep, of all trials in a folder, and returns their uuids: for the program
 * that runs the experiment, when no trial is running.
 */
export async function collectCheckpoints(folder: string, rules: RetentionRules): Promise<string[]> {
  await loadExperiment();
  return module.experiment_collectCheckpoints(folder, rules);
}
