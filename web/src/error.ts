/** The kind of an error, for code that branches on it. The message is for people. */
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

/** An error that C++ throws. Stack frames between it and the JavaScript caller are hidden. */
export function nativeError(message: string, kind: ErrorKind): EtudeError {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const error = new EtudeError(message, kind);
  Error.stackTraceLimit = limit;
  if (error.stack) error.stack = error.stack.split('\n').filter((line) => !/wasm:\/\/|wasm-function|\/etude[-a-z]*\.mjs:|enterModule/.test(line)).join('\n');
  return error;
}

const allThrown = new WeakSet<object>();
/** The exception of a function that C++ called: a JavaScript exception must not unwind C++ frames. */
export class Thrown {
  readonly error: unknown;
  constructor(error: unknown) {
    // V8 traps when WebAssembly rethrows null.
    this.error = error ?? new EtudeError(`[throw] ${error} - expected an error - throw an Error.`, 'value');
    allThrown.add(this);
  }
}
/** Unlike instanceof, it runs no code of a user's Proxy. */
export const isThrown = (value: unknown): value is Thrown => allThrown.has(value as object);

/** Classes of a module that ended: their objects are distinguished from those of the current module. */
const retired = new WeakSet<object>();
export const retire = (member: object): void => void retired.add(member);
/** Whether it is an object of a module that ended. */
export const isRetired = (object: object): boolean => retired.has(object.constructor);

/**
 * The options; none for undefined and null. Throws EtudeError "value" unless they are an object, and, if there are `names`, for
 * options of other names.
 */
export function checkOptions<Options extends object>(given: Options | null | undefined, where: string, names?: readonly string[]): Options {
  const options = given ?? ({} as Options);
  if (typeof options !== 'object' || Array.isArray(options)) fail('value', where, `${describe(options)} - expected an object of options - pass one, or nothing.`);
  for (const name of names ? Object.keys(options) : [])
    if (!names?.includes(name)) fail('value', where, `unknown option "${name}" - expected some of: ${names?.join(', ')} - check its spelling.`);
  return options;
}

/** Options that bindings/ does not read, by their functions, for its errors. */
const sampleWeight = 'sampleWeight', onProgress = 'onProgress';
const others: Record<string, string> = {
  fit: sampleWeight, evaluate: sampleWeight, trainOnBatch: sampleWeight, testOnBatch: sampleWeight,
  'model.save': onProgress, 'model.saveWeights': onProgress, 'model.loadWeights': onProgress, 'model.load': `customObjects, ${onProgress}`,
  summary: 'printFn', 'utils.imageDatasetFromDirectory': 'decode', 'utils.loadImg': 'decode',
};
/** The error of bindings/ for an unknown option, with the names of all. */
export const withAllNames = (message: string): string =>
  message.replace(/^\[([\w.]+)\] unknown option "[^"]*" - expected some of: /, (text, where: string) => (others[where] ? `${text}${others[where]}, ` : text));

/** The functions that make objects of classes, such as et.losses.huber, and their names. */
export const factoryNames = new WeakMap<object, string>();
export const isClass = (value: unknown): value is { name: string } => typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

/** A short text for messages. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === 'function') return factoryNames.get(value) ?? `${isClass(value) ? 'the class' : 'a function'}${value.name && ` "${value.name}"`}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const name = (value.constructor as { name?: string } | undefined)?.name || (value as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] || 'object';
  if (name === 'Object') return `an object with ${Object.keys(value).join(', ') || 'nothing'}`;
  return `a ${name}${isRetired(value) ? ' made before et.reload()' : ''}`;
}
