/** Which of the module's builds this engine gets: one is loaded, the others are not even fetched. */
import { fail } from './error.js';
import { inNode } from './node.js';
import { present } from './variants.mjs';

export type Variant = 'simd' | 'simd-threads' | 'relaxed' | 'relaxed-threads';

declare global {
  /** Set before the package is imported, this is the build that it loads; in Node.js the environment variable serves too. */
  var ETUDE_VARIANT: string | undefined;
}

/** A function of one i8x16.relaxed_swizzle: valid where there is relaxed SIMD. */
const relaxedModule = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11,
);

/** Relaxed SIMD multiplies and adds in one instruction; threads need memory that is shared, which pages have if isolated. */
function best(): Variant {
  const threads = typeof SharedArrayBuffer === 'function' && (inNode || globalThis.crossOriginIsolated === true);
  const relaxed = WebAssembly.validate(relaxedModule);
  const runs = (variant: Variant) => (threads || !variant.endsWith('threads')) && (relaxed || !variant.startsWith('relaxed'));
  return present.filter(runs).at(-1) ?? 'simd';
}

function chosen(): Variant {
  const asked = globalThis.ETUDE_VARIANT ?? (inNode ? process.env['ETUDE_VARIANT'] : undefined);
  if (asked === undefined) return best();
  const found = present.find((variant) => variant === asked);
  return found ?? fail('value', 'ETUDE_VARIANT', `"${asked}" - expected one of ${present.join(', ')} - correct it, or leave it unset.`);
}

/** The build that was loaded. */
export const variant: Variant = chosen();
