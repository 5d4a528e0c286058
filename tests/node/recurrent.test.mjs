import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude';

test('an LSTM gives its last step, or all of them', () => {
  const x = et.tensor(new Float32Array(2 * 5 * 3).fill(0.5), [2, 5, 3]);
  assert.deepEqual(et.layers.lstm({ units: 4 }).call(x).shape, [2, 4]);
  assert.deepEqual(et.layers.lstm({ units: 4, returnSequences: true, goBackwards: true }).call(x).shape, [2, 5, 4]);
  assert.throws(() => et.layers.lstm({ units: 0 }), { message: /units = 0 - expected a positive number/ });
});

test('an LSTM learns which of its steps was marked first', async () => {
  et.setRandomSeed(1);
  const x = new Float32Array(256 * 6 * 2);
  const y = new Float32Array(256);
  for (let i = 0; i < 256; ++i) {
    y[i] = i % 2;
    const [early, late] = [i % 3, 3 + (i % 3)];
    x[(i * 6 + early) * 2 + (i % 2)] = 1; // which of the two features is marked first
    x[(i * 6 + late) * 2 + ((i + 1) % 2)] = 1;
  }
  const model = et.sequential([et.layers.lstm({ units: 8 }), et.layers.dense({ units: 1, activation: 'sigmoid' })]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.02 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  const { history } = await model.fit(et.tensor(x, [256, 6, 2]), y, { epochs: 30, verbose: 0 });
  assert.ok(history.accuracy.at(-1) > 0.95, String(history.accuracy));
  assert.match(model.explain(), /Scan 6 steps/);
});

test('a step can slice, join and reverse', async () => {
  const model = et.model({
    call(x) {
      const [a, b] = et.ops.split(x, 2);
      return et.ops.concatenate([et.ops.reverse(b, -1), et.ops.slice(a, 1, 0, 1)]);
    },
  });
  assert.deepEqual((await model.predict([[1, 2, 3, 4]], { verbose: 0 })).array(), [[4, 3, 1]]);
});
