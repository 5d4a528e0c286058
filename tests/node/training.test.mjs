// compile, fit, evaluate and predict, with numbers that can be computed by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, mse, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };

test('one step of SGD moves weights by learning rate times gradient', async () => {
  const model = summing();
  model.compile(mse());
  const { history, epoch } = await model.fit([[1, 2]], [[0]], quiet);
  assert.deepEqual(history, { loss: [9] }); // (1 + 2 - 0)²
  assert.deepEqual(epoch, [0]);
  assertClose(weightsOf(model), [1 - 0.1 * 6, 1 - 0.1 * 12]);
  assert.equal(model.optimizer.iterations, 1);
});

test('evaluate returns the loss, or a list, or an object', async () => {
  const model = summing();
  model.compile(mse());
  assert.equal(await model.evaluate([[1, 2], [0, 1]], [[0], [0]], quiet), 5);
  model.compile({ ...mse(), metrics: ['mse', 'accuracy'] });
  assert.deepEqual(await model.evaluate([[1, 2], [0, 1]], [[0], [1]], quiet), [4.5, 4.5, 0.5]);
  const figures = await model.evaluate([[1, 2], [0, 1]], [[0], [1]], { ...quiet, returnDict: true });
  assert.deepEqual(figures, { loss: 4.5, mse: 4.5, accuracy: 0.5 });
  assert.deepEqual(model.metricsNames, ['loss', 'mse', 'accuracy']);
});

test('predict concatenates batches, with the partial one', async () => {
  const model = summing();
  const y = await model.predict([[1, 2], [3, 4], [5, 6]], { ...quiet, batchSize: 2 });
  assert.deepEqual(y.shape, [3, 1]);
  assert.deepEqual(y.array(), [[3], [7], [11]]);
});

test('a model is called on data outside a step', () => {
  const model = summing();
  assert.deepEqual(model.call([[1, 2]]).array(), [[3]]);
  assert.deepEqual(model.layers[0].call([[2, 2]]).array(), [[4]]);
});

test('single batches train, test and predict', () => {
  const model = summing();
  model.compile(mse());
  assert.equal(model.testOnBatch([[1, 2]], [[0]]), 9);
  assert.equal(model.testOnBatch([[1, 2]], [[0]], { classWeight: { 0: 2 } }), 18);
  assert.deepEqual(model.trainOnBatch([[1, 2]], [[0]], { returnDict: true }), { loss: 9 });
  assertClose([...model.predictOnBatch([[1, 0]]).data], [0.4]);
});

test('sample weights scale the loss of their rows', async () => {
  const model = summing();
  model.compile(mse());
  assert.equal(await model.evaluate([[1, 2], [0, 1]], [[0], [0]], { ...quiet, sampleWeight: [0, 2] }), 1);
});

test('history has one number per epoch, and model.history is the last one', async () => {
  const x = waves([32, 3]);
  const model = twoDense();
  model.compile({ ...mse(), metrics: ['accuracy'] });
  const history = await model.fit(x, signsOf(x), { ...quiet, epochs: 4, initialEpoch: 1, validationSplit: 0.25 });
  assert.deepEqual(history.epoch, [1, 2, 3]);
  assert.deepEqual(Object.keys(history.history), ['loss', 'accuracy', 'val_loss', 'val_accuracy']);
  for (const values of Object.values(history.history)) assert.ok(values.length === 3 && values.every(Number.isFinite));
  assert.equal(model.history, history);
  assert.ok(history.history.loss[2] < history.history.loss[0]);
});

test('validationData is evaluated after each epoch; validationSplit uses the last rows', async () => {
  const x = [[1, 0], [0, 1], [1, 1], [2, 2]];
  const y = [[1], [1], [0], [0]];
  const model = summing();
  model.compile(mse(0));
  const split = await model.fit(x, y, { ...quiet, validationSplit: 0.5 });
  assert.deepEqual(split.history, { loss: [0], val_loss: [(4 + 16) / 2] });
  for (const validationData of [[x.slice(2), y.slice(2)], { x: x.slice(2), y: y.slice(2) }]) {
    const given = await model.fit(x.slice(0, 2), y.slice(0, 2), { ...quiet, epochs: 2, validationData });
    assert.deepEqual(given.history, { loss: [0, 0], val_loss: [10, 10] });
  }
  const seldom = await model.fit(x, y, { ...quiet, epochs: 4, validationFreq: 2, validationData: [x, y] });
  assert.equal(seldom.history.val_loss.length, 2);
});

test('the same seed gives the same weights, another seed different ones', async () => {
  const train = async (seed) => {
    et.setRandomSeed(seed);
    const model = et.sequential([et.layers.dense({ units: 8, activation: 'relu' }), et.layers.dropout({ rate: 0.5 }), et.layers.dense({ units: 1 })]);
    model.compile({ optimizer: 'adam', loss: 'mse' });
    const x = waves([64, 3]);
    await model.fit(x, signsOf(x), { ...quiet, epochs: 3, batchSize: 8 });
    return weightsOf(model);
  };
  const first = await train(7);
  assert.deepEqual(await train(7), first);
  assert.notDeepEqual(await train(8), first);
});

test('weights can be read and set, also from another model', async () => {
  const x = waves([16, 3]);
  const model = twoDense();
  model.compile(mse());
  await model.fit(x, signsOf(x), quiet);
  const copy = twoDense();
  copy.build([-1, 3]);
  copy.setWeights(model.getWeights());
  assert.deepEqual(weightsOf(copy), weightsOf(model));
  assert.deepEqual((await copy.predict(x, quiet)).data, (await model.predict(x, quiet)).data);
  copy.trainableVariables[0].assign(et.tensor(new Float32Array(12), [3, 4]));
  assert.deepEqual([...copy.getWeights()[0].data], new Array(12).fill(0));
  assert.deepEqual(model.getWeights().map((weight) => weight.shape), [[3, 4], [4], [4, 1], [1]]);
});

test('the learning rate can be changed between steps', async () => {
  const model = summing();
  model.compile(mse());
  model.optimizer.learningRate = 0;
  await model.fit([[1, 2]], [[0]], quiet);
  assert.deepEqual(weightsOf(model), [1, 1]);
  model.optimizer.learningRate = 0.1;
  await model.fit([[1, 2]], [[0]], quiet);
  assertClose(weightsOf(model), [0.4, -0.2]);
});

test('layers that are not trainable keep their weights', async () => {
  const model = twoDense();
  model.build([-1, 3]);
  model.layers[0].trainable = false;
  model.compile(mse());
  const before = model.getWeights();
  const x = waves([16, 3]);
  await model.fit(x, signsOf(x), quiet);
  const after = model.getWeights();
  assert.deepEqual(after[0].data, before[0].data);
  assert.notDeepEqual(after[2].data, before[2].data);
});

test('a model can be a layer of another model', async () => {
  const inner = twoDense({ name: 'inner' });
  const outer = et.sequential([inner, et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
  outer.compile(mse());
  const x = waves([16, 3]);
  await outer.fit(x, signsOf(x), { ...quiet, epochs: 2 });
  assert.equal(outer.countParams(), inner.countParams() + 2);
  assert.deepEqual(outer.getLayer('inner').getWeights().map(({ data }) => data), inner.getWeights().map(({ data }) => data));
});

test('layers can be added and removed', () => {
  const model = et.sequential();
  model.add(et.layers.flatten());
  model.add(et.layers.dense({ units: 2 }));
  model.add(et.layers.dense({ units: 3 }));
  model.pop();
  model.build([-1, 2, 2]);
  assert.equal(model.countParams(), 4 * 2 + 2);
});

test('summary matches Keras', () => {
  const model = et.sequential([et.layers.dense({ units: 4, name: 'hidden' }), et.layers.dense({ units: 1, name: 'out' })], { name: 'small' });
  model.build([-1, 3]);
  let text = '';
  model.summary({ printFn: (part) => (text += part) });
  assert.equal(text, `Model: "small"
┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┓
┃ Layer (type)   ┃ Output Shape ┃ Param # ┃
┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━┩
│ hidden (Dense) │ (None, 4)    │      16 │
├────────────────┼──────────────┼─────────┤
│ out (Dense)    │ (None, 1)    │       5 │
└────────────────┴──────────────┴─────────┘
 Total params: 21 (84.00 B)
 Trainable params: 21 (84.00 B)
 Non-trainable params: 0 (0.00 B)
`);
});

test('labels of every dtype train the same classifier', async () => {
  const x = waves([12, 3]);
  const labels = Array.from({ length: 12 }, (_, i) => i % 3);
  const train = async (y) => {
    const model = et.sequential([et.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: et.initializers.glorotUniform({ seed: 1 }) })]);
    model.compile({ optimizer: 'sgd', loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
    await model.fit(x, y, { ...quiet, epochs: 3 });
    return weightsOf(model);
  };
  const expected = await train(Int32Array.from(labels));
  for (const y of [Uint8Array.from(labels), Float32Array.from(labels), labels]) assert.deepEqual(await train(y), expected);
});
