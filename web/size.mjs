// The size of the package: each build of the module and each of its parts, the JavaScript that goes with one, and the
// whole; then what is in the module, by folder of the sources, and its largest functions. `./dev size`.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { readObject } from '../bindings/wasm_file.mjs';

const web = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const dist = join(web, 'dist');
const read = (names) => Buffer.concat(names.map((name) => readFileSync(join(dist, name))));
const files = readdirSync(dist);
const rows = files.filter((name) => name.endsWith('.wasm')).map((name) => [name, read([name])]);
// Further files of a page: not those of Node.js, and one of the scripts of the builds.
const scripts = files.filter((name) => /\.m?js$/.test(name) && !/^(etude-|index\.node|in_node|scripts|lite)/.test(name));
rows.push(['JavaScript', read(scripts)], ['JavaScript of etude-ml/lite', read(['lite.js', 'etude.mjs'])]);

const print = (name, numbers) => console.log(name.padEnd(30) + numbers.map((number) => number.toLocaleString('en').padStart(9)).join('  '));
const heads = (name, titles) => console.log(`\n${name.padEnd(30)}${titles.map((title) => title.padStart(9)).join('  ')}`);
heads('', ['bytes', 'gzip', 'brotli']);
for (const [name, data] of rows) print(name, [data.length, gzipSync(data, { level: 9 }).length, brotliCompressSync(data).length]);
const [{ size, unpackedSize }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: web, encoding: 'utf8' }));
console.log(`the package: ${size.toLocaleString('en')} bytes packed, ${unpackedSize.toLocaleString('en')} unpacked`);

// ---- What is in the module ----

const build = process.env.ETUDE_MODULES?.split(':').find((folder) => existsSync(join(folder, 'etude.functions.json')));
if (!build) throw new Error('there is no etude.functions.json in $ETUDE_MODULES - expected a build of the module with parts - run ./dev size.');
const functions = JSON.parse(readFileSync(join(build, 'etude.functions.json'), 'utf8'));

/** The folder of each function: those of templates that several folders use have none of their own. */
const folders = new Map();
for (const entry of readdirSync(join(build, 'CMakeFiles'), { recursive: true, withFileTypes: true })) {
  if (!entry.name.endsWith('.o') || entry.parentPath.includes('etude_declarations')) continue;
  const folder = /core\/etude\/(kernels|[^/]+)/.exec(entry.parentPath)?.[1] ?? 'bindings';
  for (const { name } of readObject(readFileSync(join(entry.parentPath, entry.name)), '').nodes) {
    const plain = name.replace(/^:/, '');
    folders.set(plain, folders.has(plain) && folders.get(plain) !== folder ? 'templates of several' : folder);
  }
}
const parts = ['core', ...new Set(functions.map(([, , part]) => part).filter((part) => part !== 'core'))];
const byFolder = new Map();
for (const [name, bytes, part] of functions) {
  const folder = name === '' ? 'joined by the optimizer' : folders.get(name) ?? 'libraries of C and C++';
  if (!byFolder.has(folder)) byFolder.set(folder, parts.map(() => 0));
  byFolder.get(folder)[parts.indexOf(part)] += bytes;
}
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
heads('etude.wasm, code by folder', parts);
for (const [folder, numbers] of [...byFolder].sort(([, a], [, b]) => sum(b) - sum(a))) print(folder, numbers);
print('all', parts.map((_, i) => sum([...byFolder.values()].map((numbers) => numbers[i]))));

const largest = [...functions].sort(([, a], [, b]) => b - a).slice(0, 30);
const { stdout } = spawnSync('c++filt', ['-n'], { input: largest.map(([name]) => `${name}\n`).join(''), encoding: 'utf8' });
const names = stdout?.split('\n') ?? largest.map(([name]) => name);
console.log('\nits largest functions');
largest.forEach(([, bytes, part], i) => console.log(`${bytes.toLocaleString('en').padStart(9)}  ${part.padEnd(9)}  ${names[i].slice(0, 110)}`));
