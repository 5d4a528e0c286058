// Layers of several inputs, and attention, from JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, waves } from './support.mjs';

const { layers } = et;

test('a layer of several inputs accepts a list, of data or of Values', async () => {
  const add = layers.add();
  const a = et.tensor([[1, 2], [3, 4]]);
  assert.deepEqual([...add.call([a, a]).data], [2, 4, 6, 8]);
  await assertError(() => add.call(a), 'value', 'expected a list of inputs');
});

test('a transformer block trains', async () => {
  const norm = layers.layerNormalization({ epsilon: 1e-5 });
  const attention = layers.multiHeadAttention({ numHeads: 2, keyDim: 4 });
  const add = layers.add();
  const pool = layers.globalAveragePooling1d();
  const head = layers.dense({ units: 1 });
  let scores;
  const model = et.model({
    layers: [norm, attention, add, pool, head],
    call(x) {
      const even = norm.call(x);
      const attended = attention.attend({ query: even, value: even, useCausalMask: true });
      scores = attended.scores.shape;
      return head.call(pool.call(add.call([x, attended.output])));
    },
  });
  model.compile({ optimizer: 'adam', loss: 'mse' });
  const x = waves([8, 5, 6]);
  const y = waves([8, 1]);
  const { history } = await model.fit(x, y, { epochs: 20, verbose: 0 });
  assert.deepEqual(scores, [8, 2, 5, 5]);
  assert.ok(history.loss.at(-1) < history.loss[0]);
  assert.deepEqual(attention.getWeights().map(({ shape }) => [...shape])[0], [6, 2, 4]);
});
