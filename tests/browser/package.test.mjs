// The package in a browser without a bundler: in a page, and in a worker.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, newPage } from './browser.mjs';
import { serve } from './serve.mjs';

let browser, site;
before(async () => {
  site = await serve(fileURLToPath(new URL('../../web/dist', import.meta.url)));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

/** An empty page in a folder with the package and `files`. */
async function emptyPage(files = {}) {
  const page = await newPage(browser);
  for (const [name, body] of Object.entries({ 'empty.html': '<!doctype html><link rel="icon" href="data:,">', ...files }))
    await page.route(`${site.url}${name}`, (route) => route.fulfill({ body, contentType: name.endsWith('html') ? 'text/html' : 'text/javascript' }));
  await page.goto(`${site.url}empty.html`);
  return page;
}

/** Trains a small model in a page whose clock advances by 1 ms at every step; returns the turns of the loop. */
async function train(yieldEvery) {
  const et = await import('/index.js');
  await et.ready();
  let now = 0;
  performance.now = () => now;
  const x = et.tensor(Float32Array.from({ length: 4096 }, (_, i) => Math.sin(i)), [512, 8]);
  const y = et.tensor(Float32Array.from({ length: 512 }, (_, i) => i % 10), [512, 1]);
  const model = et.sequential([et.layers.dense({ units: 16, activation: 'relu' }), et.layers.dense({ units: 1 })]);
  model.compile({ loss: 'mse' });
  if (yieldEvery !== undefined) et.setYieldEvery(yieldEvery);
  await model.fit(x, y, { batchSize: 1, callbacks: [{ onTrainBatchBegin: () => void (now += 1) }] });
  return globalThis.turns.map(({ began, ended }) => ended - began);
}

for (const given of [undefined, 4]) {
  const budget = given ?? 16;
  test(`yields as soon as ${budget} ms are over`, async () => {
    const page = await emptyPage();
    const turns = await page.evaluate(train, given);
    assert.ok(turns.length >= 512 / budget - 2, `${turns.length} turns`);
    assert.deepEqual(new Set(turns), new Set([budget]));
    assert.deepEqual(page.complaints, []);
    await page.close();
  });
}

test('never yields with yieldEvery Infinity', async () => {
  const page = await emptyPage();
  assert.deepEqual(await page.evaluate(train, Infinity), []);
  await page.close();
});

test('trains in a worker', async () => {
  const worker = `
    import * as et from './index.js';
    await et.ready();
    const x = et.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = et.tensor([[0], [1], [1], [0]]);
    const model = et.sequential([et.layers.dense({ units: 8, activation: 'tanh' }), et.layers.dense({ units: 1 })]);
    model.compile({ optimizer: 'adam', loss: 'mse' });
    model.fit(x, y, { epochs: 5 }).then(({ history }) => postMessage(history.loss));`;
  const page = await emptyPage({ 'worker.js': worker });
  const losses = await page.evaluate(() => new Promise((resolve, reject) => {
    const worker = new Worker('/worker.js', { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  }));
  assert.equal(losses.length, 5);
  assert.ok(losses.every(Number.isFinite), `${losses}`);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

/** The message of the error that `work` throws in the page. */
const messageOf = (page, work) => page.evaluate(async (text) => {
  const et = await import('/index.js');
  try {
    return await new Function('et', `return (${text})()`)(et);
  } catch (error) {
    return `${error.kind} ${error.message}`;
  }
}, String(work));

test('a page shows no progress bar, also if verbose is undefined', async () => {
  const page = await emptyPage(), printed = [];
  page.on('console', (message) => printed.push(message.text()));
  await page.evaluate(async () => {
    const et = await import('/index.js');
    await et.ready();
    const model = et.sequential([et.layers.dense({ units: 1 })]);
    model.compile({ loss: 'mse' });
    await model.fit([[1]], [[1]], { verbose: undefined });
  });
  assert.deepEqual([printed, page.complaints], [[], []]);
  await page.close();
});

test('a call before the module is loaded says to await et.ready()', async () => {
  const page = await emptyPage();
  for (const early of [() => et.layers.dense({ units: 1 }), () => et.sequential([]), () => et.setRandomSeed(1), () => Object.keys(et.losses)])
    assert.match(await messageOf(page, early), /^state \[et\] the WebAssembly module is not loaded - expected .* - write `await et\.ready\(\)` before all other calls\.$/);
  assert.equal(await messageOf(page, async () => { await Promise.all([et.ready(), et.ready()]); return et.layers.dense({ units: 3 }).name; }), 'dense');
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('a part of the module is fetched when the page asks for it, and by functions that return a promise', async () => {
  for (const build of ['simd', 'relaxed']) {
    const page = await emptyPage(), name = build === 'simd' ? 'etude' : 'etude-relaxed';
    const fetched = [];
    page.on('request', (request) => /\.wasm$/.test(request.url()) && fetched.push(request.url().split('/').pop()));
    await page.evaluate(async (build) => { const et = await import('/index.js'); et.configure({ build }); await et.ready(); }, build);
    assert.match(await messageOf(page, () => et.data.range(3)), /^state \[data\.range\] the part "data" of the module is not loaded - expected .* - write `await et\.ready\(\{parts: \['data'\]\}\)` first\.$/);
    assert.match(await messageOf(page, () => et.sequential([et.layers.dense({ units: 1 })]).toJson()), /^state \[model\.toJson\] the part "saving"/);
    assert.deepEqual(fetched, [`${name}.wasm`]);
    assert.deepEqual(await page.evaluate(async () => {
      const et = await import('/index.js');
      await Promise.all([et.ready({ parts: ['data', 'callbacks'] }), et.ready({ parts: ['data'] })]);
      return [et.data.range(3).cardinality(), (await et.data.toArray(et.data.range(4).batch(2))).length, typeof et.callbacks.csvLogger({ filename: 'x', open: () => ({ append() {} }) })];
    }), [3, 2, 'object']);
    await page.evaluate(async () => { const et = await import('/index.js'); await (await et.openFiles('parts')).close(); });
    assert.deepEqual(fetched.slice(1).sort(), ['callbacks', 'data', 'saving'].map((part) => `${name}.${part}.wasm`));
    assert.deepEqual(page.complaints, []);
    await page.close();
  }
});

test('the parts that et.ready names are downloaded while the module is', async () => {
  const page = await emptyPage(), asked = [];
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route(/\.wasm$/, async (route) => {
    asked.push(route.request().url().split('/').pop());
    if (asked.length === 3) release();
    await held;
    await route.continue();
  });
  assert.equal(await messageOf(page, async () => { et.configure({ build: 'simd' }); await et.ready({ parts: ['data', 'saving'] }); return `${et.data.range(3).cardinality()}`; }), '3');
  assert.deepEqual(asked.sort(), ['etude.data.wasm', 'etude.saving.wasm', 'etude.wasm']);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('a file that is not the module: the error names the address, the content and the fix', async () => {
  const html = '<!doctype html><title>the application</title>';
  const page = await emptyPage();
  await page.route(`${site.url}lost.html`, (route) => route.fulfill({ body: html, contentType: 'text/html' }));
  const lost = await messageOf(page, () => { et.configure({ wasm: '/lost.html' }); return et.ready(); });
  assert.match(lost, /^io \[ready\] "http:\S+\/lost\.html" answered with status 200 and text\/html, which begins with "<!doctype html>.*" - expected a WebAssembly module - .*et\.configure\(\{ wasm: url \}\)\.$/);
  const absent = await messageOf(page, () => { et.configure({ wasm: '/absent.wasm' }); return et.ready(); });
  assert.match(absent, /^io \[ready\] "http:\S+\/absent\.wasm" answered with status 404/);
  // It can be corrected in the same page.
  assert.equal(await messageOf(page, async () => { et.configure({ wasm: '/etude.wasm' }); await et.ready(); return et.variant; }), 'simd');
  await page.close();
});

test('the module loads from bytes, and from a folder with all builds', async () => {
  const page = await emptyPage();
  assert.equal(await messageOf(page, async () => {
    et.configure({ wasm: await (await fetch('/etude-relaxed.wasm')).arrayBuffer(), build: 'relaxed' });
    await et.ready();
    return `${et.variant} ${(await et.sequential([et.layers.dense({ units: 2 })]).predict([[1]])).shape}`;
  }), 'relaxed 1,2');
  await page.close();
  const other = await emptyPage();
  assert.equal(await messageOf(other, async () => { et.configure({ wasm: '/' , threads: 1 }); await et.ready(); return et.variant; }), 'relaxed');
  await other.close();
});
