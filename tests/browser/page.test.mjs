// The built page of demo/web.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, median, newPage } from './browser.mjs';
import { isolation, serve } from './serve.mjs';

const folder = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const screenshots = folder('build/screenshots');
const patience = { timeout: 120_000 };
// Pages draw weights and orders at random. The trainings here reached 61 to 85 correct images of 100 in 135 runs.
const learned = 40; // percent; an untrained model names 10
const budget = 16; // ms between two yields of the loop, which finishes a started step

let browser, site;
before(async () => {
  mkdirSync(screenshots, { recursive: true });
  site = await serve(folder('demo/web/dist'));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

/** The page, with its first images. */
async function open(query = '', options = {}) {
  const page = await newPage(browser, options);
  await page.goto(site.url + query);
  await state(page, 'ready');
  return page;
}
const state = (page, name) => page.waitForSelector(`body[data-state=${name}]`, patience);
const arrived = (page) => page.waitForFunction(() => document.querySelector('#arrived').textContent === '', null, patience);
const text = (page, selector) => page.locator(selector).textContent();
const number = async (page, selector) => parseFloat((await text(page, selector)).replaceAll(',', ''));

test('trains, draws curves and names images', async (t) => {
  const page = await open('?samples=12000&epochs=3');
  await arrived(page); // until then images are used in their order, and their number depends on the machine
  await page.click('#train');
  await state(page, 'training');
  await state(page, 'ready');

  assert.equal(await text(page, '#status'), 'Trained.');
  assert.ok((await number(page, '#accuracy')) > learned, `held-out accuracy ${await text(page, '#accuracy')}`);
  for (const curves of ['#loss', '#acc']) {
    const points = Number(await page.getAttribute(curves, 'data-points'));
    assert.ok(points >= 60, `${points} points in ${curves}`);
  }
  assert.equal(await page.locator('#gallery li').count(), 24);
  assert.ok((await page.locator('#gallery li.right').count()) > 24 * 0.2);
  const right = await number(page, '#verdict');
  // The metric is a float32: 8225 of 10,000 is a little less than 82.25 %.
  const share = Math.fround(right / 10_000);
  assert.equal((100 * share).toFixed(1), (await text(page, '#accuracy')).replace('%', ''), 'what it named correctly is its accuracy');

  const turns = (await page.evaluate('turns')).map(({ began, ended }) => ended - began);
  const step = (1000 * 128) / (await number(page, '#rate'));
  t.diagnostic(`${await text(page, '#rate')} samples/s, ${step.toFixed(1)} ms per step`);
  t.diagnostic(`${turns.length} turns: median ${median(turns).toFixed(1)} ms, longest ${Math.max(...turns).toFixed(1)} ms`);
  t.diagnostic(await text(page, '#pauses'));
  assert.ok(turns.length > 10);
  assert.ok(median(turns) <= budget + 1.5 * step, `the loop keeps the thread for ${median(turns)} ms, at ${step} ms per step`);

  await page.screenshot({ path: `${screenshots}/desktop.png`, fullPage: true });
  await page.click('#mistakes');
  assert.equal(await page.locator('#gallery li.wrong').count(), 24);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('stops within an epoch, and the model stays usable', async () => {
  const page = await open('?epochs=50');
  await page.click('#train');
  await page.waitForFunction(() => Number(/step (\d+)/.exec(document.querySelector('#where').textContent)?.[1]) >= 30, null, patience);
  await page.click('#stop');
  await state(page, 'ready');
  assert.match(await text(page, '#where'), /^epoch 1 of 50/);
  assert.match(await text(page, '#status'), /^Stopped/);
  assert.ok((await number(page, '#verdict')) > 100 * learned, await text(page, '#verdict'));

  await page.click('#train'); // and another one
  await page.waitForFunction(() => /step [1-9]/.test(document.querySelector('#where').textContent), null, patience);
  await page.click('#stop');
  await state(page, 'ready');
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('Stop can be clicked as soon as it has an effect', async () => {
  const page = await open('?samples=6000&epochs=50');
  assert.ok(await page.evaluate(() => {
    document.querySelector('#train').click();
    return document.querySelector('#stop').disabled;
  }));
  await page.click('#stop');
  await state(page, 'ready');
  assert.match(await text(page, '#status'), /^Stopped/);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

for (const [name, options] of [
  ['phone', { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }],
  ['dark', { colorScheme: 'dark' }],
])
  test(`looks right: ${name}`, async () => {
    const page = await open('?samples=6000&epochs=2', options);
    await page.click('#train');
    await page.waitForFunction(() => document.querySelector('#verdict').textContent.includes('correctly'), null, patience);
    const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= screen, `${content} pixels wide on a screen of ${screen}`);
    await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
    assert.deepEqual(page.complaints, []);
    await page.close();
  });

test('has threads, whether the server isolates the page or its service worker does', async () => {
  const isolating = await serve(folder('demo/web/dist'), isolation);
  for (const url of [site.url, isolating.url]) {
    const page = await newPage(browser);
    await page.goto(`${url}?samples=6000&epochs=1`);
    await state(page, 'ready');
    assert.equal(await page.evaluate('crossOriginIsolated'), true, url);
    assert.match((await page.evaluate('performance.getEntriesByType("resource").map((entry) => entry.name).join(" ")')), /etude-(relaxed-)?threads.*\.wasm/);
    assert.deepEqual(page.complaints, []);
    await page.close();
  }
  isolating.close();
});

test('the development server and the preview isolate the page', async () => {
  const root = folder('demo/web');
  const vite = await import(pathToFileURL(createRequire(`${root}/package.json`).resolve('vite')));
  const quiet = { root, logLevel: 'silent' };
  const started = await vite.createServer({ ...quiet, server: { host: '127.0.0.1', port: 0 } });
  for (const server of [await started.listen(), await vite.preview({ ...quiet, preview: { host: '127.0.0.1', port: 0 } })]) {
    const { headers } = await fetch(server.resolvedUrls.local[0]);
    for (const [name, value] of Object.entries(isolation)) assert.equal(headers.get(name), value);
    await server.close();
  }
});

test('on a slow line, trains while most images are loading, and shows the number of loaded ones', async (t) => {
  const slow = await serve(folder('demo/web/dist'), isolation, 'train-images');
  const page = await newPage(browser);
  await page.goto(`${slow.url}?epochs=1`);
  const look = () => page.evaluate(() => ({
    loading: document.body.dataset.state === 'loading',
    progress: document.querySelector('#progress').value,
    images: Number(/^Fetching images: ([\d,]+) of 60,000…$/.exec(document.querySelector('#status').textContent)?.[1].replaceAll(',', '') ?? 0),
  }));
  const seen = [];
  for (let now; (now = await look()).loading; ) seen.push(now);
  await state(page, 'ready');
  for (const figure of ['progress', 'images']) {
    const values = seen.map((one) => one[figure]);
    assert.ok(new Set(values).size >= 3, `${figure}: ${values}`);
    assert.deepEqual(values, values.toSorted((a, b) => a - b), `${figure} goes up`);
    t.diagnostic(`while images came ${figure} was seen at ${[...new Set(values)].map((value) => +value.toFixed(2)).join(', ')}`);
  }
  const count = () => number(page, '#arrived');
  const before = await count();
  assert.ok(before >= 4500 && before < 30_000, `${before} images`);
  await page.click('#train');
  await page.waitForFunction(() => Number(/step (\d+)/.exec(document.querySelector('#where').textContent)?.[1]) >= 10, null, patience);
  const during = await count();
  assert.ok(during < 60_000, `${during} images`);
  slow.hurry();
  await arrived(page);
  await state(page, 'ready');
  assert.ok((await number(page, '#accuracy')) > learned, await text(page, '#accuracy'));
  t.diagnostic(`${before} images before it could train, ${during} when it had trained ten steps`);
  assert.deepEqual(page.complaints, []);
  await page.close();
  slow.close();
});

/** The longest pause of the page's thread, in ms, during half a second of work: below 1 on an idle machine. */
const aside = (page) => page.evaluate(() => {
  let last = performance.now(), longest = 0;
  for (const end = last + 500; last < end; ) {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
});

/**
 * How many times longer a fixed task takes than on a machine of usual speed, for which the bound of 50 ms is meant: 1 or more.
 * The 22 ms are an estimate: a machine on which Python is 2.5 times slower takes 57 ms.
 */
const slowness = (page) => page.evaluate(() => {
  const task = () => {
    const begin = performance.now(), numbers = Float64Array.from({ length: 1e5 }, (_, i) => Math.sin(i));
    JSON.parse(JSON.stringify([...numbers.sort()]));
    return performance.now() - begin;
  };
  return Math.max(1, Math.min(...Array.from({ length: 5 }, task)) / 22);
});

test('no task of the page takes 50 ms while it trains, in proportion more on a slow machine: the best of three runs', async (t) => {
  const longest = [];
  let bound = 50;
  for (let run = 0; run < 9 && longest.length < 3 && !(longest.at(-1) < bound); ++run) {
    const page = await open('?samples=12000&epochs=2');
    await arrived(page);
    bound = 50 * (await slowness(page));
    const before = await aside(page);
    await page.click('#train');
    await state(page, 'training');
    await state(page, 'ready');
    const busy = Math.max(before, await aside(page));
    // The browser counts tasks of 50 ms and more.
    const [, said, task] = /; longest task: (below 50 ms|([\d,]+) ms)\.$/.exec(await text(page, '#pauses'));
    t.diagnostic(`longest task: ${said}; outside of training the thread was paused for ${busy.toFixed(1)} ms; the bound is ${bound.toFixed(0)} ms`);
    if (!task || busy < 10) longest.push(task ? parseFloat(task.replaceAll(',', '')) : 0);
    await page.close();
  }
  if (longest.length < 3 && !(longest.at(-1) < bound)) return t.skip('other programs keep this machine busy');
  assert.ok(Math.min(...longest) < bound, `longest tasks of three runs: ${longest.join(', ')} ms`);
});
