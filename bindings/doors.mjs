// The doors of the parts of the module: the functions through which all else of a part is reached. parts.mjs lists them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parts } from './parts.mjs';

/** A function's name without what tells local functions of objects apart. */
export const plain = (name) => name.slice(name.indexOf(':') + 1);

/** The calls that each block of EMSCRIPTEN_BINDINGS registers, by the block's name. */
const callsOf = new Map();
const folder = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpp')))
  for (const block of readFileSync(join(folder, file), 'utf8').split('EMSCRIPTEN_BINDINGS(').slice(1))
    callsOf.set(/^\w+/.exec(block)[0], [...block.matchAll(/\b(?:bind|method|property)<\s*"([^"(]+)/g)].map(([, call]) => call));

/** The call that a function of the bindings makes, by its mangled name: "ops.einsum"; undefined for other functions. */
function callOf(name) {
  const text = name.includes('4workERKNS0_4CallE') && /FixedStringILm\d+EEEtlA\d+_c((?:Lc\d+E)+)/.exec(name)?.[1];
  return text ? String.fromCharCode(...[...text.matchAll(/Lc(\d+)E/g)].map(([, code]) => Number(code))).split('(', 1)[0] : undefined;
}

const sized = (name) => `${name.length}${name}`;
/** Tells of which entry of a part's lists a mangled name is a door. */
function entryOf({ bindings, calls = [], classes, functions }) {
  const all = new Map([...bindings.flatMap((block) => (callsOf.get(block) ?? []).map((call) => [call, block])), ...calls.map((call) => [call, call])]);
  const patterns = classes.map((each) => [each, new RegExp(`^(?:\\w*[_a-z])?${sized(each)}E`)]);
  return (name) => {
    const call = callOf(name), made = /6detail11(?:make_erased|new_options)I(\w*)/.exec(name)?.[1];
    if (call !== undefined) return all.get(call);
    if (made !== undefined) return patterns.find(([, pattern]) => pattern.test(made))?.[0];
    return functions.find((each) => ['_ZN5etude12_GLOBAL__N_1', '_ZN5etude'].some((scope) => name.startsWith(`${scope}${sized(each)}E`)));
  };
}

/** The doors among these names, each with its part. Throws an Error for an entry of parts.mjs without a door. */
export function doorsAmong(names) {
  const finders = Object.entries(parts).map(([part, lists]) => [part, entryOf(lists)]), doors = new Map();
  const missing = new Set(Object.values(parts).flatMap(({ bindings, calls = [], classes, functions }) => [...bindings, ...calls, ...classes, ...functions]));
  for (const name of names) {
    if (!plain(name).startsWith('_ZN5etude')) continue;
    for (const [part, find] of finders) {
      const entry = find(plain(name));
      if (entry === undefined) continue;
      doors.set(name, part);
      missing.delete(entry);
    }
  }
  if (missing.size > 0) throw new Error(`nothing in the module belongs to ${[...missing].join(', ')} - expected each entry of the parts to have a door - correct bindings/parts.mjs.`);
  return doors;
}
