// Splits a linked module: etude.wasm keeps what pages always download; each part of parts.mjs goes to a file of its own.
//
//     node split.mjs WASM_SPLIT MODULE.wasm LINK_MAP
//
// The compiler's objects say what each function uses, also by address. A part is what is reached by its doors alone.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { doorsAmong, plain } from './doors.mjs';
import { moveData } from './part_data.mjs';
import { parts } from './parts.mjs';
import { encode, encodeName, encodeSigned, readArchive, readModule, readObject, sectionOf } from './wasm_file.mjs';

/** The objects that a link map names. */
function* objectsOf(map) {
  const files = new Map();
  for (const [, file, member] of map.matchAll(/^ +\S+ +\S+ +\S+ +([^\s(][^(\n]*?)(?:\(([^()]+)\))?:\(\S+\)$/gm)) {
    if (file === '<internal>') continue;
    if (!files.has(file)) files.set(file, new Set());
    if (member) files.get(file).add(member);
  }
  for (const [file, members] of files) {
    const bytes = readFileSync(file);
    if (members.size === 0) yield bytes;
    else for (const [, member] of readArchive(bytes, members)) yield member;
  }
}

/** Everything that the roots use, directly or not, except what `stop` refuses. */
function reach(uses, roots, stop = () => false) {
  const reached = new Set(), next = [...roots];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    if (reached.has(name) || stop(name)) continue;
    reached.add(name);
    next.push(...(uses.get(name) ?? []));
  }
  return reached;
}

/** What the objects of a link map use, all together. */
function usesOf(map, exported) {
  const uses = new Map(), roots = new Set(exported), taken = new Set(), textOf = new Map();
  let count = 0;
  for (const bytes of objectsOf(map)) {
    const object = readObject(bytes, String(count++));
    for (const { name, uses: used, text } of object.nodes) {
      uses.set(name, uses.has(name) ? new Set([...uses.get(name), ...used]) : used);
      if (text !== undefined) textOf.set(name, text);
    }
    for (const name of object.start) roots.add(name);
    for (const name of object.taken) taken.add(plain(name));
  }
  moveFields(uses);
  return { uses, roots, taken, textOf, doors: doorsAmong(uses.keys()) };
}

/** Says that what makes options uses the rows of their fields, in place of the class's entry: nothing reads them before. */
function moveFields(uses) {
  for (const [name, used] of uses) {
    const type = /^_ZN5etude11class_entryI(.*)E$/.exec(name)?.[1];
    if (type === undefined) continue;
    const fields = [...used].filter((each) => each.startsWith('_ZN5etude9fields_ofI')), maker = [...used].find((each) => each.startsWith(`_ZN5etude6detail11new_optionsI${type}E`));
    if (maker === undefined) continue;
    uses.set(maker, new Set([...(uses.get(maker) ?? []), ...fields]));
    for (const each of fields) used.delete(each);
  }
}

/** A part, and those that are loaded before it, up to the core. */
const above = (part) => (part === 'core' ? [part] : [part, ...above(parts[part].within ?? 'core')]);
/** Where something belongs that two parts use: to the nearest that is loaded before both. */
const sharedBy = (one, other) => above(one).find((part) => above(other).includes(part));

/** The part of each symbol, and of each text, that only the part's doors reach. */
function partition({ uses, roots, textOf, doors }) {
  const core = reach(uses, roots, (name) => doors.has(name));
  const partOf = new Map(), assign = (name, part) => partOf.set(name, partOf.has(name) ? sharedBy(partOf.get(name), part) : part);
  for (const part of Object.keys(parts)) {
    const begin = [...doors].filter(([, of]) => of === part).map(([name]) => name);
    for (const name of reach(uses, begin, (name) => core.has(name) || (doors.has(name) && doors.get(name) !== part))) assign(name, part);
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
 * The part of each function of the module. Which functions are called by address is known of the objects' functions alone,
 * and the optimizer merges functions that are alike, so one that the table names twice stays. Direct calls are those of
 * the module itself.
 */
function choose(module, partOf, taken) {
  const calls = new Map(module.functions.map(({ index, calls }) => [index, calls]));
  const roots = new Set(module.exports.filter(({ kind }) => kind === 0).map(({ index }) => index)), begin = new Map(Object.keys(parts).map((part) => [part, []]));
  for (const { index, name, slots } of module.functions) {
    if (slots === 0 || roots.has(index)) continue;
    const first = slots === 1 && taken.has(name) && begin.get(partOf.get(name));
    if (first) first.push(index);
    else roots.add(index);
  }
  for (;;) {
    const core = reach(calls, roots), chosen = new Map(), size = roots.size;
    for (const [part, first] of begin)
      for (const index of reach(calls, first, (index) => core.has(index)))
        if (calls.has(index)) chosen.set(index, chosen.has(index) ? sharedBy(chosen.get(index), part) : part);
    for (const [index, part] of chosen) if (part === 'core') roots.add(index);
    if (roots.size === size) return chosen;
  }
}

/** The module with each function named after its index, for wasm-split. */
function numbered(bytes, { sections, functions }) {
  const names = [...encode(functions.length), ...functions.flatMap(({ index }) => [...encode(index), ...encodeName(`f${index}`)])];
  const body = [...encodeName('name'), 1, ...encode(names.length), ...names];
  return Buffer.concat([bytes.subarray(0, 8), ...sections.filter(({ id }) => id !== 0).map(({ whole, end }) => bytes.subarray(whole, end)), sectionOf(0, body)]);
}

/**
 * The core without imports in place of functions that are no doors: nothing calls those before their part is loaded.
 * Their places in the table get the function that says what is missing.
 */
function doorsOnly(bytes, slots, missing) {
  const module = readModule(bytes), stand = module.functions.find(({ name }) => name === missing).index;
  const functions = module.imports.filter(({ kind }) => kind === 0);
  const inPlace = (index) => parts[functions[index]?.module] && !slots.has(Number(functions[index].name));
  const body = module.elements.flatMap(({ offset, functions }) => [0, 0x41, ...encodeSigned(offset), 0x0b, ...encode(functions.length), ...functions.flatMap((index) => encode(inPlace(index) ? stand : index))]);
  return Buffer.concat([bytes.subarray(0, 8), ...module.sections.map(({ id, whole, end }) => (id === 9 ? sectionOf(9, [...encode(module.elements.length), ...body]) : bytes.subarray(whole, end)))]);
}

/** The import of a table without its maximum: parts that are divided later add places to the core's table. */
function ofAnySize([kind, type, , ...limits]) {
  return [kind, type, 0, ...limits.slice(0, limits.findIndex((byte) => byte < 0x80) + 1)];
}

/** The module without custom sections, and with other names of imports and exports. */
function renamed(bytes, rename) {
  const module = readModule(bytes), bodies = { 2: module.imports, 7: module.exports };
  const pieces = module.sections.filter(({ id }) => id !== 0).map(({ id, whole, end }) => {
    if (!bodies[id]) return bytes.subarray(whole, end);
    return sectionOf(id, [...encode(bodies[id].length), ...bodies[id].flatMap((each) => {
      const { module, name } = rename(each);
      return [...(module === undefined ? [] : encodeName(module)), ...encodeName(name), ...(id === 2 && each.kind === 1 ? ofAnySize(each.rest) : each.rest)];
    })]);
  });
  return Buffer.concat([bytes.subarray(0, 8), ...pieces]);
}

const digits = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const shortName = (number) => (number < digits.length ? '' : shortName(Math.floor(number / digits.length) - 1)) + digits[number % digits.length];

const [wasmSplit, path, mapPath] = process.argv.slice(2);
const bytes = readFileSync(path), module = readModule(bytes);
const map = readFileSync(mapPath, 'utf8'), objects = usesOf(map, ['malloc', 'free', '__getTypeName']);
const indexOf = new Map(module.functions.map(({ index, name }) => [name, index]));
let found, chosen;
for (let again = true; again; ) {
  found = partition(objects);
  chosen = choose(module, found.partOf, objects.taken);
  // The optimizer may have merged a door with a function of the core. Then it is no door, and what it uses is the core's.
  again = false;
  for (const [name, part] of objects.doors) if (chosen.get(indexOf.get(plain(name))) !== part) again = objects.doors.delete(name);
}
const file = (part) => path.replace(/\.wasm$/, `.${part}.wasm`);
const features = ['bulk-memory', 'exception-handling', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'relaxed-simd', 'sign-ext', 'simd'].map((name) => `--enable-${name}`);

let core = `${path}.whole`;
writeFileSync(core, numbered(bytes, module));
for (const part of Object.keys(parts)) {
  const list = `${path}.functions`, next = `${path}.${part}`;
  writeFileSync(list, [...chosen].filter(([, of]) => of === part).map(([index]) => `f${index}`).join('\n'));
  const options = ['-g', ...features, `--split-funcs=@${list}`, '--import-namespace=core', `--placeholder-namespace=${part}`, '--export-prefix=%'];
  execFileSync(wasmSplit, [core, ...options, '-o1', next, '-o2', file(part)], { stdio: ['ignore', 'inherit', 'inherit'] });
  for (const done of [core, list]) rmSync(done);
  core = next;
}
const nameOf = new Map(module.functions.map(({ index, name }) => [index, name]));
const slots = module.elements.flatMap(({ offset, functions }) => functions.map((index, i) => [offset + i, nameOf.get(index)]));
const isOpen = new Set([...objects.doors.keys()].map(plain));
const doorSlots = new Set(slots.filter(([, name]) => isOpen.has(name)).map(([slot]) => slot));
const missing = module.functions.find(({ name }) => name === 'etude_part_missing').index;
writeFileSync(core, doorsOnly(readFileSync(core), doorSlots, `f${missing}`));
execFileSync(join(dirname(wasmSplit), 'wasm-opt'), [core, '-g', ...features, '-Oz', '-o', core], { stdio: ['ignore', 'inherit', 'inherit'] });
const pieces = new Map([['core', readFileSync(core)], ...Object.keys(parts).map((part) => [part, readFileSync(file(part))])]);
rmSync(core);
const split = moveData(pieces, map, found);
for (const { module, name } of readModule(split.get('core')).imports)
  if (parts[module] && !doorSlots.has(Number(name))) throw new Error(`the core calls function ${name} of the part ${module} - expected calls through its doors alone - this is a fault of split.mjs.`);
// A part fits the core of the same link alone: names of modules in imports tell.
const hash = createHash('sha256');
for (const each of split.values()) hash.update(each);
const link = hash.digest('hex').slice(0, 8);
const short = new Map();
for (const { name } of readModule(split.get('core')).exports) if (name.startsWith('%')) short.set(name, `%${shortName(short.size)}`);
for (const [part, bytes] of split)
  writeFileSync(part === 'core' ? path : file(part), renamed(bytes, ({ module, name }) => ({ module: module === 'core' ? link : parts[module] ? `${module}:${link}` : module, name: short.get(name) ?? name })));
// For ./dev size: the name, the bytes and the part of each function.
writeFileSync(path.replace(/\.wasm$/, '.functions.json'), JSON.stringify(module.functions.map(({ index, name, size }) => [name, size, chosen.get(index) ?? 'core'])));
