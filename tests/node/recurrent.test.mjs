import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';

const kinds = { lstm: 4, gru: 3, simpleRnn: 1 };

test('a recurrent layer returns its last step, or all of them', () => {
  const x = et.tensor(new Float32Array(2 * 5 * 3).fill(0.5), [2, 5, 3]);
  for (const kind of Object.keys(kinds)) {
    assert.deepEqual(et.layers[kind]({ units: 4 }).call(x).shape, [2, 4]);
    assert.deepEqual(et.layers[kind]({ units: 4, returnSequences: true, goBackwards: true }).call(x).shape, [2, 5, 4]);
    assert.throws(() => et.layers[kind]({ units: 0 }), { message: /units = 0 - expected a positive number/ });
  }
});

test('a GRU matches its equations', () => {
  const layer = et.layers.gru({ units: 1 });
  const x = et.tensor([[[1], [-2]]]);
  layer.call(x);
  const [w, u, b] = [[0.5, -0.3, 0.8], [0.2, 0.7, -0.4], [[0.1, -0.2, 0.3], [0.4, 0.6, -0.5]]];
  layer.setWeights([et.tensor([w]), et.tensor([u]), et.tensor(b)]);
  const sigmoid = (v) => 1 / (1 + Math.exp(-v));
  let h = 0;
  for (const now of [1, -2]) {
    const [a, c] = [w.map((weight, i) => now * weight + b[0][i]), u.map((weight, i) => h * weight + b[1][i])];
    const [z, r] = [sigmoid(a[0] + c[0]), sigmoid(a[1] + c[1])];
    h = z * h + (1 - z) * Math.tanh(a[2] + r * c[2]);
  }
  assert.ok(Math.abs(layer.call(x).data[0] - h) < 1e-6);
  assert.deepEqual(et.layers.gru({ units: 2, resetAfter: false }).apply(et.input({ shape: [3, 1] })).shape, [-1, 2]);
});

test('a stateful layer continues from the state of the previous batch, until it is reset', () => {
  const x = et.tensor([[[1], [2]]]);
  for (const kind of Object.keys(kinds)) {
    const layer = et.layers[kind]({ units: 2, stateful: true });
    const [first, second] = [[...layer.call(x).data], [...layer.call(x).data]];
    assert.notDeepEqual(second, first);
    layer.resetState();
    assert.deepEqual([...layer.call(x).data], first);
  }
});

for (const kind of Object.keys(kinds)) {
  test(`a model of ${kind} learns which of its steps was marked first`, async () => {
    et.setRandomSeed(1);
    const x = new Float32Array(256 * 6 * 2);
    const y = new Float32Array(256);
    for (let i = 0; i < 256; ++i) {
      y[i] = i % 2;
      const [early, late] = [i % 3, 3 + (i % 3)];
      x[(i * 6 + early) * 2 + (i % 2)] = 1; // which of the two features is marked first
      x[(i * 6 + late) * 2 + ((i + 1) % 2)] = 1;
    }
    const recurrent = et.layers[kind]({ units: 8 });
    const model = et.sequential([recurrent, et.layers.dense({ units: 1, activation: 'sigmoid' })]);
    model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.02 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
    const { history } = await model.fit(et.tensor(x, [256, 6, 2]), y, { epochs: 30, verbose: 0 });
    assert.ok(history.accuracy.at(-1) > 0.95, String(history.accuracy));
    assert.match(model.explain(), /Scan 6 steps/);
    assert.match(model.explain({ passes: true }), /^attention [^]*dataflow\n[^]*placement in \d+ bytes\n[^]*Scan 6 steps/);
    assert.deepEqual(recurrent.getWeights()[0].shape, [2, kinds[kind] * 8]);
  });
}

test('a step can slice, concatenate and reverse', async () => {
  const model = et.model({
    call(x) {
      const [a, b] = et.ops.split(x, 2, -1);
      return et.ops.concatenate([et.ops.reverse(b, -1), et.ops.slice(a, 1, 0, 1)], -1);
    },
  });
  assert.deepEqual((await model.predict([[1, 2, 3, 4]], { verbose: 0 })).array(), [[4, 3, 1]]);
});
