/** The WebAssembly module, loaded when the package is imported, and what it calls in JavaScript. */
import { asBatch } from './batch.js';
import { assign, callHook, changedLogs, makeLogs, restoreState, stateOf } from './callback.js';
import { Thrown, attempt, describe, nativeError } from './error.js';
import type { MainModule } from './etude.mjs';
import { asFile } from './files.js';
import { asData } from './kinds.js';
import { post } from './network.js';
import { inNode, readFile, systemFiles } from './node.js';
import { isTerminal, write } from './stdout.js';
import { Tensor, tensor } from './tensor.js';
import { nextTurn } from './turn.js';
import { Value } from './value.js';
import { variant } from './variant.js';

/** What bindings/ finds by these names. */
export const host: Record<string, unknown> = {
  Tensor,
  Thrown,
  Value,
  asBatch,
  asData,
  asFile,
  assign,
  attempt,
  callHook,
  changedLogs,
  describe,
  isTerminal,
  makeLogs: makeLogs((id, index) => module.readLog(id, index)),
  nativeError,
  nextTurn,
  restoreState,
  stateOf,
  tensor: (value: Parameters<typeof tensor>[0]) => tensor(value),
  whenSettled(promise: Promise<unknown>, id: number) {
    promise.then(
      (value) => module.settle(id, true, value),
      (error: unknown) => module.settle(id, false, error),
    );
  },
  write,
};

// Spelled out, so that bundlers see them; only one is loaded.
const builds = {
  simd: () => import('./etude.mjs'),
  'simd-threads': () => import('./etude-threads.mjs'),
  relaxed: () => import('./etude-relaxed.mjs'),
  'relaxed-threads': () => import('./etude-relaxed-threads.mjs'),
};
const { default: createEtude } = await builds[variant]();
// In Node.js, where fetch knows no files, it gets its bytes.
const file = `./etude${variant === 'simd' ? '' : `-${variant.replace('simd-', '')}`}.wasm`;
const wasmBinary = inNode ? await readFile(new URL(/* @vite-ignore */ file, import.meta.url)) : undefined;
export const module: MainModule = await createEtude(wasmBinary ? { host, wasmBinary } : { host });
module.setHostTransport(post);
if (systemFiles) module.setHostFiles(systemFiles);

/** The functions of one family, et.ops or et.layers: all that the module has under that name. */
export type Family<Name extends string> = {
  readonly [Key in keyof MainModule as Key extends `${Name}_${infer Rest}` ? Rest : never]: MainModule[Key];
};
export function family<Name extends string>(name: Name): Family<Name> {
  const members = Object.entries(module)
    .filter(([key]) => key.startsWith(`${name}_`))
    .map(([key, member]) => [key.slice(name.length + 1), member]);
  return Object.freeze(Object.fromEntries(members)) as Family<Name>;
}
