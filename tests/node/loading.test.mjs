// Loading of the module, and the state after it stops.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError } from './support.mjs';

const dist = new URL('./node_modules/etude-ml/dist/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'etude-loading-'));
after(() => rmSync(folder, { recursive: true }));

/** The output of a program in a child process; `et` is the package, and `told` returns the error of a function. */
function run(program, { flags = [], begin = "const et = await import('etude-ml');", type = 'module', env = {} } = {}) {
  const text = `${begin}
    const told = async (work) => { try { await work(); return 'nothing was thrown'; } catch (error) { return error instanceof et.EtudeError ? error.kind + ' ' + error.message : String(error); } };
    const newModel = () => { const model = et.sequential([et.layers.dense({ units: 1 })]); model.compile({ loss: 'mse' }); return model; };
    const fit = (model, options) => model.fit([[1], [2]], [[1], [2]], { verbose: 0, ...options });
    // Makes layers at growing depth of the stack, until it overflows: the deepest frames are those of the module.
    const exhaust = () => { et.layers.dense({ units: 1 }); exhaust(); };
    ${program}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, `--input-type=${type}`, '-e', text], { cwd: import.meta.dirname, encoding: 'utf8', env: { ...process.env, ...env } });
  assert.deepEqual([status, stderr], [0, ''], text);
  return stdout.trim();
}
/** The builds of this package. */
const builds = ['simd', 'simd-threads'];

test('it can be required', () => {
  const begin = "const et = require('etude-ml');";
  assert.equal(run("fit(newModel()).then(({ history }) => console.log(history.loss.length, typeof et.variant));", { begin, type: 'commonjs' }), '1 string');
});

test('an import loads nothing; ready() and the first use do', () => {
  assert.equal(run("const before = et.variant; await et.ready(); await et.ready(); console.log(before, typeof et.variant);"), 'undefined string');
  assert.equal(run("const before = et.variant; et.layers.dense({ units: 1 }); console.log(before, typeof et.variant);"), 'undefined string');
});

test('et.configure sets the module\'s source: a path, an address, bytes, a folder', () => {
  for (const wasm of [new URL('etude.wasm', dist).pathname, new URL('etude.wasm', dist).href])
    assert.equal(run(`et.configure({ wasm: ${JSON.stringify(wasm)} }); et.numThreads(); console.log(et.variant);`), 'simd');
  const bytes = `(await import('node:fs')).readFileSync(${JSON.stringify(new URL('etude-threads.wasm', dist).pathname)})`;
  assert.equal(run(`et.configure({ wasm: ${bytes}, build: 'simd-threads', threads: 3 }); console.log(et.numThreads(), et.variant);`), '3 simd-threads');
  assert.match(run(`et.configure({ wasm: ${JSON.stringify(dist.href)} }); console.log(et.numThreads(), et.variant);`), /threads$/);
  assert.doesNotMatch(run(`et.configure({ threads: 1 }); console.log(et.numThreads(), et.variant);`), /threads/);
});

test('adapt() and loops over datasets that wait for data reject when the module is replaced', () => {
  const said = run(`const never = et.data.fromGenerator(async function* () { await new Promise(() => {}); yield et.tensor([1]); });
    const adapted = [et.layers.normalization(), et.layers.textVectorization()].map((layer, i) => told(() => layer.adapt(i ? (async function* () { await new Promise(() => {}); yield ['a']; })() : never)));
    const read = told(async () => { for await (const element of et.data.iterate(never)) console.log(element); });
    await et.reload();
    for (const each of [...adapted, read]) console.log(await each);`);
  assert.match(said, /^(\w+ \[.*et\.reload\(\).*\n?){3}$/);
});

test('a module from the network is awaited', () => {
  const wasm = `data:application/wasm;base64,${readFileSync(new URL('etude.wasm', dist)).subarray(0, 100).toString('base64')}`;
  assert.match(run(`et.configure({ wasm: ${JSON.stringify(wasm)} }); console.log(await told(() => et.numThreads()));`), /^state \[ready\] the module comes from "data:.*write await et\.ready\(\) first\.$/);
  assert.match(run(`et.configure({ wasm: ${JSON.stringify(wasm)} }); console.log(await told(() => et.ready()));`), /^io \[ready\] cannot read "data:.*": WebAssembly\.\w+\(\): .* - expected the WebAssembly module - let /, 'a part of it alone');
});

test('a file that is not the module: the error names the address, the content and the fix', () => {
  const page = join(folder, 'page.html');
  writeFileSync(page, '<!doctype html><title>the application</title>');
  const told = run(`et.configure({ wasm: ${JSON.stringify(page)} }); console.log(await told(() => et.layers.dense({ units: 1 })));`);
  assert.match(told, /^io \[ready\] ".*page\.html" has 45 bytes, which begins with "<!doctype html>.*" - expected a WebAssembly module - .*et\.configure\(\{ wasm: url \}\)\.$/);
  const absent = run("et.configure({ wasm: '/nowhere/etude.wasm' }); console.log(await told(() => et.ready()));");
  assert.match(absent, /^io \[ready\] cannot read "\/nowhere\/etude\.wasm": ENOENT.* - expected the WebAssembly module - let /);
  assert.match(run("et.configure({ wasm: new Uint8Array(7) }); console.log(await told(() => et.ready()));"), /^io \[ready\] configure\(\{ wasm \}\) has 7 bytes/);
  // It can be corrected.
  assert.equal(run(`et.configure({ wasm: '/nowhere/etude.wasm' }); await told(() => et.ready()); et.configure({}); await et.ready(); console.log(await told(() => fit(newModel())));`), 'nothing was thrown');
});

test('et.configure refuses unknown options, and calls after loading', async () => {
  et.numThreads();
  await assertError(() => et.configure({ threads: 1 }), 'state', '[configure]', 'before');
  await assertError(() => et.configure({ url: 'x' }), 'value', '[configure]', '"url"', 'wasm, parts, build, threads');
  await assertError(() => et.configure({ build: 'fast' }), 'state');
  assert.match(run("console.log(await told(() => et.configure({ build: 'fast' })));"), /^value \[configure\] "fast" - expected one of simd/);
});

for (const build of builds) {
  const stopped = /^internal \[WebAssembly\] the module stopped \(.*\) and can no longer be used - expected a new one - await et\.reload\(\), then create or load your models again\.$/;
  const lines = (text, options) => run(text, { ...options, env: { ETUDE_VARIANT: build } }).split('\n');

  test(`${build}: after a trap every call says to await et.reload(), which makes a fresh module`, () => {
    const said = lines(`
      const model = newModel(), layer = model.layers[0];
      console.log(await told(() => exhaust()));
      for (const later of [() => newModel(), () => fit(model), () => model.countParams(), () => et.ops.add(1, 2), () => layer.name, () => model.predict([[1]])]) console.log(await told(later));
      await et.reload();
      console.log(await told(() => fit(newModel())));
      console.log(await told(() => fit(model)), '|', await told(() => layer.name), '|', await told(() => et.sequential([layer])), '|', await told(() => layer.call([[1]])));`);
    assert.equal(said.length, 9);
    assert.match(said[0], /Maximum call stack size exceeded/, 'the call that trapped throws its reason');
    for (const line of said.slice(1, 7)) assert.match(line, stopped);
    assert.equal(said[7], 'nothing was thrown');
    for (const part of said[8].split(' | ')) assert.match(part, /before et\.reload\(\)/);
  });

  test(`${build}: a loop that a trap ends rejects, and waiting loops too`, () => {
    const said = lines(`
      const models = [newModel(), newModel()];
      const waiting = told(() => fit(models[0], { callbacks: [{ onEpochEnd: () => new Promise(() => {}) }] }));
      console.log(await told(() => fit(models[1], { callbacks: [{ async onEpochBegin() { await null; }, onEpochEnd() { exhaust(); } }] })));
      console.log(await waiting);
      await et.reload();
      console.log(await told(() => fit(newModel())));`);
    assert.match(said[0], stopped);
    assert.match(said[1], stopped);
    assert.equal(said[2], 'nothing was thrown');
  });

  test(`${build}: objects of a stopped module are collected without a call into it`, () => {
    const said = lines(`
      let layers = Array.from({ length: 100 }, () => et.layers.dense({ units: 1 }));
      await told(() => exhaust());
      layers = undefined;
      for (let i = 0; i < 5; ++i) { gc(); await new Promise((resolve) => setTimeout(resolve, 1)); }
      await et.reload();
      console.log(await told(() => fit(newModel())));`, { flags: ['--expose-gc'] });
    assert.deepEqual(said, ['nothing was thrown']);
  });
}

test("endless recursion in a user's function is an ordinary error, and the module stays usable", () => {
  const said = run(`
    const endless = () => endless();
    const model = newModel();
    console.log(await told(() => fit(model, { callbacks: [{ onEpochEnd: endless }] })));
    console.log(await told(() => fit(model)));`);
  assert.match(said, /^RangeError: Maximum call stack.*\nnothing was thrown$/);
});

test('files stay open over a reload', () => {
  const path = join(folder, 'weights.safetensors');
  assert.equal(run(`
    const save = () => { const model = newModel(); model.build([1, 2]); model.saveWeights(${JSON.stringify(path)}); model.loadWeights(${JSON.stringify(path)}); };
    save(); await et.reload(); save(); console.log('saved');`), 'saved');
});
