// Reads WebAssembly files: linked modules, and the objects that the compiler writes; and writes sections.

/** Reads numbers and names from bytes, one after the other. */
export class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }
  byte() {
    return this.bytes[this.at++];
  }
  number() {
    let result = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      result += (byte & 127) * scale;
      if (byte < 128) return result;
    }
  }
  /** Skips a number of any type in LEB128. */
  skip(count = 1) {
    while (count--) while (this.bytes[this.at++] & 128);
  }
  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  name() {
    return new TextDecoder().decode(this.take(this.number()));
  }
  list(read) {
    return Array.from({ length: this.number() }, read);
  }
  /** A constant expression; its value if it is an i32. */
  constant() {
    const begin = this.at;
    if (this.byte() !== 0x41) this.at = begin + 1;
    const at = this.at;
    this.skip();
    if (this.byte() !== 0x0b) throw new Error(`a constant expression of several instructions at ${begin} - expected one - extend Reader.constant.`);
    return this.bytes[begin] === 0x41 ? new Reader(this.bytes, at).number() : undefined;
  }
}

const limits = (reader) => {
  const flags = reader.number();
  reader.skip(flags & 1 ? 2 : 1);
};
/** The bytes of an import of each kind after its names. */
const skipImport = [
  (reader) => reader.skip(),
  (reader) => (reader.byte(), limits(reader)),
  limits,
  (reader) => (reader.byte(), reader.byte()),
  (reader) => (reader.byte(), reader.skip()),
];

/** The sections: {id, name of a custom one, begin and end of its contents, where it begins as a whole}. */
export function sectionsOf(bytes) {
  const reader = new Reader(bytes, 8), sections = [];
  while (reader.at < bytes.length) {
    const whole = reader.at, id = reader.byte(), size = reader.number(), end = reader.at + size;
    const name = id === 0 ? reader.name() : undefined;
    sections.push({ id, name, whole, begin: reader.at, end });
    reader.at = end;
  }
  return sections;
}
const find = (sections, id) => sections.find((section) => section.id === id);

const readImports = (reader) =>
  reader.list(() => {
    const module = reader.name(), name = reader.name(), begin = reader.at, kind = reader.byte();
    skipImport[kind](reader);
    return { module, name, kind, rest: reader.bytes.subarray(begin, reader.at) };
  });

/** The direct calls in the body of a function that ends at `end`. */
function callsOf(reader, end) {
  const calls = new Set();
  for (let groups = reader.number(); groups > 0; --groups) reader.skip(2);
  while (reader.at < end) {
    const code = reader.byte();
    if (code === 0x10 || code === 0x12 || code === 0xd2) calls.add(reader.number());
    else if (code === 0x11 || code === 0x13 || (code >= 0x28 && code <= 0x3e)) reader.skip(2);
    else if ((code >= 0x02 && code <= 0x09 && code !== 0x05) || code === 0x0c || code === 0x0d || code === 0x18 || (code >= 0x20 && code <= 0x26) || (code >= 0x3f && code <= 0x42) || code === 0xd0) reader.skip();
    else if (code === 0x0e) reader.skip(reader.number() + 1);
    else if (code === 0x1c) reader.skip(reader.number());
    else if (code === 0x43) reader.take(4);
    else if (code === 0x44) reader.take(8);
    else if (code === 0xfc) {
      const more = reader.number();
      if (more >= 8) reader.skip(more === 8 || more === 10 || more === 12 || more === 14 ? 2 : 1);
    } else if (code === 0xfd) {
      const more = reader.number();
      if (more <= 11 || more === 92 || more === 93) reader.skip(2);
      else if (more === 12 || more === 13) reader.take(16);
      else if (more >= 21 && more <= 34) reader.byte();
      else if (more >= 84 && more <= 91) (reader.skip(2), reader.byte());
    } else if (code === 0xfe) {
      if (reader.number() === 3) reader.byte();
      else reader.skip(2);
    }
  }
  if (reader.at !== end) throw new Error(`an instruction that is not known before ${end} - expected those of WebAssembly 2 - extend callsOf.`);
  return calls;
}

/**
 * A linked module: imports, exports, and functions by index, each {index, name, type, code, size, calls, slots}; `slots` is
 * how many places of the table it has. `rest` is what an import or export says besides its names.
 */
export function readModule(bytes) {
  const sections = sectionsOf(bytes);
  const read = (id, work) => {
    const section = find(sections, id);
    return section ? work(new Reader(bytes, section.begin)) : [];
  };
  const imports = read(2, readImports);
  const first = imports.filter(({ kind }) => kind === 0).length;
  const exports = read(7, (reader) => 
    reader.list(() => {
      const name = reader.name(), begin = reader.at;
      return { name, kind: reader.byte(), index: reader.number(), rest: reader.bytes.subarray(begin, reader.at) };
    }),
  );
  const types = read(3, (reader) => reader.list(() => reader.number()));
  const functions = read(10, (reader) =>
    reader.list((_, i) => {
      const begin = reader.at, length = reader.number(), end = reader.at + length, code = bytes.subarray(reader.at, end);
      return { index: first + i, name: '', type: types[i], code, size: end - begin, calls: callsOf(reader, end), slots: 0 };
    }),
  );
  const elements = read(9, (reader) =>
    reader.list(() => {
      const flags = reader.number();
      if (flags !== 0) throw new Error(`elements with flags ${flags} - expected active ones of table 0 - extend readModule.`);
      return { offset: reader.constant(), functions: reader.list(() => reader.number()) };
    }),
  );
  for (const element of elements) for (const index of element.functions) if (index >= first) ++functions[index - first].slots;
  const names = sections.find(({ name }) => name === 'name');
  if (names)
    for (const reader = new Reader(bytes, names.begin); reader.at < names.end; ) {
      const kind = reader.byte(), end = reader.number() + reader.at;
      if (kind === 1) reader.list(() => [reader.number(), reader.name()]).forEach(([index, name]) => index >= first && (functions[index - first].name = name));
      reader.at = end;
    }
  return { imports, exports, functions, elements, sections };
}

// Types of relocations: those with an addend, that of indices of types, and those of places in the table.
const hasAddend = new Set([3, 4, 5, 8, 9, 11, 14, 15, 16, 17, 21, 22, 23, 25]);
const ofType = 6;
const ofTable = new Set([1, 2, 12, 18, 19, 24]);
const ofGlobal = 7; // of a function: a global that has its address

/**
 * An object of the compiler: its nodes, which are functions and data, each {name, uses}; the name of a local one is
 * preceded by `place` and a colon. `start` lists what runs when a module starts or is exported, `taken` the functions with a place in
 * the table.
 */
export function readObject(bytes, place) {
  const sections = sectionsOf(bytes);
  const custom = (name) => sections.find((section) => section.name === name);
  const section = (id) => find(sections, id);
  const imported = section(2) ? readImports(new Reader(bytes, section(2).begin)) : [];
  const importsOf = (kind) => imported.filter((each) => each.kind === kind);

  const symbols = [], start = [], merged = new Set();
  for (const reader = new Reader(bytes, custom('linking').begin), end = (reader.skip(), custom('linking').end); reader.at < end; ) {
    const kind = reader.byte(), next = reader.number() + reader.at;
    if (kind === 8)
      reader.list(() => {
        const symbol = { kind: reader.byte(), flags: reader.number() };
        const isDefined = !(symbol.flags & 0x10);
        if (symbol.kind === 1) {
          symbol.name = reader.name();
          if (isDefined) [symbol.segment, symbol.offset, symbol.size] = [reader.number(), reader.number(), reader.number()];
        } else if (symbol.kind === 3) reader.skip();
        else {
          symbol.index = reader.number();
          const importKind = [0, undefined, 3, undefined, 4, 1][symbol.kind];
          symbol.name = isDefined || symbol.flags & 0x40 ? reader.name() : importsOf(importKind)[symbol.index].name;
        }
        if (symbol.flags & 2) symbol.name = `${place}:${symbol.name}`;
        symbols.push(symbol);
      });
    else if (kind === 5) reader.list((_, i) => (reader.name(), reader.skip(), reader.number() & 1 && merged.add(i)));
    else if (kind === 6) reader.list(() => (reader.skip(), start.push(reader.number())));
    reader.at = next;
  }

  // Functions and segments by where they lie, so that each relocation is found in one.
  const owners = { 10: [], 11: [] }, taken = new Set();
  if (section(10)) {
    const reader = new Reader(bytes, section(10).begin), first = importsOf(0).length;
    reader.list((_, i) => {
      const begin = reader.at - section(10).begin;
      reader.take(reader.number());
      owners[10].push({ begin, names: symbols.filter(({ kind, index, flags }) => kind === 0 && !(flags & 0x10) && index === first + i).map(({ name }) => name), uses: new Set() });
    });
  }
  if (section(11)) {
    const reader = new Reader(bytes, section(11).begin);
    reader.list((_, i) => {
      if (reader.number() !== 1) reader.constant();
      const size = reader.number(), begin = reader.at - section(11).begin;
      const contents = reader.take(size), text = merged.has(i) ? new TextDecoder('latin1').decode(contents) : undefined;
      owners[11].push({ begin, text, names: symbols.filter(({ kind, segment }) => kind === 1 && segment === i).map(({ name }) => name), uses: new Set() });
    });
  }
  for (const id of [10, 11]) {
    const relocations = custom(`reloc.${id === 10 ? 'CODE' : 'DATA'}`);
    if (!relocations) continue;
    const reader = new Reader(bytes, relocations.begin);
    reader.skip();
    let owner = 0;
    reader.list(() => {
      const type = reader.byte(), at = reader.number(), index = reader.number();
      if (hasAddend.has(type)) reader.skip();
      while (owners[id][owner + 1]?.begin <= at) ++owner;
      if (type === ofType || symbols[index].name === undefined) return;
      owners[id][owner].uses.add(symbols[index].name);
      if (ofTable.has(type) || (type === ofGlobal && symbols[index].kind === 0)) taken.add(symbols[index].name);
    });
  }
  const nodes = [...owners[10], ...owners[11]].flatMap(({ names, uses, text }) => names.map((name) => ({ name, uses, text })));
  const kept = symbols.filter(({ flags }) => !(flags & 0x10) && flags & 0xa0).map(({ name }) => name);
  return { nodes, start: [...start.map((index) => symbols[index].name), ...kept], taken };
}

/** The members of an archive that have one of these names: [name, bytes] each. */
export function readArchive(bytes, wanted) {
  const text = (begin, length) => new TextDecoder('latin1').decode(bytes.subarray(begin, begin + length));
  const found = [];
  let longNames = '';
  for (let at = 8; at + 60 <= bytes.length; ) {
    const size = Number(text(at + 48, 10)), begin = at + 60;
    let name = text(at, 16).trimEnd();
    if (name === '//') longNames = text(begin, size);
    else {
      const long = /^\/(\d+)$/.exec(name);
      if (long) name = longNames.slice(Number(long[1])).split('\n', 1)[0];
      name = name.replace(/\/$/, '');
      if (wanted.has(name)) found.push([name, bytes.subarray(begin, begin + size)]);
    }
    at = begin + size + (size % 2);
  }
  return found;
}

/** A number as LEB128. */
export const encode = (number) => {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number & 127) | 128);
  return [...bytes, number];
};
/** The same, where the format wants a signed one: of a number that is not negative. */
export const encodeSigned = (number) => (number < 64 ? [number] : [(number & 127) | 128, ...encodeSigned(Math.floor(number / 128))]);
export const encodeName = (name) => [...encode(Buffer.byteLength(name)), ...Buffer.from(name)];
export const sectionOf = (id, body) => Buffer.concat([Buffer.from([id, ...encode(body.length)]), Buffer.from(body)]);
