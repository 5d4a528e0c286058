// The build that a page loads; and threads on its main thread, which must not block.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, newPage } from './browser.mjs';
import { isolation, serve } from './serve.mjs';

let browser;
const sites = {};
before(async () => {
  const folder = fileURLToPath(new URL('../../web/dist', import.meta.url));
  sites.plain = await serve(folder);
  sites.isolated = await serve(folder, isolation);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  for (const site of Object.values(sites)) site.close();
});

/** Trains with 1 and with 3 threads; returns the loaded build, the numbers of threads, and all weights. */
async function train() {
  const et = await import('/index.js');
  await et.ready();
  const waves = (size) => Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * (i + 1)));
  const runs = [];
  for (const threads of [1, 3, 1]) {
    et.setNumThreads(threads);
    et.setRandomSeed(1);
    const model = et.sequential([et.layers.dense({ units: 300, activation: 'tanh' }), et.layers.dense({ units: 1 })]);
    model.compile({ optimizer: 'adam', loss: 'mse' });
    await model.fit(et.tensor(waves(256 * 200), [256, 200]), et.tensor(waves(256), [256, 1]), { batchSize: 32, epochs: 8 });
    runs.push({ threads: et.numThreads(), weights: model.getWeights().flatMap(({ data }) => [...data]) });
  }
  return { variant: et.variant, runs };
}

for (const [site, threads] of [['plain', [1, 1, 1]], ['isolated', [1, 3, 1]]])
  test(`a page that is ${site} gets one build, and trains`, async () => {
    const page = await newPage(browser);
    const fetched = new Set();
    page.on('request', (request) => request.url().endsWith('.wasm') && fetched.add(request.url().split('/').at(-1)));
    await page.route(`${sites[site].url}empty.html`, (route) =>
      route.fulfill({ body: '<!doctype html><link rel="icon" href="data:,">', contentType: 'text/html', headers: site === 'isolated' ? isolation : {} }));
    await page.goto(`${sites[site].url}empty.html`);
    const { variant, runs } = await page.evaluate(train);
    assert.equal(variant, site === 'isolated' ? 'relaxed-threads' : 'relaxed');
    assert.deepEqual([...fetched], [`etude-${variant}.wasm`]);
    assert.deepEqual(runs.map((run) => run.threads), threads);
    for (const { weights } of runs) assert.deepEqual(weights, runs[0].weights);
    assert.deepEqual(page.complaints, []);
    await page.close();
  });
