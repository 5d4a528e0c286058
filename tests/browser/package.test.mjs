// The package in a browser without a bundler: in a page, and in a worker.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, median, newPage } from './browser.mjs';
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

/** An empty page beside the package, and beside `files`. */
async function emptyPage(files = {}) {
  const page = await newPage(browser);
  for (const [name, body] of Object.entries({ 'empty.html': '<!doctype html><link rel="icon" href="data:,">', ...files }))
    await page.route(`${site.url}${name}`, (route) => route.fulfill({ body, contentType: name.endsWith('html') ? 'text/html' : 'text/javascript' }));
  await page.goto(`${site.url}empty.html`);
  return page;
}

/** Trains something small for a while, in the page; gives when steps began. */
async function train(yieldEvery) {
  const et = await import('/index.js');
  const rows = 4096, columns = 64;
  const x = et.tensor(Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)), [rows, columns]);
  const y = et.tensor(Int32Array.from({ length: rows }, (_, i) => i % 10));
  const model = et.sequential([et.layers.dense({ units: 128, activation: 'relu' }), et.layers.dense({ units: 10, activation: 'softmax' })]);
  model.compile({ loss: 'sparse_categorical_crossentropy' });
  if (yieldEvery !== undefined) et.setYieldEvery(yieldEvery);
  const steps = [];
  await model.fit(x, y, { batchSize: 32, epochs: 4, callbacks: [{ onTrainBatchBegin: () => void steps.push(performance.now()) }] });
  return { steps, turns: globalThis.turns };
}

for (const given of [undefined, 4]) {
  const budget = given ?? 16;
  test(`yields as soon as ${budget} ms are over`, async (t) => {
    const page = await emptyPage();
    const { steps, turns } = await page.evaluate(train, given);
    const lengths = turns.map(({ began, ended }) => ended - began);
    t.diagnostic(`${turns.length} turns of ${steps.length} steps: median ${median(lengths).toFixed(1)} ms, longest ${Math.max(...lengths).toFixed(1)} ms`);
    assert.ok(turns.length > 4);
    // Clocks of pages tick every 0.1 ms; and whoever shares the processor may come between the loop's look at it and the step.
    assert.ok(Math.min(...lengths) > budget - 0.5, `a turn ended after ${Math.min(...lengths)} ms`);
    const offsets = turns.flatMap(({ began, ended }) => steps.filter((step) => step >= began && step < ended).map((step) => step - began));
    const late = offsets.filter((offset) => offset > budget + 0.5);
    assert.ok(late.length <= 0.01 * offsets.length, `${late.length} of ${offsets.length} steps began after the loop's time was over: ${late}`);
    assert.deepEqual(page.complaints, []);
    await page.close();
  });
}

test('never yields if told so', async () => {
  const page = await emptyPage();
  const { steps, turns } = await page.evaluate(train, Infinity);
  assert.equal(steps.length, 512);
  assert.ok(turns.length <= 1, `${turns.length} turns`);
  await page.close();
});

test('trains in a worker', async () => {
  const worker = `
    import * as et from './index.js';
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
