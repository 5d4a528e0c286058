// The loops share the thread: they yield after a set time, by setImmediate, and never wait for a timer.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, twoDense, waves } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([64, 3]);
const y = waves([64, 1]);
afterEach(() => et.setYieldEvery(16));

/** How often the loop called setImmediate and setTimeout in `epochs` of 64 steps, and how many other callbacks ran. */
async function turns(epochs, options) {
  const model = twoDense();
  model.compile(mse());
  await model.fit(x, y, quiet);
  const { setImmediate, setTimeout } = globalThis;
  const seen = { asked: 0, timers: 0, others: 0, milliseconds: 0 };
  let running = true;
  const other = () => void (running && ((seen.others += 1), setImmediate(other)));
  setImmediate(other);
  globalThis.setImmediate = (...given) => ((seen.asked += 1), setImmediate(...given));
  globalThis.setTimeout = (...given) => ((seen.timers += 1), setTimeout(...given));
  const start = performance.now();
  try {
    await model.fit(x, y, { ...quiet, batchSize: 1, epochs, ...options });
  } finally {
    seen.milliseconds = performance.now() - start;
    running = false;
    Object.assign(globalThis, { setImmediate, setTimeout });
  }
  return seen;
}

test('the loop yields between steps', async (t) => {
  const { asked, timers, others, milliseconds } = await turns(500);
  t.diagnostic(`${asked} turns in ${milliseconds.toFixed(0)} ms`);
  assert.equal(timers, 0);
  assert.ok(asked >= 1 && asked <= milliseconds / 16 + 2, `${asked} turns`);
  assert.ok(others >= asked);
});

test('setYieldEvery(0) yields after every step and every trace, Infinity never', async () => {
  et.setYieldEvery(0);
  const { asked, others, timers } = await turns(2);
  assert.deepEqual([asked, timers], [128 + 1, 0]);
  assert.ok(others >= 127);
  et.setYieldEvery(Infinity);
  assert.equal((await turns(50)).asked, 0);
});

test('yieldEvery applies to one fit: after each batch, each epoch, never, or after some milliseconds', async () => {
  const asked = async (yieldEvery, epochs = 3) => (await turns(epochs, { yieldEvery })).asked;
  et.setYieldEvery(Infinity);
  assert.equal(await asked('auto'), 0);
  assert.equal(await asked('batch'), 192);
  assert.equal(await asked(0), 192);
  assert.equal(await asked('epoch'), 3);
  et.setYieldEvery(0);
  assert.equal(await asked('auto'), 192 + 1);
  assert.equal(await asked('never'), 0);
  assert.equal(await asked(Infinity), 0);
  assert.equal(await asked(1e6), 0);
  await assertError(() => asked('often'), 'value', "'epoch'");
  await assertError(() => asked(-1), 'value', '0 ms');
});

test('a callback is called after each of 8000 steps, at a cost that is printed', async (t) => {
  const count = 512;
  const spiral = Array.from({ length: count }, (_, i) => {
    const r = (i >> 1) / 256, angle = (3.5 * r + (i & 1)) * Math.PI;
    return [r * Math.cos(angle), r * Math.sin(angle)];
  });
  const tanh = () => et.layers.dense({ units: 16, activation: 'tanh' });
  const model = et.sequential([tanh(), tanh(), et.layers.dense({ units: 1, activation: 'sigmoid' })]);
  model.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.1 }), loss: 'binary_crossentropy' });
  const data = [et.tensor(spiral), et.tensor(spiral.map((_, i) => [i & 1]))];
  const fit = (options) => model.fit(...data, { ...quiet, batchSize: 32, epochs: 500, ...options });
  await fit();
  let calls = 0;
  for (const [name, options] of Object.entries({ 'no callback': {}, 'a callback per step': { callbacks: [{ onTrainBatchEnd() { ++calls; } }] } })) {
    const start = performance.now();
    await fit(options);
    t.diagnostic(`tiny, ${name}: ${((1000 * (performance.now() - start)) / 8000).toFixed(2)} µs/step`);
  }
  assert.equal(calls, 8000);
});
