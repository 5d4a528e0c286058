// The package as npm delivers it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import * as et from 'etude-ml';

const folder = new URL('./node_modules/etude-ml/', import.meta.url).pathname;
const description = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const run = (script) => spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', cwd: import.meta.dirname });

test('the package describes itself, and has all its files', () => {
  const { name, license, type, types, engines, exports, dependencies } = description;
  assert.deepEqual({ name, license, type, engines, dependencies }, { name: 'etude-ml', license: 'Apache-2.0', type: 'module', engines: { node: '>=20' }, dependencies: undefined });
  const files = readdirSync(folder, { recursive: true });
  const { default: page, node } = exports['.'], lite = exports['./lite'];
  for (const file of ['README.md', 'LICENSE', types, page, ...Object.values(node), ...Object.values(exports['.'].types), 'dist/etude.wasm', lite.default, ...Object.values(lite.node), ...Object.values(lite.types), 'dist/etude-lite.wasm']) assert.ok(files.includes(file.replace('./', '')), file);
  assert.deepEqual(files.filter((file) => /node_modules|\.map$|\.ts$/.test(file) && !/\.d\.m?ts$/.test(file)), []);
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  assert.match(readme, /^# Étude\n\n```sh\nnpm install etude-ml\n```\n/, 'how to install it comes first');
  assert.match(readme, /et\.sequential/);
});

/** The most bytes of what a page downloads first, and of each part that it may load later: raw, and by brotli. */
const bounds = { '': [1.637e6, 460e3], '.data': [158e3, 55.8e3], '.archives': [35e3, 14.8e3], '.saving': [459e3, 148.3e3], '.formats': [118.5e3, 45.3e3], '.tfjs': [38e3, 14.3e3], '.keras2': [16.9e3, 7.1e3], '.callbacks': [37.5e3, 13.9e3], '.experiment': [145e3, 50.3e3], '.preprocessing': [263e3, 79.2e3], '.extras': [255e3, 79e3], '-lite': [1.25e6, 371e3], '-lite.saving': [139e3, 50.9e3] };

test('the size of a page\'s download', (t) => {
  const sizes = (data) => [data, gzipSync(data, { level: 9 }), brotliCompressSync(data)].map(({ length }) => `${(length / 1000).toFixed(0)} kB`);
  const tell = (name, data) => t.diagnostic(`${name}: ${sizes(data).join(', gzip ')}`.replace(/, gzip (\S+ kB)$/, ', brotli $1'));
  const read = (file) => readFileSync(join(folder, 'dist', file));
  // One build of the module, whichever.
  const scripts = readdirSync(join(folder, 'dist')).filter((file) => /\.m?js$/.test(file) && !/^(etude-|lite)/.test(file));
  const files = Object.entries(bounds).map(([part, bound]) => [part, read(`etude${part}.wasm`), bound]);
  const whole = files.filter(([part]) => !part.startsWith('-lite')).reduce((sum, [, wasm]) => sum + wasm.length, 0);
  assert.ok(whole < 3.2e6, `${whole} bytes`);
  for (const [part, wasm, [raw, packed]] of files) {
    tell(`etude${part}.wasm`, wasm);
    assert.ok(wasm.length < raw, `etude${part}.wasm has ${wasm.length} bytes`);
    const { length } = brotliCompressSync(wasm);
    assert.ok(length < packed, `etude${part}.wasm has ${length} bytes by brotli`);
    const relaxed = read(`etude${part.replace(/^(-lite)?/, '$1-relaxed')}.wasm`);
    assert.ok(relaxed.length < 1.1 * wasm.length, `etude-relaxed${part}.wasm has ${relaxed.length} bytes`);
  }
  // The parts of formats, besides the part "saving". A file of Keras 3 needs the first two, which may have 60 kB; one of Keras
  // 2 the first and the last, one of TensorFlow.js the third. All were to have 60 kB together, and have 21 kB more.
  const packed = ['formats', 'archives', 'tfjs', 'keras2'].map((part) => brotliCompressSync(read(`etude.${part}.wasm`)).length);
  const formats = packed.reduce((sum, length) => sum + length, 0);
  t.diagnostic(`the parts of formats: ${packed.map((length) => (length / 1000).toFixed(1)).join(' + ')} = ${(formats / 1000).toFixed(1)} kB`);
  assert.ok(formats <= 81e3, `the parts of formats have ${formats} bytes by brotli`);
  assert.ok(packed[0] + packed[1] <= 60e3, `a file of Keras 3 needs ${packed[0] + packed[1]} bytes by brotli`);
  // With threads the module is whole.
  for (const build of ['-threads', '-relaxed-threads']) assert.ok(read(`etude${build}.wasm`).length < 1.1 * whole, build);
  tell('JavaScript', Buffer.concat(scripts.map(read)));
  tell('JavaScript of etude-ml/lite', Buffer.concat(['lite.js', 'etude.mjs'].map(read)));
});

test('no code is made from strings at run time, for content security policies', () => {
  for (const file of readdirSync(join(folder, 'dist')).filter((file) => /\.m?js$/.test(file)))
    assert.doesNotMatch(readFileSync(join(folder, 'dist', file), 'utf8'), /new Function\(|\beval\(/, file);
});

test('its types hold a strict consumer', { skip: !process.env.ETUDE_ROOT }, () => {
  const tsc = join(process.env.ETUDE_ROOT, 'web/node_modules/typescript/bin/tsc');
  const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom'];
  const files = ['consumer.ts', 'lite_consumer.ts'];
  for (const given of [['--module', 'nodenext', '--moduleResolution', 'nodenext', 'require_consumer.cts', ...files], ['--module', 'esnext', '--moduleResolution', 'bundler', ...files]])
    try {
      execFileSync(process.execPath, [tsc, ...options, ...given], { cwd: import.meta.dirname, encoding: 'utf8' });
    } catch (error) {
      assert.fail(error.stdout);
    }
});

test('names are the C++ names in camelCase', () => {
  const families = ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'ops', 'callbacks', 'data'];
  for (const family of families) {
    assert.ok(Object.keys(et[family]).length > 0, family);
    for (const name of Object.keys(et[family])) assert.match(name, /^[a-z][a-zA-Z0-9]*$/);
  }
  assert.throws(() => { et.layers.dense = null; }, TypeError);
});

const script = `
  import * as et from 'etude-ml';
  const model = et.sequential([et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'sgd', loss: 'mse' });
  await model.fit([[0], [1], [2]], [[0], [1], [2]], { batchSize: 1, epochs: 2 });
  model.summary();`;

test('in a pipe the progress bar is one line per epoch, without escapes', () => {
  const { stdout, stderr, status } = run(script);
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(stdout, /^Epoch 1\/2\n3\/3 ━{20} \d+s \d+[mu]?s\/step - loss: \d\.\d{4}(e[+-]\d\d)?\nEpoch 2\/2\n3\/3 ━{20} .*\nModel: "sequential"\n┏/);
  assert.doesNotMatch(stdout, /[\x1b\b\r]/);
});

test('in a terminal the progress bar is drawn in place', () => {
  const { stdout } = run(`process.stdout.isTTY = true; ${script.replace("import * as et from 'etude-ml'", "const et = await import('etude-ml')")}`);
  assert.match(stdout, /Epoch 1\/2\n[\b]*\r\x1b\[1m1\/3\x1b\[0m /);
  assert.ok(stdout.split('\r').length >= 4);
});

test('a finished program exits: nothing keeps it alive', () => {
  const { status, stdout } = run(`import 'etude-ml'; console.log('done');`);
  assert.deepEqual([status, stdout], [0, 'done\n']);
});

test('it trains in a worker thread', async () => {
  const worker = new Worker(`import('etude-ml').then(async (et) => {
    const model = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
    model.compile({ optimizer: 'sgd', loss: 'mse' });
    const { history } = await model.fit([[1, 2]], [[0]], { verbose: 0 });
    require('node:worker_threads').parentPort.postMessage(history.loss);
  })`, { eval: true });
  const [loss] = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  assert.equal(loss, 9);
  await worker.terminate();
});
