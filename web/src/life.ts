/** One instance of the WebAssembly module, from its start to its end: a trap, or et.reload(). */
import { makeLogs } from './callback.js';
import { EtudeError, Thrown, retire } from './error.js';
import type { MainModule } from './etude.mjs';
import type { Arrival } from './files.js';
import type { Tensor } from './tensor.js';

/** The errors after which WebAssembly cannot continue; destructors of C++ do not run then. */
const isTrap = (error: unknown): error is Error =>
  error instanceof WebAssembly.RuntimeError || (error instanceof RangeError && /call stack/i.test(error.message)) || (error as Error | undefined)?.name === 'InternalError';

type Entry = (...given: unknown[]) => unknown;

export class Life {
  /** Set after the start. */
  module!: MainModule;
  #ended: (() => EtudeError) | undefined;
  /** The exception of the last entry, until it is handled: if the stack is exhausted, handling has to wait. */
  #thrown: unknown;
  /** Errors of users' functions: C++ passes them on unchanged. */
  readonly #users = new WeakSet<object>();
  readonly #waiting = new Set<(error: unknown) => void>();

  /** The functions that bindings/ calls; web/src/module.ts adds those that are the same for all lives. */
  readonly host = {
    attempt: <A extends unknown[], R>(work: (...given: A) => R, ...given: A): R | Thrown => {
      try {
        return work(...given);
      } catch (error) {
        if (this.#over()) throw error; // no C++ frame continues
        if (typeof error === 'object' && error !== null) this.#users.add(error);
        return new Thrown(error);
      }
    },
    /** Wraps a function of the module. An exception leaves the frame of that function on the module's stack; it is removed here. */
    enter: (entry: Entry, stackSave: () => number, stackRestore: (stack: number) => void): Entry =>
      function enterModule(this: Life, ...given: unknown[]) {
        if (this.#over()) throw (this.#ended as () => EtudeError)();
        const stack = stackSave();
        try {
          return entry(...given);
        } catch (error) {
          this.#thrown = error;
          if (this.#over()) throw (this.#ended as () => EtudeError)();
          stackRestore(stack);
          throw error;
        }
      }.bind(this),
    over: () => this.#over(),
    makeLogs: makeLogs(
      (id, index) => this.module.readLog(id, index),
      (id) => this.module.readOutputs(id) as Tensor | Tensor[],
    ),
    whenSettled: (promise: Arrival, id: number) => {
      const { within = (work) => work() } = promise;
      const settle = (fulfilled: boolean) => (value: unknown) => {
        try {
          if (!this.#over()) within(() => this.module.settle(id, fulfilled, value));
        } catch (error) {
          // After a trap the waiting callers were rejected already. Another exception that unwound C++ stopped a loop. It is
          // not known whose, so all callers are rejected.
          if (!this.#over() && !this.#reject(() => error)) throw error;
        }
      };
      promise.then(settle(true), settle(false));
    },
  };

  /** The result of the promise, or the error with which the module ended before. */
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

  /** Refuses further entries, and ends the threads. Errors about its objects have this reason. */
  end(why: () => EtudeError): void {
    this.#ended = why;
    const { PThread, ...members } = this.module as unknown as { PThread?: { terminateAllThreads(): void } };
    PThread?.terminateAllThreads();
    for (const member of Object.values(members)) if (typeof member === 'function') retire(member);
    this.#reject(why);
  }

  /** Rejects the promises of all waiting callers. Returns whether there were any. */
  #reject(why: () => unknown): boolean {
    const some = this.#waiting.size > 0;
    for (const reject of this.#waiting) reject(why());
    this.#waiting.clear();
    return some;
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
      const error = new EtudeError(`[WebAssembly] the module stopped (${what}) and can no longer be used - expected a new one - await et.reload(), then create or load your models again.`, 'internal');
      error.cause = cause;
      return error;
    });
  }
}
