/** What went wrong, for code that branches on it. The message is for people. */
export type ErrorKind = 'value' | 'shape' | 'dtype' | 'state' | 'data' | 'io' | 'internal';

/** The one error type of Étude. Its message reads `[where] what came - what was expected - what to do.` */
export class EtudeError extends Error {
  override readonly name = 'EtudeError';
  constructor(
    message: string,
    readonly kind: ErrorKind,
  ) {
    super(message);
  }
}

export function fail(kind: ErrorKind, where: string, text: string): never {
  throw new EtudeError(`[${where}] ${text}`, kind);
}

/** An error that C++ throws. What lies between it and the JavaScript that called is not shown. */
export function nativeError(message: string, kind: ErrorKind): EtudeError {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const error = new EtudeError(message, kind);
  Error.stackTraceLimit = limit;
  if (error.stack) error.stack = error.stack.split('\n').filter((line) => !/wasm:\/\/|wasm-function|\/etude[-a-z]*\.mjs:/.test(line)).join('\n');
  return error;
}

/** Waits for a loop. An error of Étude that comes later, when nobody is on the stack any more, still leads to the caller. */
export async function led<T>(loop: () => Promise<T>): Promise<T> {
  const caller = new Error().stack?.split('\n').slice(1) ?? [];
  try {
    return await loop();
  } catch (error) {
    if (error instanceof EtudeError && error.stack && !error.stack.includes(caller.at(-1) ?? '')) error.stack += `\n${caller.join('\n')}`;
    throw error;
  }
}

/** What a function threw that C++ called: a JavaScript exception must not unwind C++ frames. */
export class Thrown {
  constructor(readonly error: unknown) {}
}

export function attempt<A extends unknown[], R>(work: (...given: A) => R, ...given: A): R | Thrown {
  try {
    return work(...given);
  } catch (error) {
    return new Thrown(error);
  }
}

/** A short text for messages. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === 'function') return `a function${value.name && ` "${value.name}"`}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const name = (value.constructor as { name?: string } | undefined)?.name ?? 'object';
  return name === 'Object' ? `an object with ${Object.keys(value).join(', ') || 'nothing'}` : `a ${name}`;
}
