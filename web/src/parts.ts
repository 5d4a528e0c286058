/** The parts of the module that are loaded when they are needed. bindings/parts.mjs lists their contents. */
import { isLite } from './builds.mjs';
import { EtudeError, describe, fail, nativeError } from './error.js';

/**
 * A part of the module: 'data' has datasets, et.utils except featureSpace, the readers of files, and predictStream; 'saving' has files and
 * descriptions of models, modelCheckpoint and backupAndRestore, and the functions of et.ops that other ones compute, such as
 * stack and pad; 'formats' has the files of Keras 3, and 'tfjs' those of TensorFlow.js, and both load 'saving', too; 'keras2'
 * has the .h5 files of Keras 2, and loads 'formats', too; 'archives' reads and writes ZIP archives, such as .npz and .keras;
 * 'callbacks' has csvLogger, remoteMonitor, tensorboard, operationalMetrics and swapEmaWeights; 'preprocessing' has the layers
 * that preprocess, such as resizing and textVectorization, and featureSpace;
 * 'experiment' has trials and searches, and loads 'saving', too;
 * 'extras' has rare classes: layers of three axes such as conv3d, convLstm2d, adaptive pooling, einsumDense, ioU and
 * correlations, circle and ctc, lion, adafactor and multiOptimizer, among others, and profiler, model.explain and
 * et.ops.einsum.
 * bindings/parts.mjs in the sources lists them.
 */
export type Part = 'data' | 'saving' | 'formats' | 'tfjs' | 'keras2' | 'archives' | 'callbacks' | 'experiment' | 'preprocessing' | 'extras';
export const allParts: readonly Part[] = ['data', 'saving', 'formats', 'tfjs', 'keras2', 'archives', 'callbacks', 'experiment', 'preprocessing', 'extras'];

/** The parts that this import of the package has: of etude-ml/lite its own part "saving" alone. */
const present: readonly Part[] = isLite ? ['saving'] : allParts;

/** The part that another one calls, so that it is loaded first: `within` of bindings/parts.mjs. */
export const calledBy: Readonly<Partial<Record<Part, Part>>> = { formats: 'saving', tfjs: 'saving', keras2: 'formats', experiment: 'saving' };
/** A part after those that it calls. */
export function withCalled(part: Part): Part[] {
  const called = calledBy[part];
  return called ? [...withCalled(called), part] : [part];
}

/** The text of an error about a name that etude-ml/lite lacks; `name` is that of a class, unless `where` says enough. */
export const notInLite = (where: string, name = ''): string =>
  `[${where}] ${name && `${name} is `}not in etude-ml/lite - expected a class or a function of etude-ml/lite - import it from 'etude-ml'.`;

/** Throws EtudeError "value" unless these are names of parts. */
export function checkParts(given: unknown): readonly Part[] {
  if (!Array.isArray(given)) fail('value', 'ready', `${describe(given)} as parts - expected an array - pass some of ${present.join(', ')}.`);
  for (const part of given as unknown[])
    if (!present.includes(part as Part)) fail('value', 'ready', `the part ${describe(part)} - expected some of ${present.join(', ')} - ${isLite && allParts.includes(part as Part) ? "import from 'etude-ml', which has it" : 'check its spelling'}.`);
  return given as Part[];
}

/** Why a part does not start: an EtudeError as it is; another, of the engine, as one of kind "io". */
export function startError(part: Part, error: unknown): EtudeError {
  if (error instanceof EtudeError) return error;
  return nativeError(`[ready] the part "${part}" does not start: ${String(error)} - expected memory for it, and a file that is whole - deliver the package's file as it is.`, 'io');
}

/** The parts of one instance of the module. A build that is whole has none. */
export class Parts {
  /** The parts that are not loaded yet, each with the link that made it. */
  readonly #absent = new Map<Part, string>();
  #exports: WebAssembly.Exports = {};
  #table: WebAssembly.Table | undefined;
  #error: EtudeError | undefined;

  /**
   * `compileNow` compiles a part synchronously, where that is possible; `fail` lets C++ throw the error that `missing` gives.
   */
  constructor(
    readonly compileNow: ((part: Part) => WebAssembly.Module) | undefined,
    readonly fail: () => never,
  ) {}

  /** The module's imports, and functions in place of those of its parts. */
  imports(compiled: WebAssembly.Module, others: WebAssembly.Imports): WebAssembly.Imports {
    const imports = { ...others };
    for (const { module, name } of WebAssembly.Module.imports(compiled)) {
      const [part, link] = module.split(':') as [Part, string?];
      if (isLite && module === 'absent') (imports[module] ??= {})[name] = () => name !== 'skip' && this.#refuse(name);
      if (link === undefined) continue;
      this.#absent.set(part, link);
      (imports[module] ??= {})[name] = (...given: unknown[]) => this.#call(part, Number(name), given);
    }
    return imports;
  }
  /** Of the instance, before anything in it runs. */
  begin(exports: WebAssembly.Exports): void {
    this.#exports = exports;
    this.#table = Object.values(exports).find((each) => each instanceof WebAssembly.Table);
  }

  /** Whether the part is in a file of its own that is not loaded. */
  lacks(part: Part): boolean {
    return this.#absent.has(part);
  }
  /** Joins a part to the module, after those that it calls; a page may not do so synchronously. Throws EtudeError "io" if it is of another build. */
  async add(part: Part, compiled: WebAssembly.Module): Promise<void> {
    if (!this.lacks(part)) return; // a synchronous call has loaded it
    if (this.compileNow) return this.#addNow(part, compiled); // so that none does so meanwhile
    await WebAssembly.instantiate(compiled, this.#importsOf(part, compiled));
    this.#absent.delete(part);
  }
  #addNow(part: Part, compiled: WebAssembly.Module): void {
    new WebAssembly.Instance(compiled, this.#importsOf(part, compiled));
    this.#absent.delete(part);
  }
  #importsOf(part: Part, compiled: WebAssembly.Module): WebAssembly.Imports {
    const link = this.#absent.get(part) as string;
    if (WebAssembly.Module.imports(compiled).some(({ module }) => module !== link))
      fail('io', 'ready', `a file of the part "${part}" from another version of the package - expected the same version - serve all files of one version, and clear caches of older ones.`);
    return { [link]: this.#exports as WebAssembly.ModuleImports };
  }

  /** The error of the last call into a part that is not loaded; `where` names the call. */
  missing(where: string): EtudeError {
    if (this.#refused !== undefined) return nativeError(notInLite(where, this.#refused), 'state');
    const part = this.#last;
    const text = `the part "${part}" of the module is not loaded - expected a page to load it first - write \`await et.ready({parts: ['${part}']})\` first.`;
    const error = this.#error ?? nativeError(`[${where}] ${text}`, 'state');
    this.#lacked.set(error, part);
    return error;
  }
  #last: Part = 'data';

  /** The part that was lacking, if this is the error of such a call. */
  lackedBy(error: unknown): Part | undefined {
    return this.#lacked.get(error as EtudeError);
  }
  readonly #lacked = new WeakMap<EtudeError, Part>();

  /** The class, or "", of the last call of a function that the module lacks. */
  #refused: string | undefined;
  #refuse(name: string): void {
    this.#refused = name;
    try {
      this.fail();
    } finally {
      this.#refused = undefined;
    }
  }

  #call(part: Part, slot: number, given: unknown[]): unknown {
    if (this.lacks(part) && !this.#loaded(part)) this.fail();
    return (this.#table as WebAssembly.Table).get(slot)(...given);
  }
  /** Loads a part if that is possible at once. */
  #loaded(part: Part): boolean {
    this.#last = part;
    this.#error = undefined;
    if (!this.compileNow) return false;
    try {
      for (const each of withCalled(part)) if (this.lacks(each)) this.#addNow(each, this.compileNow(each));
      return true;
    } catch (error) {
      this.#error = startError(part, error);
      return false;
    }
  }
}
