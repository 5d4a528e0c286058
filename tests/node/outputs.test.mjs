// What is given for some outputs of several, what they share, and which added losses and weights count. Numbers of
// Keras 2.12.1 and, for added losses, weights and activity regularizers, of 3.15.1 too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError } from './support.mjs';

const { layers, metrics, ops } = et;
const quiet = { verbose: 0, returnDict: true };
const still = () => et.optimizers.sgd({ learningRate: 0 });
const times = (value, name) => layers.dense({ units: 1, useBias: false, kernelInitializer: et.initializers.constant({ value }), name });
const x = et.tensor([1, 2, 4, 8], [4, 1]);
const zeros = et.tensor(new Float32Array(4), [4, 1]);
const weights = et.tensor([1, 2, 3, 6]);

/** x [1] -> "a" = x and "b" = 2 x. */
function aAndB(options = {}) {
  const input = et.input({ shape: [1] });
  const model = et.model({ inputs: [input], outputs: [times(1, 'a').apply(input), times(2, 'b').apply(input)] });
  model.compile({ optimizer: still(), loss: 'mse', ...options });
  return model;
}
const figures = (options, y = [zeros, zeros], more = {}) => aAndB(options).testOnBatch(x, y, { returnDict: true, ...more });
const losses = { loss: 106.25, a_loss: 21.25, b_loss: 85 };

test('one metric for several outputs counts each by itself, be it an object or a function', async () => {
  const distance = (yTrue, yPred) => ops.mean(ops.absolute(ops.subtract(yPred, yTrue)), [-1]);
  const metric = metrics.meanAbsoluteError({ name: 'm' });
  assert.deepEqual(figures({ metrics: [metric] }), { ...losses, a_m: 3.75, b_m: 7.5 });
  assert.deepEqual(figures({ metrics: [distance] }), { ...losses, a_distance: 3.75, b_distance: 7.5 });
  await assertError(() => figures({ metrics: [[metric], [metric]] }), 'value', 'Found duplicated metrics object');
});

test('metrics come in all of the forms of Keras', () => {
  const b = { ...losses, b_mae: 7.5 };
  const both = { ...losses, a_mae: 3.75, b_mae: 7.5 };
  assert.deepEqual(figures({ metrics: { b: 'mae' } }), b);
  assert.deepEqual(figures({ metrics: { a: null, b: ['mae', 'mse'] } }), { ...b, b_mse: 85 });
  assert.deepEqual(figures({ metrics: [null, ['mae']] }), b);
  assert.deepEqual(figures({ metrics: [['mae'], 'mse'] }), { ...losses, a_mae: 3.75, b_mse: 85 });
  assert.deepEqual(figures({ metrics: [null, 'mae'] }), both);
  assert.deepEqual(figures({ metrics: 'mae' }), both);
  assert.deepEqual(figures({ metrics: { b: metrics.meanAbsoluteError({ name: 'mae' }) } }), b);
});

test('losses and targets may be given for some outputs, by name', async () => {
  const y = { b: zeros };
  assert.deepEqual(figures({ loss: { b: 'mse' } }, y), { loss: 85, b_loss: 85 });
  assert.deepEqual(figures({ loss: [null, 'mse'] }, y), { loss: 85, b_loss: 85 });
  assert.deepEqual(figures({ metrics: ['mae'] }, y), { loss: 85, a_loss: 0, b_loss: 85, a_mae: 0, b_mae: 7.5 });
  assert.deepEqual(figures({ loss: { b: 'mse' } }, y, { sampleWeight: { b: weights } }), { loss: 441, b_loss: 441 });
  const model = aAndB({ loss: { b: 'mse' } });
  const { history } = await model.fit(x, y, { verbose: 0, validationData: { x, y } });
  assert.deepEqual(history, { loss: [85], b_loss: [85], val_loss: [85], val_b_loss: [85] });
  const lists = await model.fit([[1], [2], [4], [8]], { b: [[0], [0], [0], [0]] }, { verbose: 0 });
  assert.deepEqual(lists.history, { loss: [85], b_loss: [85] });
  await assertError(() => figures({ loss: { a: 'mse' } }, y), 'data', 'Target data is missing');
  await assertError(() => figures({}, { c: zeros }), 'data', 'expected one of: a, b');
});

test('names of metrics are resolved as in Keras, and weighted ones of the same name get weighted_', () => {
  const model = et.sequential([layers.activation({ activation: 'linear' })]);
  model.compile({ optimizer: still(), loss: 'mse', metrics: ['Accuracy', 'crossentropy', 'ce'], weightedMetrics: ['ce'] });
  const logs = model.testOnBatch([[0.2], [0.9]], [[0], [1]], { returnDict: true });
  assert.deepEqual(Object.keys(logs), ['loss', 'Accuracy', 'crossentropy', 'ce', 'weighted_ce']);
  assert.equal(logs.Accuracy, 1);
  assertClose([logs.crossentropy, logs.ce, logs.weighted_ce], new Array(3).fill(0.1642518938));
});

test('a loss or weighted metric that gives one number for the batch takes weights', async () => {
  const loss = (yTrue, yPred) => ops.mean(ops.square(ops.subtract(yTrue, yPred)));
  const distance = (yTrue, yPred) => ops.mean(ops.absolute(ops.subtract(yTrue, yPred)));
  const model = et.sequential([times(1, 'unit')]);
  model.compile({ optimizer: still(), loss, weightedMetrics: [distance] });
  assert.deepEqual(model.testOnBatch(x, zeros, { returnDict: true, sampleWeight: weights }), { loss: 63.75, distance: 3.75 });
  const pairs = await model.evaluate(x, zeros, { ...quiet, batchSize: 2, sampleWeight: weights });
  assert.deepEqual(pairs, { loss: 91.875, distance: 4.875 });
  const { history } = await model.fit(x, zeros, { verbose: 0, classWeight: { 0: 2 } });
  assert.equal(history.loss[0], 42.5);
});

test('of a model that a step calls twice the last call adds to the loss, of a shared layer all calls do', () => {
  const adding = (times, calls) => {
    const inner = layers.dense({ units: 1, useBias: false, kernelInitializer: 'ones', activityRegularizer: et.regularizers.l1({ l1: 4 }) });
    const model = et.model({
      layers: [inner],
      call: (value) => Array.from({ length: times }).reduce((y) => inner.call(y), value),
      testStep(data) {
        for (let i = 1; i < calls; ++i) this.call(data.x);
        const y = this.call(data.x);
        return this.computeMetrics(data, y, this.computeLoss(data, y));
      },
    });
    model.compile({ optimizer: still(), loss: 'mse' });
    return model.testOnBatch(et.tensor([2, 2, 2, 2], [4, 1]), zeros);
  };
  assert.equal(adding(1, 1), 12);
  assert.equal(adding(1, 2), 12);
  assert.equal(adding(2, 1), 20);
  assert.equal(adding(2, 3), 20);
});
