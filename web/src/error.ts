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
