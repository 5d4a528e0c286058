// Which part each function and each piece of data of a linked module belongs to: the one whose entry points alone reach it.
import { entryPointsAmong, isNamed, plain } from './entry_points.mjs';
import { reach } from './uses.mjs';

/** Where something belongs that two parts use: to the nearest that is loaded before both. */
function sharing(parts) {
  const above = (part) => (part === 'core' ? [part] : [part, ...above(parts[part].within ?? 'core')]);
  return (one, other) => above(one).find((part) => above(other).includes(part));
}

/** The part of each symbol, and of each text, that only the part's entry points reach. */
function partition(parts, { uses, roots, textOf }, entryPoints) {
  const sharedBy = sharing(parts), core = reach(uses, roots, (name) => entryPoints.has(name));
  const partOf = new Map(), assign = (name, part) => partOf.set(name, partOf.has(name) ? sharedBy(partOf.get(name), part) : part);
  for (const part of Object.keys(parts)) {
    const begin = [...entryPoints].filter(([, of]) => of === part).map(([name]) => name);
    for (const name of reach(uses, begin, (name) => core.has(name) || (entryPoints.has(name) && entryPoints.get(name) !== part))) assign(name, part);
  }
  // A module's names do not tell local functions of the same name apart, nor does it repeat a text.
  const result = new Map(), texts = new Map(), merge = (all, key, part) => all.set(key, all.has(key) ? sharedBy(all.get(key), part) : part);
  for (const name of uses.keys()) {
    const part = partOf.get(name) ?? 'core';
    merge(result, plain(name), part);
    for (const text of textOf.get(name)?.split('\0') ?? []) merge(texts, text, part);
  }
  return { partOf: result, texts };
}

/**
 * The part of each function of the module. Only the objects say which functions are called by address. The optimizer merges
 * equal functions, so a function that the table names twice stays in the core. Direct calls are read from the module itself.
 * `direct` has the entry points that are called directly: the search for the core's functions stops at them, too.
 */
function choose(parts, module, partOf, taken, direct) {
  const calls = new Map(module.functions.map(({ index, calls }) => [index, calls])), sharedBy = sharing(parts);
  const roots = new Set(module.exports.filter(({ kind }) => kind === 0).map(({ index }) => index)), begin = new Map(Object.keys(parts).map((part) => [part, []]));
  const stops = new Set();
  for (const { index, name, slots } of module.functions) {
    if (roots.has(index)) continue;
    if (slots === 0) {
      if (!direct.has(name)) continue;
      stops.add(index);
      begin.get(direct.get(name)).push(index);
      continue;
    }
    const first = slots === 1 && taken.has(name) && begin.get(partOf.get(name));
    if (first) first.push(index);
    else roots.add(index);
  }
  for (;;) {
    const core = reach(calls, roots, (index) => stops.has(index) && !roots.has(index)), chosen = new Map(), size = roots.size;
    for (const [part, first] of begin)
      for (const index of reach(calls, first, (index) => core.has(index)))
        if (calls.has(index)) chosen.set(index, chosen.has(index) ? sharedBy(chosen.get(index), part) : part);
    for (const [index, part] of chosen) if (part === 'core') roots.add(index);
    if (roots.size === size) return chosen;
  }
}

/**
 * Divides a module: `chosen` is the part of each function by its index, `found` that of each symbol and text, `entryPoints`
 * the part of each entry point.
 */
export function divide(parts, module, objects) {
  const entryPoints = entryPointsAmong(objects.uses.keys(), parts);
  const indexOf = new Map(module.functions.map(({ index, name }) => [name, index]));
  for (;;) {
    const found = partition(parts, objects, entryPoints);
    const direct = new Map([...entryPoints].flatMap(([name, part]) => (parts[part].direct?.some((each) => isNamed(name, each)) ? [[plain(name), part]] : [])));
    const chosen = choose(parts, module, found.partOf, objects.taken, direct);
    // The optimizer may have merged an entry point with a function of the core. Then it is no entry point, and the functions
    // that it uses belong to the core.
    const merged = [...entryPoints].filter(([name, part]) => chosen.get(indexOf.get(plain(name))) !== part);
    if (merged.length === 0) return { chosen, found, entryPoints };
    for (const [name] of merged) entryPoints.delete(name);
  }
}
