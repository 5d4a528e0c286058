// The entry points of the parts of the module: the functions by which all other functions of a part are reached. parts.mjs
// lists them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A function's name without the prefix that distinguishes local functions of objects. */
export const plain = (name) => name.slice(name.indexOf(':') + 1);

/** The calls that each block of EMSCRIPTEN_BINDINGS registers, by the block's name. */
export const callsOf = new Map();
const folder = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpp')))
  for (const block of readFileSync(join(folder, file), 'utf8').split('EMSCRIPTEN_BINDINGS(').slice(1))
    callsOf.set(/^\w+/.exec(block)[0], [...block.matchAll(/\b(?:bind|method|property)<\s*"([^"(]+)/g)].map(([, call]) => call));

/** The call that a function of the bindings makes, by its mangled name: "ops.einsum"; undefined for other functions. */
function callOf(name) {
  const text = name.includes('4workERKNS0_4CallE') && /FixedStringILm\d+EEEtlA\d+_c((?:Lc\d+E)+)/.exec(name)?.[1];
  return text ? String.fromCharCode(...[...text.matchAll(/Lc(\d+)E/g)].map(([, code]) => Number(code))).split('(', 1)[0] : undefined;
}

/** The class whose objects or options a function makes, by its mangled name. */
const madeBy = (name) => /6detail11(?:make_erased|new_options)I(\w*)/.exec(name)?.[1];

/** The block of EMSCRIPTEN_BINDINGS whose calls a function registers, by its mangled name. */
const blockOf = (name) => /^_ZN5etude2jsL\d+embind_init_(\w+?)Ev$/.exec(name)?.[1];

const sized = (name) => `${name.length}${name}`;
/** Whether a mangled name is that of the function of this name, such as "load_h5" or "js::add_op", in the namespace etude or an unnamed one in it. */
export function isNamed(name, given) {
  const scopes = given.split('::').map(sized), last = scopes.pop();
  return ['', '12_GLOBAL__N_1'].some((unnamed) => ['N', 'NK'].some((begin) => plain(name).startsWith(`_Z${begin}5etude${scopes.join('')}${unnamed}${last}E`)));
}

/** The types of a mangled list "5InputENSH_8ConstantENSH_4ReadE…" of one namespace, from `at` on. */
function typesIn(name, at) {
  const types = [];
  for (let rest = name.slice(at); ; ) {
    const length = /^\d+/.exec(rest)?.[0], end = length && length.length + Number(length);
    if (!length || rest[end] !== 'E') return types;
    types.push(rest.slice(length.length, end));
    const next = /^NS\w*?_/.exec(rest.slice(end + 1))?.[0];
    if (!next) return types;
    rest = rest.slice(end + 1 + next.length);
  }
}

/**
 * The alternative of one of core's variants, Op and Instruction, that a function is for, by its mangled name: "Scan", "Gemm". std::visit
 * calls a function for each alternative, by address; and a kernel computes each elementwise op.
 */
function alternativeOf(name) {
  const kernel = /^_ZN5etude3cpu\d+wasm\w*?12_GLOBAL__N_15applyINS_2op\d+([A-Z][a-z0-9A-Z]*?)E[fi]EE/.exec(name)?.[1];
  if (kernel) return kernel;
  const number = /^_ZNSt3__216__variant_detail12__visitation6__base12__dispatcherIJLm(\d+)EEE/.exec(name)?.[1];
  if (number === undefined) return undefined;
  const lists = [...name.matchAll(/2op(?=5InputE)|11instruction(?=11ElementwiseE)/g)].map(({ 0: { length }, index }) => typesIn(name, index + length));
  return lists.reduce((longest, list) => (list.length > longest.length ? list : longest), [])[Number(number)];
}

/** Returns a function of a mangled name: the entry of a part's lists whose entry point it is; undefined for other names. */
function entryOf({ blocks = [], bindings, calls = [], classes, kept, functions, direct = [], ops = [], patterns: given = [] }) {
  const all = new Map([...bindings.flatMap((block) => (callsOf.get(block) ?? []).map((call) => [call, block])), ...calls.map((call) => [call, call])]);
  const patternsOf = (names) => names.map((each) => [each, new RegExp(`^(?:\\w*[_a-z])?${sized(each)}E`)]);
  const patterns = patternsOf(classes), ofKept = patternsOf(kept?.classes ?? []);
  return (name) => {
    const call = callOf(name), made = madeBy(name);
    if (call !== undefined) return kept && !kept.calls.includes(call) ? call : all.get(call);
    if (made !== undefined && kept) return ofKept.some(([, pattern]) => pattern.test(made)) ? undefined : made;
    if (made !== undefined) return patterns.find(([, pattern]) => pattern.test(made))?.[0];
    const block = blockOf(name);
    if (block !== undefined) return blocks.find((each) => each === block);
    const alternative = ops.length > 0 && alternativeOf(name);
    if (alternative) return ops.includes(alternative) ? alternative : undefined;
    return [...functions, ...direct].find((each) => isNamed(name, each)) ?? given.find((pattern) => pattern.test(name));
  };
}

/** The entry points among these names, each with its part. Throws an Error for an entry of the lists without an entry point. */
export function entryPointsAmong(names, parts) {
  const finders = Object.entries(parts).map(([part, lists]) => [part, entryOf(lists)]), entryPoints = new Map();
  const missing = new Set(Object.values(parts).flatMap(({ blocks = [], bindings, calls = [], classes, functions, direct = [], ops = [], patterns = [] }) => [...blocks, ...bindings, ...calls, ...classes, ...functions, ...direct, ...ops, ...patterns]));
  for (const name of names) {
    if (!/^_ZN(5etude|St3__216__variant_detail)/.test(plain(name))) continue;
    for (const [part, find] of finders) {
      const entry = find(plain(name));
      if (entry === undefined) continue;
      entryPoints.set(name, part);
      missing.delete(entry);
    }
  }
  if (missing.size > 0) throw new Error(`nothing in the module belongs to ${[...missing].join(', ')} - expected an entry point for each entry of the parts - correct bindings/parts.mjs, or lite.mjs.`);
  return entryPoints;
}

/**
 * The name in errors of a function that is left out: the class that it makes; "" for others, because the name of the call is
 * enough. "skip" is a function that may be called and does nothing: it registers calls.
 */
export function labelOf(name) {
  if (blockOf(plain(name)) !== undefined) return 'skip';
  const type = madeBy(plain(name)) ?? '', found = /(?:^|[_a-z])(\d+)(?=[A-Z])/.exec(type);
  return found ? type.slice(found.index + found[0].length).slice(0, Number(found[1])) : '';
}
