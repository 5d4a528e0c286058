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

test('a language model shares the vectors of words, and heads of keys and values', async () => {
  const words = layers.reversibleEmbedding({ inputDim: 5, outputDim: 8 });
  const attention = layers.groupedQueryAttention({ headDim: 4, numQueryHeads: 4, numKeyValueHeads: 2 });
  let scores;
  const model = et.model({
    layers: [words, attention],
    call(x) {
      const vectors = words.call(x);
      const attended = attention.attend({ query: vectors, value: vectors, useCausalMask: true });
      scores = attended.scores.shape;
      return words.reverse(attended.output);
    },
  });
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.05 }), loss: et.losses.sparseCategoricalCrossentropy({ fromLogits: true }) });
  const x = et.tensor(Int32Array.from({ length: 40 }, (_, i) => i % 5), [4, 10]), y = et.tensor(Int32Array.from({ length: 40 }, (_, i) => (i + 1) % 5), [4, 10]);
  const { history } = await model.fit(x, y, { epochs: 60, verbose: 0 });
  assert.deepEqual(scores, [4, 4, 10, 10]);
  assert.ok(history.loss.at(-1) < 0.1 * history.loss[0], `${history.loss.at(-1)} after ${history.loss[0]}`);
});
