/** The WebAssembly module: loaded on first use in Node.js, by `await et.ready()` in a page. */
import { checkApplied } from './apply.js';
import { asBatch, itemsOf } from './batch.js';
import { builds, isLite } from './builds.mjs';
import { assign, callHook, changedLogs, restoreState, stateOf } from './callback.js';
import { EtudeError, checkOptions, describe, factoryNames, fail, isRetired, isThrown, nativeError, withAllNames } from './error.js';
import type { MainModule, PreprocessingLayer, SymbolicTensor } from './etude.mjs';
import { asFile, type Files } from './files.js';
import { asData } from './kinds.js';
import { Life } from './life.js';
import { compile, compileNow, isOneFile, isRemote, start, startNow, type Configuration } from './load.js';
import { flatten, flattenData, flattenMetrics, pack } from './nested.js';
import { post } from './network.js';
import { inNode, nodeFs, nodeParts } from './node.js';
import { textOfCall } from './op_text.js';
import { Parts, calledBy, checkParts, startError, withCalled, type Part } from './parts.js';
import { isTerminal, write } from './stdout.js';
import { systemFiles } from './system_files.js';
import { Tensor, copyOf, tensor } from './tensor.js';
import { nextTurn } from './turn.js';
import { Value, refuseNumber } from './value.js';
import { choose, type Variant } from './variant.js';

/** The functions and classes that bindings/ uses by these names; each life adds its own. */
export const host: Record<string, unknown> = {
  Tensor,
  Value,
  asBatch,
  asData,
  asFile,
  assign,
  callHook,
  changedLogs,
  checkComplete(object: { checkComplete?: () => void }) {
    if (!object.checkComplete) throw nativeError('[compile] an object with a member "handle" - expected a name, an object of the package, or a dictionary of outputs - rename an output of that name.', 'value');
    object.checkComplete();
  },
  copyOf,
  describe,
  flatten: (value: unknown) => flatten(value),
  flattenData,
  flattenMetrics,
  isTerminal,
  isThrown,
  itemsOf,
  nativeError: (message: string, kind: Parameters<typeof nativeError>[1]) => nativeError(withAllNames(message.replace(/^\[(Dataset\.)?[a-z_.0-9]+/, place)), kind),
  nextTurn,
  outcome: (promise: Promise<unknown>) => outcome(promise),
  pack,
  restoreState,
  stateOf,
  tensor: (value: Parameters<typeof tensor>[0]) => tensor(value),
  textOfCall: (given: unknown[]) => textOfCall(given, module.SymbolicTensor as unknown as abstract new () => SymbolicTensor),
  write,
};

/** The names that differ between web/ and bindings/. */
const ofWeb = /^(Dataset\..*|checkTrace|loadModel|modelFromJson)$/;
/** The place of an error, in JavaScript's names; other names are the user's own. */
function place(text: string): string {
  const name = text.slice(1).replace(/_task$/, '').replace(/_+(\w)/g, (_, letter: string) => letter.toUpperCase());
  const owners = [module, (host['Model'] as { prototype: object }).prototype];
  const called = owners.some((owner) => name.replace('.', '_') in owner || `model_${name}` in owner) || ofWeb.test(name);
  return called ? `[${name}` : text;
}

/** Calls before the module is loaded load it, if possible. */
const unloaded = new Proxy({} as MainModule, {
  get(_, name: keyof MainModule) {
    if (!nodeParts) fail('state', 'et', 'the WebAssembly module is not loaded - expected a page to await it first - write `await et.ready()` before all other calls.');
    loadNow();
    return module[name];
  },
});
export let module: MainModule = unloaded;
/** The loaded build; undefined before. */
export let variant: Variant | undefined;

let configuration: Configuration = {};
let life: Life | undefined;
let loading: Promise<void> | undefined;
let parts: Parts | undefined;
/** The parts that ready() was called with; et.reload() loads them again. */
const wanted = new Set<Part>();
const fetching = new Map<Part, Promise<void>>();
/** Parts that are downloaded while the module is. */
const early = new Map<Part, Promise<WebAssembly.Module>>();
let files: Files | undefined;

/**
 * Sets the module's address and the build to load. Call it before the module is loaded; or, after the module has stopped,
 * before et.reload().
 */
export function configure(given: Configuration): void {
  const { wasm, parts, build, threads } = checkOptions(given, 'configure', ['wasm', 'parts', 'build', 'threads']);
  if (loading || (life && !life.host.over()))
    fail('state', 'configure', 'the module is loaded already - expected a call before that - call configure() before et.ready() and before all other calls.');
  if (build !== undefined) choose(build, true);
  if (parts !== undefined) checkParts(Object.keys(parts));
  configuration = { wasm, parts, build, threads };
}

/**
 * Loads the module, and those of its parts that `parts` names, unless they are loaded. A page awaits this before all
 * other calls; Node.js need not, and loads a part when it is first used. Functions that return a promise load their part
 * themselves.
 */
export async function ready(options?: ReadyOptions): Promise<void> {
  const { parts: given } = checkOptions(options, 'ready', ['parts']);
  const asked = [...new Set(checkParts(given ?? []).flatMap(withCalled))];
  for (const part of asked) wanted.add(part);
  if (module === unloaded) {
    if (!nodeParts) for (const part of asked) download(part);
    try {
      await (loading ??= load().finally(() => (loading = undefined)));
    } catch (error) {
      early.clear();
      throw error;
    }
  }
  await Promise.all(asked.map(fetched));
}
/** Options of `ready`. */
export interface ReadyOptions {
  /** The parts to load besides what is always loaded. */
  parts?: readonly Part[];
}

/** Begins to download a part of the build that is chosen. An error is thrown by `fetched`. */
function download(part: Part): void {
  const build = chosen();
  if (early.has(part) || !builds[build]?.parts[part]) return;
  const compiled = compile({ variant: build, part }, configuration);
  compiled.catch(() => {});
  early.set(part, compiled);
}
/** Loads a part once, for any number of requests, and before it the part that it calls. */
function fetched(part: Part): Promise<void> {
  const of = parts as Parts, piece = { variant: variant as Variant, part };
  if (!of.lacks(part)) return Promise.resolve();
  const called = calledBy[part], made = () => Promise.all([early.get(part) ?? compile(piece, configuration), called ? fetched(called) : undefined]);
  const running = fetching.get(part) ?? made().then(([compiled]) => of.add(part, compiled));
  fetching.set(part, running);
  return running.catch((error) => Promise.reject(startError(part, error))).finally(() => (early.delete(part), fetching.delete(part)));
}

/** Runs `work` when the part "saving" is loaded, and again when it lacked another part, which is loaded first. */
export async function withSaving<T>(work: () => T | Promise<T>): Promise<T> {
  await ready({ parts: ['saving'] });
  for (;;) {
    const of = parts as Parts;
    try {
      return await work();
    } catch (error) {
      const part = of.lackedBy(error);
      if (!part) throw error;
      await ready({ parts: [part] });
    }
  }
}

/**
 * Loads a new module in place of one that stopped. Existing objects, such as models and layers, become invalid. Seeds,
 * policies and numbers of threads have their defaults. Files stay open.
 */
export async function reload(): Promise<void> {
  await loading?.catch(() => {});
  await Promise.allSettled(fetching.values());
  life?.end(() => new EtudeError('[WebAssembly] something made before et.reload() - expected it to be made after - make or load it again.', 'state'));
  module = unloaded;
  await ready({ parts: [...wanted] });
}

/** The module's files; undefined in a page before openFiles. */
export const hostFiles = (): Files | undefined => files;

/** Sets the module's files, also for later modules. */
export function useFiles(given: Files): void {
  files = given;
  module.setHostFiles(given);
}

function chosen(): Variant {
  const { wasm, build, threads } = configuration;
  return choose(build ?? (isOneFile(wasm) ? 'simd' : undefined), threads !== 1);
}
function newLife(): Life {
  const made = new Life();
  Object.assign(made.host, host);
  return made;
}

/** The parts of a module that starts; in Node.js they are loaded when they are first used. */
function newParts(begun: Life, variant: Variant): Parts {
  const now = nodeParts && !isRemote(configuration.wasm) ? (part: Part) => compileNow({ variant, part }, configuration) : undefined;
  const made = new Parts(now, () => (begun.module as unknown as { _etude_part_missing(): never })._etude_part_missing());
  Object.assign(begun.host, { missingPart: (where: string) => made.missing(place(`[${where || 'et'}`).slice(1)) });
  return made;
}

function loadNow(): void {
  const begun = newLife();
  const build = chosen(), ofBuild = newParts(begun, build);
  begin(begun, build, ofBuild, startNow(begun, build, compileNow({ variant: build }, configuration), ofBuild, configuration));
}
async function load(): Promise<void> {
  if (nodeParts && !isRemote(configuration.wasm)) return loadNow();
  const begun = newLife();
  const build = chosen(), ofBuild = newParts(begun, build);
  const compiled = await compile({ variant: build }, configuration);
  if (inNode && !nodeParts) files ??= systemFiles(await nodeFs());
  begin(begun, build, ofBuild, await start(begun, build, compiled, ofBuild, configuration));
}

/** In a page, lets `adapt` load its part, as other functions that return a promise do. That of layers of strings is in theirs. */
function loadForAdapt(prototype: PreprocessingLayer, parts: Parts): void {
  const { adapt } = prototype;
  prototype.adapt = function (data) {
    if (parts.compileNow || !parts.lacks('data')) return adapt.call(this, data);
    return withCaller(() => ready({ parts: ['data'] }).then(() => adapt.call(this, data)));
  };
}

function begin(begun: Life, build: Variant, ofBuild: Parts, started: MainModule): void {
  life = begun;
  begun.module = module = started;
  variant = build;
  parts = ofBuild;
  checkApplied((module.Layer as unknown as { prototype: Parameters<typeof checkApplied>[0] }).prototype);
  for (const name of ['SymbolicTensor', 'Variable'] as const) Object.assign((module[name] as unknown as { prototype: object }).prototype, { [Symbol.toPrimitive]: () => refuseNumber(name) });
  if (!isLite) {
    module.setHostTransport(post);
    loadForAdapt((module.PreprocessingLayer as unknown as { prototype: PreprocessingLayer }).prototype, ofBuild);
  }
  if (nodeParts) files ??= systemFiles(nodeParts.fs);
  if (files) module.setHostFiles(files);
  if (configuration.threads !== undefined) module.setNumThreads(configuration.threads);
}

/** The result of the module's promise, or the error with which the module stopped. */
export const outcome = <T>(promise: Promise<T>): Promise<T> => (life as Life).outcome(promise);

/** Frees an object of the module, and what it holds, such as open files, before it is garbage-collected. */
export function free(handle: object): void {
  if (!isRetired(handle)) (handle as { delete(): void }).delete();
}

/** Awaits a loop; rejects if the module stops meanwhile. */
export const led = <T>(loop: () => Promise<T>): Promise<T> => withCaller(() => outcome(loop()));

/** Awaits `work`. A later error of Étude still has the caller in its stack. */
export async function withCaller<T>(work: () => Promise<T>): Promise<T> {
  const caller = new Error().stack?.split('\n').slice(1) ?? [];
  try {
    return await work();
  } catch (error) {
    if (error instanceof EtudeError && error.stack && !error.stack.includes(caller.at(-1) ?? '')) error.stack += `\n${caller.join('\n')}`;
    throw error;
  }
}

type Names = keyof MainModule;
/** A function of the module, for names that are imported before the module is loaded. */
export const late = <Name extends Names>(name: Name): MainModule[Name] =>
  ((...given: unknown[]) => (module[name] as (...given: unknown[]) => unknown)(...given)) as MainModule[Name];

/** The functions of one family, such as et.ops: all functions of the module with this prefix. */
export type Family<Name extends string> = {
  readonly [Key in Names as Key extends `${Name}_${infer Rest}` ? Rest : never]: MainModule[Key];
};

/** An argument of an op in a functional model: SymbolicTensors, and Tensors as constants, in place of Values. */
type OfSymbols<T> = T extends Value ? SymbolicTensor | Tensor : T extends readonly (infer Item)[] ? OfSymbols<Exclude<Item, null>>[] : T;
type SymbolsOf<R> = R extends Value ? SymbolicTensor : R extends (Value | null)[] ? SymbolicTensor[] : R;
/** The functions of a family, each also of SymbolicTensors: it adds an op to a functional model. */
export type OpFamily<Name extends string> = {
  readonly [Key in keyof Family<Name>]: Family<Name>[Key] extends (...given: infer Given) => infer R
    ? { (...given: Given): R; (...given: { [I in keyof Given]: OfSymbols<Given[I]> }): SymbolsOf<R> }
    : never;
};

const functionsOf = (name: string) =>
  Object.entries(module).flatMap(([key, member]) => {
    const own = key.slice(name.length + 1);
    return key.startsWith(`${name}_`) ? [[own, strict(`${name}.${own}`, member as Bound)]] : [];
  });

/** A function of the module. It has `argCount` arguments, and ignores further ones. */
type Bound = ((...given: unknown[]) => unknown) & { readonly argCount: number };
/** The same function, for which further arguments are an error, unless Array.map passes them. */
const strict = (name: string, member: Bound) => (...given: unknown[]) => {
  const surplus = given.slice(member.argCount).some((each) => each !== undefined);
  const isMapped = given.length === 3 && Array.isArray(given[2]) && typeof given[1] === 'number' && given[2][given[1]] === given[0];
  if (surplus && !isMapped) throw nativeError(`[${name}] ${given.length} arguments - expected at most ${member.argCount} - remove the others.`, 'value');
  return member(...(isMapped ? given.slice(0, 1) : given));
};
const factoriesOf = (name: string) =>
  (module.classes(name) as string[]).map((key) => {
    const make = (options?: unknown) => module.make(name, key, options);
    factoryNames.set(make, `et.${name}.${key} without a call`);
    return [key, make];
  });

/** An object whose members are looked up on use; `others` are additional members, and so are `hidden` ones, which Object.keys omits. */
const lookedUp = <Members extends object>(entries: () => unknown[][], others: object = {}, hidden: object = {}) => {
  let of: MainModule | undefined;
  const fill = (members: object) => {
    void module.memory; // loads the module, or throws that it is not loaded
    if (of === module) return;
    for (const [key, value] of [...entries(), ...Object.entries(others), ...Object.entries(hidden)])
      Object.defineProperty(members, key as string, { value, enumerable: !(key as string in hidden), configurable: true });
    of = module;
  };
  const filled = <Given extends unknown[], R>(look: (members: object, ...given: Given) => R) => (members: object, ...given: Given) => {
    fill(members);
    return look(members, ...given);
  };
  const get = filled<[PropertyKey], unknown>((members, key) => (members as Record<PropertyKey, unknown>)[key]);
  return new Proxy({}, {
    get,
    has: filled(Reflect.has),
    ownKeys: filled(Reflect.ownKeys),
    getOwnPropertyDescriptor: filled(Reflect.getOwnPropertyDescriptor),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  }) as Readonly<Members>;
};

export const family = <Name extends string>(name: Name, others?: object) => lookedUp<Family<Name>>(() => functionsOf(name), others);
export const opFamily = <Name extends string>(name: Name) => family(name) as unknown as OpFamily<Name>;
/** The functions that make objects of the classes of a family, such as et.layers. */
export const factories = <Members extends object>(name: string, others?: object, hidden?: object) => lookedUp<Members>(() => factoriesOf(name), others, hidden);
