// Moves data that only a part uses from the core to the part, and drops what nothing reads.
import { Reader, encode, encodeSigned, sectionOf, sectionsOf } from './wasm_file.mjs';

const number = (text) => Number.parseInt(text, 16);

/** How many bytes of a text, with the zero byte after it, only one part uses. Its end may be a text of the core, or of another part. */
function ownBytes(text, texts) {
  const part = texts.get(text);
  for (let i = 1; i < text.length; ++i) if ((texts.get(text.slice(i)) ?? part) !== part) return i;
  return text.length + 1;
}

/**
 * The places of a module's data that only parts use: [begin, end, part], in order; `texts` are pieces of text. The part of
 * the names of C++ types is 'none': the standard library compares types by the addresses of their names alone.
 */
function placesOf(map, { partOf, texts }, image) {
  const places = [], lines = map.slice(map.indexOf(' DATA\n'));
  for (const [, begin, size, name] of lines.matchAll(/^ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) {17}(\S+)$/gm)) {
    const part = name.startsWith('_ZTS') ? 'none' : partOf.get(name);
    if (part && part !== 'core' && !name.startsWith('.L')) places.push([number(begin), number(begin) + number(size), part]);
  }
  // The linker puts texts one after the other, each once.
  const all = /^ +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +<internal>:\(\.rodata\)$/m.exec(lines);
  if (!all) throw new Error('no merged texts in the link map - expected a line "<internal>:(.rodata)" - look at what the linker writes instead.');
  for (let at = number(all[1]), end = at + number(all[2]); at < end; ) {
    const next = image.indexOf(0, at) + 1, text = image.toString('latin1', at, next - 1);
    const part = texts.get(text);
    if (part && part !== 'core') places.push([at, at + ownBytes(text, texts), part]);
    if (next <= at) throw new Error(`a text without an end at ${at} - expected a zero byte after it - look at what the linker writes instead.`);
    at = next;
  }
  return places.sort(([a], [b]) => a - b);
}

/** The memory that the data section fills, and how far. */
function imageOf(bytes, section) {
  const reader = new Reader(bytes, section.begin), segments = [];
  reader.list(() => {
    if (reader.number() !== 0) throw new Error('data that is passive - expected active segments of memory 0 - extend imageOf.');
    const offset = reader.constant();
    segments.push([offset, reader.take(reader.number())]);
  });
  const image = Buffer.alloc(Math.max(...segments.map(([offset, contents]) => offset + contents.length)));
  for (const [offset, contents] of segments) contents.forEach((byte, i) => (image[offset + i] = byte));
  return image;
}

/** A data section of the bytes for which `filled` holds, without longer runs of zeros. */
function dataOf(image, filled) {
  const runs = [];
  for (let at = 0, gap = Infinity; at < image.length; ++at) {
    if (!filled(at)) gap = Infinity;
    else if (image[at] === 0) ++gap;
    else {
      if (gap < 10) runs.at(-1)[1] = at + 1;
      else runs.push([at, at + 1]);
      gap = 0;
    }
  }
  return sectionOf(11, [...encode(runs.length), ...runs.flatMap(([begin, end]) => [0, 0x41, ...encodeSigned(begin), 0x0b, ...encode(end - begin), ...image.subarray(begin, end)])]);
}

/** The core and its parts, by name, each with the data that it uses alone; the core has what several use. */
export function moveData(pieces, map, found) {
  const core = pieces.get('core'), image = imageOf(core, sectionsOf(core).find(({ id }) => id === 11));
  const owner = new Array(image.length).fill('core');
  for (const [begin, end, part] of placesOf(map, found, image)) owner.fill(part, begin, end);
  return new Map(
    [...pieces].map(([part, bytes]) => {
      const others = sectionsOf(bytes).filter(({ id }) => id !== 11 && id !== 12); // data, and how many there are
      return [part, Buffer.concat([bytes.subarray(0, 8), ...others.map(({ whole, end }) => bytes.subarray(whole, end)), dataOf(image, (at) => owner[at] === part)])];
    }),
  );
}
