/** Requests to end a trial. */
import { EtudeError, describe, fail } from './error.js';
import type { TrialContext } from './etude.mjs';
import { host, module } from './module.js';
import { inNode } from './node.js';

/** The status with which the program of a preempted trial exits: 128 + SIGTERM. */
export const preemptedExitCode = 143;

/**
 * Thrown by `context.fit` and `context.batchProcess` when the trial was asked to end and its checkpoint is stored. The
 * program should end then: `trialMain` exits with `preemptedExitCode`.
 */
export class Preempted extends Error {
  override readonly name = 'Preempted';
}
host['preempted'] = (message: string) => new Preempted(message);

/**
 * Thrown by a trial whose hyperparameters cannot be used, such as a combination for which no model exists. A search then
 * does not start it again.
 */
export class InvalidHP extends EtudeError {
  constructor(message: string) {
    super(message, 'value');
  }
}

/** How a trial is preempted. In Node.js also by SIGTERM, and in a worker by the search that has started it. */
export interface PreemptOptions {
  /** Its abort is a request. */
  signal?: AbortSignal | undefined;
  /** Whether there is a request while the page is hidden: the browser may discard such a page. Default: false. */
  whenHidden?: boolean | undefined;
  /** A file whose existence is a request. */
  file?: string | undefined;
  /** A function that returns whether there is a request. It is called after each step. */
  requested?: (() => boolean) | undefined;
}

/** The requests of one trial. */
export class Requests {
  /** When the first SIGTERM came, by `performance.now()`. */
  #terminated: number | undefined;
  #taken = false;
  #close = () => {};

  constructor(
    readonly options: PreemptOptions,
    readonly asked: () => boolean,
  ) {
    const { signal, whenHidden, requested } = options;
    if (signal !== undefined && !(signal instanceof AbortSignal)) fail('value', 'experiment.init', `preempt.signal = ${describe(signal)} - expected an AbortSignal - pass that of an AbortController.`);
    if (requested !== undefined && typeof requested !== 'function') fail('value', 'experiment.init', `preempt.requested = ${describe(requested)} - expected a function - pass one that returns whether the trial should end.`);
    if (whenHidden && typeof document === 'undefined') fail('value', 'experiment.init', 'preempt.whenHidden outside of a page - expected a page, not a worker or Node.js - pass a signal.');
    if (inNode) this.#watch();
  }

  /** Whether the trial should end. From then on, its program handles a SIGTERM. */
  readonly requested = (): boolean => {
    const { signal, whenHidden, requested } = this.options;
    const ends = this.#terminated !== undefined || this.asked() || signal?.aborted === true || (whenHidden === true && document.visibilityState === 'hidden') || requested?.() === true;
    this.#taken ||= ends;
    return ends;
  };

  close(): void {
    this.#close();
    this.#close = () => {};
  }

  /**
   * A first SIGTERM is a request, and one that comes a second or more later ends the process. Until then it is the same
   * request: a signal to a group of processes also comes from a launcher that passes it on. One that was not taken ends
   * the process after the trial.
   */
  #watch(): void {
    const terminate = () => {
      this.#terminated ??= performance.now();
      if (performance.now() - this.#terminated >= 1000) process.exit(preemptedExitCode);
    };
    process.on('SIGTERM', terminate);
    this.#close = () => {
      process.off('SIGTERM', terminate);
      if (this.#terminated !== undefined && !this.#taken) process.kill(process.pid, 'SIGTERM');
    };
  }
}

/** Requests to end the trial early: `context.preempt`. For custom loops; `fit` looks itself. */
export class PreemptContext {
  readonly #handle: TrialContext;
  /** For the module only. */
  constructor(handle: TrialContext) {
    this.#handle = handle;
  }

  /** Whether the trial should end now. */
  shouldPreempt(): boolean {
    return module.experiment_shouldPreempt(this.#handle);
  }
  /** Whether it was asked to end. */
  requested(): boolean {
    return module.experiment_requested(this.#handle);
  }
  /** Reports that the trial ends because of the request. */
  acknowledge(): void {
    module.experiment_acknowledge(this.#handle);
  }
}
