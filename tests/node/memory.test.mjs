// Nothing needs to be freed: the module frees its objects when JavaScript's references are collected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as et from 'etude-ml';
import { mse, twoDense, waves } from './support.mjs';

const quiet = { verbose: 0 };
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
async function used() {
  for (let i = 0; i < 5; ++i) {
    collect();
    await turn();
  }
  return et.memory().usedBytes;
}

async function trainOne(make = twoDense) {
  const model = make();
  model.compile({ optimizer: 'adam', loss: 'mse', metrics: ['accuracy'] });
  await model.fit(waves([64, 3]), waves([64, 1]), quiet);
  await model.predict(waves([4, 3]), quiet);
}

const kinds = {
  'models': twoDense,
  'models whose steps refer to them': () => {
    const model = twoDense({ trainStep: (data) => {
      const yPred = model.call(data.x, true);
      const loss = model.computeLoss(data, yPred);
      model.optimizer.apply(et.gradients(loss, model.trainableVariables), model.trainableVariables);
      return model.computeMetrics(data, yPred, loss);
    } });
    return model;
  },
};
for (const [kind, make] of Object.entries(kinds))
  test(`200 ${kind}, trained and dropped, leak no memory`, async (t) => {
    for (let i = 0; i < 20; ++i) await trainOne(make);
    const before = await used();
    const { heapBytes } = et.memory();
    for (let i = 0; i < 200; ++i) {
      await trainOne(make);
      if (i % 20 === 0) await used();
    }
    const grown = (await used()) - before;
    t.diagnostic(`${grown} bytes more after 200 models`);
    assert.ok(grown < 16384, `${grown} bytes`);
    assert.equal(et.memory().heapBytes, heapBytes);
  });

test('epochs need no additional memory', async () => {
  const model = twoDense();
  model.compile(mse());
  const seen = [];
  await model.fit(waves([256, 3]), waves([256, 1]), { ...quiet, batchSize: 4, epochs: 40, validationSplit: 0.2, callbacks: [{ onEpochEnd: () => void seen.push(et.memory()) }] });
  assert.equal(seen.at(-1).heapBytes, seen[0].heapBytes);
  const grown = seen.at(-1).usedBytes - seen[2].usedBytes;
  assert.ok(grown < 4096, `${grown} bytes in 37 epochs`); // its History grows
});

test('a fit continues after its model\'s last reference is gone', async () => {
  et.setYieldEvery(0);
  const loop = (() => {
    const model = twoDense();
    model.compile(mse());
    return model.fit(waves([64, 3]), waves([64, 1]), { ...quiet, batchSize: 1 });
  })();
  for (let i = 0; i < 10; ++i) await used();
  assert.equal((await loop).history.loss.length, 1);
  et.setYieldEvery(16);
});
