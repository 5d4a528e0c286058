/** One instance of the WebAssembly module, from its start to its end: a trap, or et.reload(). */
import { makeLogs } from './callback.js';
import { EtudeError, Thrown, retire } from './error.js';
import type { MainModule } from './etude.mjs';
import type { Tensor } from './tensor.js';

/** What the engine throws where WebAssembly cannot go on; destructors of C++ do not run then. */
const isTrap = (error: unknown): error is Error =>
  error instanceof WebAssembly.RuntimeError || error instanceof RangeError || (error as Error | undefined)?.name === 'InternalError';

type Entry = (...given: unknown[]) => unknown;

export class Life {
  /** Set when it has started. */
  module!: MainModule;
  #ended: (() => EtudeError) | undefined;
  /** What the last entry threw, until it has been judged: where the stack is exhausted there may be no room for that. */
  #thrown: unknown;
  /** Errors of users' own functions: C++ hands them on as they are. */
  readonly #users = new WeakSet<object>();
  readonly #waiting = new Set<(error: EtudeError) => void>();

  /** What bindings/ calls; web/src/module.ts adds what all lives have in common. */
  readonly host = {
    attempt: <A extends unknown[], R>(work: (...given: A) => R, ...given: A): R | Thrown => {
      try {
        return work(...given);
      } catch (error) {
        if (this.#over()) throw error; // no frame of C++ goes on
        if (typeof error === 'object' && error !== null) this.#users.add(error);
        return new Thrown(error);
      }
    },
    enter: (entry: Entry): Entry =>
      function enterModule(this: Life, ...given: unknown[]) {
        if (this.#over()) throw (this.#ended as () => EtudeError)();
        try {
          return entry(...given);
        } catch (error) {
          this.#thrown = error;
          throw this.#over() ? (this.#ended as () => EtudeError)() : error;
        }
      }.bind(this),
    over: () => this.#over(),
    makeLogs: makeLogs(
      (id, index) => this.module.readLog(id, index),
      (id) => this.module.readOutputs(id) as Tensor | Tensor[],
    ),
    whenSettled: (promise: Promise<unknown>, id: number) => {
      const settle = (fulfilled: boolean) => (value: unknown) => {
        try {
          if (!this.#over()) this.module.settle(id, fulfilled, value);
        } catch (error) {
          if (!this.#over()) throw error; // else those that wait have been told
        }
      };
      promise.then(settle(true), settle(false));
    },
  };

  /** What the promise becomes, or how the module ended before. */
  outcome<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      const settled = <Given>(settle: (given: Given) => void) => (given: Given) => {
        this.#waiting.delete(reject);
        settle(given);
      };
      promise.then(settled(resolve), settled(reject));
    });
  }

  /** Lets nothing in any more, and ends the threads. What it was made of says so in errors. */
  end(why: () => EtudeError): void {
    this.#ended = why;
    const { PThread, ...members } = this.module as unknown as { PThread?: { terminateAllThreads(): void } };
    PThread?.terminateAllThreads();
    for (const member of Object.values(members)) if (typeof member === 'function') retire(member);
    for (const reject of this.#waiting) reject(why());
    this.#waiting.clear();
  }

  #over(): boolean {
    if (this.#thrown !== undefined) {
      if (isTrap(this.#thrown) && !this.#users.has(this.#thrown)) this.#broke(this.#thrown);
      this.#thrown = undefined;
    }
    return this.#ended !== undefined;
  }
  #broke(cause: Error): void {
    const what = cause instanceof WebAssembly.RuntimeError ? cause.message : `${cause.name}: ${cause.message}`;
    this.end(() => {
      const error = new EtudeError(`[WebAssembly] the module stopped (${what}) and can be used no more - expected a fresh one - await et.reload(), then make or load your models anew.`, 'internal');
      error.cause = cause;
      return error;
    });
  }
}
