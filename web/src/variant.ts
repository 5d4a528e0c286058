/** Chooses the module's build for this engine: only that build is downloaded. */
import { builds } from './builds.mjs';
import { fail } from './error.js';
import { inNode } from './node.js';

export type Variant = 'simd' | 'simd-threads' | 'relaxed' | 'relaxed-threads';

declare global {
  /** The build to load, unless et.configure sets one; in Node.js also the environment variable of this name. */
  var ETUDE_VARIANT: string | undefined;
}

/** A function with one i8x16.relaxed_swizzle: valid if there is relaxed SIMD. */
const relaxedModule = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11,
);

/** The builds in the package, the best one last. */
const present = Object.keys(builds) as Variant[];

/** In Node.js, threads need a function of version 20.16; pages have shared memory if they are isolated. */
const canShare = () =>
  typeof SharedArrayBuffer === 'function' && (inNode ? typeof process.getBuiltinModule === 'function' : globalThis.crossOriginIsolated === true);

/** Relaxed SIMD multiplies and adds in one instruction; threads need shared memory. */
function best(threads: boolean): Variant {
  const relaxed = WebAssembly.validate(relaxedModule);
  const runs = (variant: Variant) => (threads || !variant.endsWith('threads')) && (relaxed || !variant.startsWith('relaxed'));
  return present.filter(runs).at(-1) ?? (present[0] as Variant);
}

/** The requested build, by argument or by ETUDE_VARIANT; else the best that runs here, with threads only on request. */
export function choose(asked: string | undefined, threads: boolean): Variant {
  const given = asked ?? globalThis.ETUDE_VARIANT ?? (inNode ? process.env['ETUDE_VARIANT'] : undefined);
  if (given === undefined) return best(threads && canShare());
  const found = present.find((variant) => variant === given);
  return found ?? fail('value', asked === undefined ? 'ETUDE_VARIANT' : 'configure', `"${given}" - expected one of ${present.join(', ')} - correct it, or leave it unset.`);
}
