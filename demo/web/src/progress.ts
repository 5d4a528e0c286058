import type * as et from 'etude-ml';

/** Receives the progress of training. */
export interface Watcher {
  /** After every batch; `where` in epochs. */
  step(step: number, where: number): void;
  /** The means since the last point, not since the epoch's beginning as in the logs. */
  point(where: number, loss: number, accuracy: number): void;
  epoch(where: number, logs: et.Logs): void;
}

/** A callback that reports progress to a watcher, and counts samples and seconds. */
export class Progress implements et.Hooks {
  samplesSeen = 0;
  seconds = 0;
  private epoch = 0;
  private where = 0;
  private began = 0;
  private last = { steps: 0, loss: 0, accuracy: 0 };

  constructor(private readonly plan: { samples: number; batchSize: number; stepsPerPoint: number }, private readonly watcher: Watcher) {}

  get rate() {
    return this.samplesSeen / this.seconds;
  }

  onEpochBegin(epoch: number) {
    this.epoch = epoch;
    this.last = { steps: 0, loss: 0, accuracy: 0 };
    this.began = performance.now();
  }

  onTrainBatchEnd(step: number, logs: et.Logs) {
    const { samples, batchSize, stepsPerPoint } = this.plan;
    const now = performance.now();
    this.seconds += (now - this.began) / 1000;
    this.began = now;
    this.samplesSeen += Math.min(batchSize, samples - step * batchSize);

    const steps = step + 1;
    this.where = this.epoch + steps / Math.ceil(samples / batchSize);
    this.watcher.step(step, this.where);
    if (steps % stepsPerPoint) return;
    const { loss, accuracy } = logs as { loss: number; accuracy: number };
    const since = (mean: number, before: number) => (mean * steps - before * this.last.steps) / (steps - this.last.steps);
    this.watcher.point(this.where, since(loss, this.last.loss), since(accuracy, this.last.accuracy));
    this.last = { steps, loss, accuracy };
  }

  onEpochEnd(_epoch: number, logs: et.Logs) {
    this.watcher.epoch(this.where, logs);
  }
}
