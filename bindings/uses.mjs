// What functions and data of a linked module use, by the compiler's objects, also by address.
import { readFileSync } from 'node:fs';
import { plain } from './entry_points.mjs';
import { readArchive, readObject } from './wasm_file.mjs';

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
export function reach(uses, roots, stop = () => false) {
  const reached = new Set(), next = [...roots];
  for (let name = next.pop(); name !== undefined; name = next.pop()) {
    if (reached.has(name) || stop(name)) continue;
    reached.add(name);
    next.push(...(uses.get(name) ?? []));
  }
  return reached;
}

/** The uses of all objects of a link map. */
export function usesOf(map, exported) {
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
  return { uses, roots, taken, textOf };
}

/** Makes the functions that make options use the rows of their fields, in place of the class's entry: nothing reads them before. */
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
