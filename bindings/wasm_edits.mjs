// Changes of WebAssembly files: names, and places of the table.
import { encode, encodeName, encodeSigned, readModule, sectionOf } from './wasm_file.mjs';

/** The module whose only custom section names functions: [index, name] each, by index. */
function withNames(bytes, { sections }, functions) {
  const names = [...encode(functions.length), ...functions.flatMap(([index, name]) => [...encode(index), ...encodeName(name)])];
  const body = [...encodeName('name'), 1, ...encode(names.length), ...names];
  return Buffer.concat([bytes.subarray(0, 8), ...sections.filter(({ id }) => id !== 0).map(({ whole, end }) => bytes.subarray(whole, end)), sectionOf(0, body)]);
}

/** The module with each function named after its index, for wasm-split. */
export const numbered = (bytes, module) => withNames(bytes, module, module.functions.map(({ index }) => [index, `f${index}`]));

/**
 * The module with its functions named in the order in which it compresses best, for the pass that sorts them by name.
 * Functions of one type and of similar code are together. The imports with the most callers are first: small indices have
 * fewer bytes.
 */
export function namedInOrder(bytes) {
  const module = readModule(bytes), imports = module.imports.filter(({ kind }) => kind === 0).map((_, index) => ({ index, callers: 0 }));
  for (const { calls } of module.functions) for (const index of calls) if (index < imports.length) ++imports[index].callers;
  imports.sort((a, b) => b.callers - a.callers || a.index - b.index);
  const functions = module.functions.toSorted((a, b) => a.type - b.type || Buffer.compare(a.code, b.code) || a.index - b.index);
  const order = [...imports, ...functions].map(({ index }, place) => [index, String(place).padStart(6, '0')]);
  return withNames(bytes, module, order.sort(([a], [b]) => a - b));
}

/**
 * The core, whose table no longer imports functions that are no entry points: nothing calls them before their part is loaded.
 * Their slots in the table get the function that reports a missing part.
 */
export function entryPointsOnly(bytes, parts, isEntryPoint, missing) {
  const module = readModule(bytes), stand = module.functions.find(({ name }) => name === missing).index;
  const functions = module.imports.filter(({ kind }) => kind === 0);
  const inPlace = (index) => parts[functions[index]?.module] && !isEntryPoint(functions[index].module, Number(functions[index].name));
  const body = module.elements.flatMap(({ offset, functions }) => [0, 0x41, ...encodeSigned(offset), 0x0b, ...encode(functions.length), ...functions.flatMap((index) => encode(inPlace(index) ? stand : index))]);
  return Buffer.concat([bytes.subarray(0, 8), ...module.sections.map(({ id, whole, end }) => (id === 9 ? sectionOf(9, [...encode(module.elements.length), ...body]) : bytes.subarray(whole, end)))]);
}

/** The import of a table without its maximum: parts that are divided later add places to the core's table. */
function ofAnySize([kind, type, , ...limits]) {
  return [kind, type, 0, ...limits.slice(0, limits.findIndex((byte) => byte < 0x80) + 1)];
}

/** Exports, sorted by kind and index: indices that grow by one compress well. */
export const byIndex = (exports) => exports.toSorted((a, b) => a.kind - b.kind || a.index - b.index);

/** The module without custom sections, and with other names of imports and exports; it loses exports without a new name. */
export function renamed(bytes, rename) {
  const module = readModule(bytes), bodies = { 2: module.imports, 7: byIndex(module.exports) };
  const pieces = module.sections.filter(({ id }) => id !== 0).map(({ id, whole, end }) => {
    if (!bodies[id]) return bytes.subarray(whole, end);
    const named = bodies[id].map((each) => [each, rename(each)]).filter(([, { name }]) => name !== undefined);
    return sectionOf(id, [...encode(named.length), ...named.flatMap(([each, { module, name }]) =>
      [...(module === undefined ? [] : encodeName(module)), ...encodeName(name), ...(id === 2 && each.kind === 1 ? ofAnySize(each.rest) : each.rest)])]);
  });
  return Buffer.concat([bytes.subarray(0, 8), ...pieces]);
}
