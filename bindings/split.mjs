// Splits a linked module: etude.wasm keeps the code that pages always download; each part of parts.mjs goes to a file of its own.
// With --lite a second division of the same module, by lite.mjs, makes etude-lite.wasm and its parts.
//
//     node split.mjs WASM_SPLIT MODULE.wasm LINK_MAP [--lite]
//
// The compiler's objects list the uses of each function, also by address. A part has the code that only its entry points reach.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { divide } from './division.mjs';
import { labelOf, plain } from './entry_points.mjs';
import { absent, classes, liteParts } from './lite.mjs';
import { moveData } from './part_data.mjs';
import { parts } from './parts.mjs';
import { usesOf } from './uses.mjs';
import { byIndex, entryPointsOnly, namedInOrder, numbered, renamed } from './wasm_edits.mjs';
import { readModule } from './wasm_file.mjs';

const digits = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const shortName = (number) => (number < digits.length ? '' : shortName(Math.floor(number / digits.length) - 1)) + digits[number % digits.length];

const [wasmSplit, path, mapPath, withLite] = process.argv.slice(2);
const bytes = readFileSync(path), module = readModule(bytes);
const map = readFileSync(mapPath, 'utf8'), objects = usesOf(map, ['malloc', 'free', '__getTypeName']);
const nameOf = new Map(module.functions.map(({ index, name }) => [index, name]));
const slots = module.elements.flatMap(({ offset, functions }) => functions.map((index, i) => [offset + i, nameOf.get(index)]));
const missing = `f${module.functions.find(({ name }) => name === 'etude_part_missing').index}`;
const features = ['bulk-memory', 'exception-handling', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'relaxed-simd', 'sign-ext', 'simd'].map((name) => `--enable-${name}`);
const optimize = (file, ...passes) => execFileSync(join(dirname(wasmSplit), 'wasm-opt'), [file, '-g', ...features, ...passes, '-o', file], { stdio: ['ignore', 'inherit', 'inherit'] });

/**
 * Rewrites a file so that it compresses better. Engines ignore the alignment that each load and store states, so all state
 * the same. Functions lose the names by which wasm-split knows them.
 */
function compact(file) {
  writeFileSync(file, namedInOrder(readFileSync(file)));
  optimize(file, '--generate-global-effects', '--merge-locals', '-Oz', '--dealign', '--reorder-functions-by-name');
}

/** The code of the core and of each part, in files that this function removes. */
function splitCode(parts, { chosen, entryPoints }) {
  const file = (part) => `${path}.of.${part}`;
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
  const names = new Set([...entryPoints.keys()].map(plain)), entryPointSlots = new Map(slots.filter(([, name]) => names.has(name)));
  // An entry point that is called directly gets a new slot.
  const isEntryPoint = (part, slot) => entryPointSlots.has(slot) || (part === absent && slot > slots.at(-1)[0]);
  writeFileSync(core, entryPointsOnly(readFileSync(core), parts, isEntryPoint, missing));
  if (parts[absent]) leaveOut(core, entryPointSlots, Object.keys(parts).filter((part) => part !== absent).map(file));
  for (const each of [core, ...Object.keys(parts).filter((part) => part !== absent).map(file)]) compact(each);
  const pieces = new Map([['core', readFileSync(core)]]);
  rmSync(core);
  for (const part of Object.keys(parts)) {
    if (part !== absent) pieces.set(part, readFileSync(file(part)));
    rmSync(file(part));
  }
  for (const { module, name } of readModule(pieces.get('core')).imports)
    if (parts[module] && module !== absent && !entryPointSlots.has(Number(name))) throw new Error(`the core calls function ${name} of the part ${module} - expected calls of its entry points only - this is a fault of split.mjs.`);
  return pieces;
}

/**
 * Makes one import of all functions of a type that are left out and have the same label, which errors name, and removes
 * what only functions that are left out use. `kept` are files of parts.
 */
function leaveOut(core, entryPointSlots, kept) {
  const used = new Set(kept.flatMap((file) => readModule(readFileSync(file)).imports.map(({ name }) => name)));
  writeFileSync(core, renamed(readFileSync(core), ({ module, name }) => {
    if (module === absent) return { module, name: labelOf(entryPointSlots.get(Number(name)) ?? '') };
    return { module, name: name.startsWith('%') && module === undefined && !used.has(name) ? undefined : name };
  }));
  optimize(core, '--duplicate-import-elimination', '--converge', '-Oz');
}

/** Writes the core and the parts of a division to files that begin with `stem`, and the functions of the module for ./dev size. */
function write(parts, stem) {
  const division = divide(parts, module, objects), pieces = splitCode(parts, division);
  const split = moveData(pieces, map, division.found);
  // A part fits only the core of the same link: the names of modules in its imports contain the link's hash.
  const hash = createHash('sha256');
  for (const each of split.values()) hash.update(each);
  const link = hash.digest('hex').slice(0, 8), short = new Map();
  for (const { name } of byIndex(readModule(split.get('core')).exports)) if (name.startsWith('%')) short.set(name, `%${shortName(short.size)}`);
  const named = ({ module, name }) => ({ module: module === 'core' ? link : parts[module] && module !== absent ? `${module}:${link}` : module, name: short.get(name) ?? name });
  for (const [part, bytes] of split) writeFileSync(part === 'core' ? `${stem}.wasm` : `${stem}.${part}.wasm`, renamed(bytes, named));
  writeFileSync(`${stem}.functions.json`, JSON.stringify(module.functions.map(({ index, name, size }) => [name, size, division.chosen.get(index) ?? 'core'])));
}

const stem = path.replace(/\.wasm$/, ''), liteStem = stem.replace(/(^|\/)etude([^/]*)$/, '$1etude-lite$2');
write(parts, stem);
if (withLite) {
  write(liteParts, liteStem);
  writeFileSync(`${liteStem}.classes.json`, JSON.stringify(classes)); // for web/build.mjs
}
