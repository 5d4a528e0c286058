// Losses, metrics and targets for some of several outputs, shared metrics, added losses and weights. Numbers of
// Keras 2: see tests/golden/make_repairs.py.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError } from './support.mjs';

const { layers, metrics, ops } = et;
const keras = JSON.parse(readFileSync(`${process.env.ETUDE_ROOT}/tests/golden/keras2.json`, 'utf8')).cases;
const several = (name) => Object.fromEntries(keras['several outputs'][name]);
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

test('one metric for several outputs is copied for each, as an object or a function', async () => {
  const distance = (yTrue, yPred) => ops.mean(ops.absolute(ops.subtract(yPred, yTrue)), [-1]);
  const metric = metrics.meanAbsoluteError({ name: 'm' });
  assert.deepEqual(figures({ metrics: [metric] }), several('one metric object'));
  const { a_m, b_m, ...losses } = several('one metric object');
  assert.deepEqual(figures({ metrics: [distance] }), { ...losses, a_distance: a_m, b_distance: b_m });
  await assertError(() => figures({ metrics: [[metric], [metric]] }), 'value', 'Found duplicated metrics object');
});

test('metrics accept all of Keras\'s forms', () => {
  const forms = {
    'a metric by name': { b: 'mae' },
    'lists by name': { a: null, b: ['mae', 'mse'] },
    'null and a list': [null, ['mae']],
    'a list and a name': [['mae'], 'mse'],
    'null and a name': [null, 'mae'],
    'one for all': 'mae',
  };
  for (const [name, given] of Object.entries(forms)) assert.deepEqual(figures({ metrics: given }), several(name), name);
  assert.deepEqual(figures({ metrics: { b: metrics.meanAbsoluteError({ name: 'mae' }) } }), several('a metric by name'));
});

test('losses and targets can be passed for some outputs, by name', async () => {
  const y = { b: zeros };
  assert.deepEqual(figures({ loss: { b: 'mse' } }, y), several('loss of b, y of b'));
  assert.deepEqual(figures({ loss: [null, 'mse'] }, y), several('losses as a list with null, y of b'));
  assert.deepEqual(figures({ metrics: ['mae'] }, y), several('y of b, metrics of all'));
  assert.deepEqual(figures({ loss: { b: 'mse' } }, y, { sampleWeight: { b: weights } }), several('loss of b, y of b, weights of b'));
  const model = aAndB({ loss: { b: 'mse' } });
  const { history } = await model.fit(x, y, { verbose: 0, validationData: { x, y } });
  const wanted = keras['fit on some outputs'].validated;
  assert.deepEqual(history, wanted);
  const lists = await model.fit([[1], [2], [4], [8]], { b: [[0], [0], [0], [0]] }, { verbose: 0 });
  assert.deepEqual(lists.history, { loss: wanted.loss, b_loss: wanted.b_loss });
  await assertError(() => figures({ loss: { a: 'mse' } }, y), 'data', 'Target data is missing');
  await assertError(() => figures({}, { c: zeros }), 'data', 'expected one of: a, b');
});

test('names of metrics are resolved as in Keras, and weighted ones of the same name get weighted_', () => {
  const model = et.sequential([layers.activation({ activation: 'linear' })]);
  model.compile({ optimizer: still(), loss: 'mse', metrics: ['Accuracy', 'crossentropy', 'ce'], weightedMetrics: ['ce'] });
  const logs = model.testOnBatch([[0.2], [0.9]], [[0], [1]], { returnDict: true });
  const wanted = Object.fromEntries(keras['names resolved by shapes, weighted']);
  assert.deepEqual(Object.keys(logs), Object.keys(wanted));
  assertClose(Object.values(logs), Object.values(wanted));
});

test('a loss or weighted metric of one number per batch accepts weights', async () => {
  const loss = (yTrue, yPred) => ops.mean(ops.square(ops.subtract(yTrue, yPred)));
  const distance = (yTrue, yPred) => ops.mean(ops.absolute(ops.subtract(yTrue, yPred)));
  const wanted = keras['a loss of one number'];
  const metric = (name) => Object.fromEntries(keras['a weighted metric of one number'][name]).mean_distance;
  const model = et.sequential([times(1, 'unit')]);
  model.compile({ optimizer: still(), loss, weightedMetrics: [distance] });
  assert.deepEqual(model.testOnBatch(x, zeros, { returnDict: true, sampleWeight: weights }), {
    loss: wanted.weighted,
    distance: metric('on a batch'),
  });
  const pairs = await model.evaluate(x, zeros, { ...quiet, batchSize: 2, sampleWeight: weights });
  assert.deepEqual(pairs, { loss: wanted['evaluate by 2'], distance: metric('by 2') });
  const { history } = await model.fit(x, zeros, { verbose: 0, classWeight: { 0: 2 } });
  assert.equal(history.loss[0], wanted['class_weight 2'][0]);
});

test('if a step calls a model twice, the last call adds to the loss; all calls of a shared layer do', () => {
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
  const wanted = keras['added losses'];
  assert.equal(adding(1, 1), wanted['model once']);
  assert.equal(adding(1, 2), wanted['model twice']);
  assert.equal(adding(2, 1), wanted['layer twice']);
  assert.equal(adding(2, 3), wanted['layer twice, model twice']);
});
