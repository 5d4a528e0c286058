// What the package weighs: each build of the module, the JavaScript that goes with one, and the whole. `./dev size`.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const web = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const dist = join(web, 'dist');
const read = (names) => Buffer.concat(names.map((name) => readFileSync(join(dist, name))));
const files = readdirSync(dist);
const rows = files.filter((name) => name.endsWith('.wasm')).map((name) => [name, read([name])]);
// What a page fetches besides: not what is Node.js's, and one of the scripts of the builds.
const scripts = files.filter((name) => /\.m?js$/.test(name) && !/^(etude-|index\.node|in_node|scripts)/.test(name));
rows.push(['JavaScript', read(scripts)]);

console.log('                              bytes       gzip     brotli');
for (const [name, data] of rows) {
  const sizes = [data.length, gzipSync(data, { level: 9 }).length, brotliCompressSync(data).length];
  console.log(name.padEnd(26) + sizes.map((size) => size.toLocaleString('en').padStart(9)).join('  '));
}
const [{ size, unpackedSize }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: web, encoding: 'utf8' }));
console.log(`the package: ${size.toLocaleString('en')} bytes packed, ${unpackedSize.toLocaleString('en')} unpacked`);
