// Functional models, and losses, metrics and arrays for each output.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError } from './support.mjs';

const { layers } = et;
const quiet = { verbose: 0 };
const unit = (name, value = 1, options = {}) => layers.dense({ units: 1, useBias: false, kernelInitializer: et.initializers.constant({ value }), name, ...options });
const ones = et.tensor(new Float32Array(8).fill(1), [4, 2]);
const zeros = et.tensor(new Float32Array(4), [4, 1]);
const still = () => et.optimizers.sgd({ learningRate: 0 });

/** x [2] -> "sum", the sum of x, and "twice", twice that. */
function twoOutputs() {
  const x = et.input({ shape: [2], name: 'x' });
  return et.model({ inputs: [x], outputs: [unit('sum').apply(x), unit('twice', 2).apply(x)] });
}

test('inputs branch and merge; layers are shared', async () => {
  const [a, b] = [et.input({ shape: [2] }), et.input({ shape: [2] })];
  assert.deepEqual(a.shape, [-1, 2]);
  const shared = unit('shared', 3);
  const joined = layers.concatenate().apply([shared.apply(a), shared.apply(b)]);
  const model = et.model({ inputs: [a, b], outputs: [joined] });
  assert.equal(model.variables.length, 1);
  const twos = et.tensor(new Float32Array(8).fill(2), [4, 2]);
  assertClose((await model.predict([ones, twos], quiet)).data, [6, 12, 6, 12, 6, 12, 6, 12]);
});

test('a single input and a single output need no list', async () => {
  const x = et.input({ shape: [2] });
  const model = et.model({ inputs: x, outputs: unit('sum').apply(x) });
  assertClose((await model.predict(ones, quiet)).data, [2, 2, 2, 2]);
});

test('an extent of null is unknown: that of each batch may be another one', async () => {
  const images = et.input({ shape: [null, null, 1] });
  assert.deepEqual(images.shape, [-1, -1, -1, 1]);
  const sums = layers.conv2d({ filters: 1, kernelSize: 2, useBias: false, kernelInitializer: 'ones' }).apply(images);
  const model = et.model({ inputs: images, outputs: layers.globalMaxPooling2d().apply(sums) });
  const copy = et.modelFromJson(model.toJson());
  copy.setWeights(model.getWeights());
  for (const [height, width] of [[2, 3], [5, 4]])
    for (const each of [model, copy])
      assertClose((await each.predict(et.tensor(new Float32Array(height * width).fill(1), [1, height, width, 1]), quiet)).data, [4]);
  const built = et.sequential([unit('built')]);
  built.build([null, null, 2]);
  assert.deepEqual(built.layers[0].outputShape, [1, -1, 1]);
  await assertError(() => unit('top').apply(layers.flatten().apply(images)), 'shape', '"top/kernel" of shape [-1, 1]');
  await assertError(() => et.input({ shape: [undefined, 1] }), 'value', 'a whole number');
});

test('losses, weights and metrics are passed for all outputs, as lists or by name', async () => {
  const model = twoOutputs();
  assert.deepEqual(model.outputNames, ['sum', 'twice']);
  const figures = async (options) => {
    model.compile({ optimizer: still(), ...options });
    return await model.evaluate(ones, [zeros, zeros], { ...quiet, returnDict: true });
  };
  assert.deepEqual(await figures({ loss: 'mse' }), { loss: 20, sum_loss: 4, twice_loss: 16 });
  assert.deepEqual(await figures({ loss: ['mse', 'mse'], lossWeights: { twice: 0.5 } }), { loss: 12, sum_loss: 4, twice_loss: 16 });
  assert.deepEqual(await figures({ loss: { twice: 'mse' }, metrics: { twice: ['mse'] } }), { loss: 16, twice_loss: 16, twice_mse: 16 });
  assert.deepEqual((await model.predictOutputs(ones, quiet)).map(({ data }) => data[0]), [2, 4]);
  await assertError(() => figures({ loss: { thrice: 'mse' } }), 'value', 'sum, twice');
  await assertError(() => model.predict(ones, quiet), 'value', 'predictOutputs');
});

test('arrays are passed by the names of inputs and outputs', async () => {
  const [z, a] = ['z', 'a'].map((name) => et.input({ shape: [2], name }));
  const model = et.model({ inputs: [z, a], outputs: [unit('sum').apply(layers.add().apply([z, unit('wide').apply(a)])), unit('twice', 2).apply(z)] });
  const twos = et.tensor(new Float32Array(8).fill(2), [4, 2]);
  assert.deepEqual(model.inputNames, ['z', 'a']);
  assert.deepEqual((await model.predictOutputs({ a: twos, z: ones }, quiet)).map(({ data }) => data[0]), [10, 4]);
  model.compile({ optimizer: still(), loss: 'mse' });
  const { history } = await model.fit({ a: twos, z: ones }, { twice: zeros, sum: zeros }, { ...quiet, sampleWeight: { twice: et.tensor([2, 2, 2, 2]) } });
  assert.deepEqual(history, { loss: [132], sum_loss: [100], twice_loss: [32] });
  const named = { x: { a: twos, z: ones }, y: { twice: zeros, sum: zeros } };
  assert.deepEqual(await model.evaluate(named, { ...quiet, returnDict: true }), { loss: 116, sum_loss: 100, twice_loss: 16 });
  await assertError(() => model.predictOutputs({ a: twos }, quiet), 'data', 'input "z"');
  assert.deepEqual(model.testOnBatch(named.x, named.y, { returnDict: true }), { loss: 116, sum_loss: 100, twice_loss: 16 });
  assert.deepEqual(model.trainOnBatch(named.x, named.y, { sampleWeight: { twice: [2, 2, 2, 2] } }), [132, 100, 32]);
  assert.deepEqual(model.predictOutputsOnBatch(named.x).map(({ data }) => data[0]), [10, 4]);
  await assertError(() => model.predictOnBatch(named.x), 'value', 'predictOutputsOnBatch');
  for (const wrong of [Promise.resolve(zeros), new Map([['twice', zeros]])]) {
    await assertError(() => model.evaluate([ones, twos], wrong, quiet), 'data', 'expected a Tensor');
    await assertError(() => model.evaluate([ones, twos], [zeros, zeros], { ...quiet, sampleWeight: wrong }), 'data', 'expected a Tensor');
  }
});

// The numbers of Keras 3.15.1: x = a + 10 b, y = 2 a.
const column = (value) => et.tensor(new Float32Array(4).fill(value), [4, 1]);
const inputs = { b: column(2), a: column(1) }, targets = { y: column(1), x: column(1) };
const firstOf = (outputs) => {
  if (outputs instanceof et.Tensor) return outputs.data[0];
  return Array.isArray(outputs) ? outputs.map(firstOf) : Object.fromEntries(Object.entries(outputs).map(([name, each]) => [name, firstOf(each)]));
};

/** Of objects of inputs and outputs; the layers have other names. */
function byName(options = {}) {
  const [a, b] = ['a', 'b'].map((name) => et.input({ shape: [1], name }));
  const x = unit('first').apply(layers.add({ name: 'add' }).apply([a, unit('ten', 10).apply(b)]));
  return et.model({ inputs: { b, a }, outputs: { y: unit('second', 2).apply(a), x }, ...options });
}

test('a model of objects trains and predicts by their names, on every kind of data', async () => {
  const model = byName();
  assert.deepEqual([model.inputNames, model.outputNames], [['a', 'b'], ['x', 'y']]);
  model.compile({ optimizer: still(), loss: { x: 'mse', y: 'mae' }, lossWeights: { x: 2, y: 1 }, metrics: { x: ['mae'] } });
  const batches = function* () { yield [inputs, targets]; yield { x: inputs, y: targets }; };
  const later = async function* () { yield* batches(); };
  const sequence = { length: 2, getItem: () => [inputs, targets] };
  const dataset = et.data.fromTensorSlices({ x: inputs, y: targets }).map(({ x: { a, b }, y }) => ({ x: { b, a }, y })).batch(2);
  for (const data of [batches, later, sequence, dataset, { x: inputs, y: targets }])
    assert.deepEqual((await model.fit(data, quiet)).history, { loss: [801], x_loss: [400], y_loss: [1], x_mae: [20] });
  assert.deepEqual((await model.fit(inputs, targets, { ...quiet, sampleWeight: { x: [2, 2, 2, 2] } })).history.loss, [1601]);
  const again = et.modelFromJson(model.toJson());
  for (const outputs of [
    await model.predict(inputs, quiet),
    await model.predict(function* () { yield inputs; }, quiet),
    await again.predict(inputs, quiet),
    model.predictOnBatch(inputs),
    model.call(inputs),
    (await model.predictStream(inputs, quiet).next()).value,
  ])
    assert.deepEqual(firstOf(outputs), { x: 21, y: 2 });
  assert.deepEqual((await model.predictOutputs(inputs, quiet)).map(({ data }) => data[0]), [21, 2]);
});

test('functions of Values get and return objects, in models, steps and custom layers', async () => {
  const model = byName({
    testStep(data) {
      const { x, y } = this.call(data.x);
      return { loss: this.computeLoss(data, { x, y }), sum: et.ops.mean(et.ops.add(y, data.y.y)) };
    },
  });
  model.compile({ optimizer: still(), loss: 'mse' });
  for (const data of [{ x: inputs, y: targets }, function* () { yield [inputs, targets]; }])
    assert.deepEqual(await model.evaluate(data, { ...quiet, returnDict: true }), { loss: 401, sum: 3 });

  const whole = et.model({
    layers: [model],
    call({ p, q }) {
      const { x, y } = model.call({ b: q, a: p });
      return { more: et.ops.add(x, y), difference: et.ops.subtract(x, y) };
    },
  });
  const two = { q: column(2), p: column(1) }, zero = { more: zeros, difference: zeros };
  whole.compile({ optimizer: still(), loss: { difference: 'mse', more: 'mae' } });
  for (const data of [{ x: two, y: zero }, function* () { yield [two, zero]; }])
    assert.deepEqual((await whole.fit(data, quiet)).history, { loss: [361 + 23], difference_loss: [361], more_loss: [23] });
  assert.deepEqual(firstOf(await whole.predict(two, quiet)), { difference: 19, more: 23 });
  assert.deepEqual(firstOf(whole.call(two)), { difference: 19, more: 23 });

  class Both extends et.Layer {
    call({ a, b }) {
      return { sum: et.ops.add(a, b) };
    }
  }
  assert.deepEqual(firstOf(new Both().call(inputs)), { sum: 3 });
  const [p, q] = [et.input({ shape: [1] }), et.input({ shape: [1] })];
  const { x, y } = model.apply({ b: q, a: p });
  const outer = et.model({ inputs: [p, q], outputs: [layers.subtract().apply([x, y])] });
  assert.equal((await outer.predict([column(1), column(2)], quiet)).data[0], 19);
});

// The numbers of Keras 3.15.1: boxes = [x + 10 a + 100 s + 1000 t, 2 a], score = 3 t.
const image = { meta: { sizes: [column(3), column(4)], age: column(2) }, image: column(1) }, marked = { score: column(1), boxes: [column(1), column(1)] };
const found = { boxes: [4321, 4], score: 12 };

/** Of lists and objects inside objects. */
function nested(options = {}) {
  const [x, a, s, t] = ['x', 'a', 's', 't'].map((name) => et.input({ shape: [1], name }));
  const total = layers.add({ name: 'total' }).apply([x, unit('ten', 10).apply(a), unit('hundred', 100).apply(s), unit('thousand', 1000).apply(t)]);
  const outputs = { score: unit('sc', 3).apply(t), boxes: [unit('b1').apply(total), unit('b2', 2).apply(a)] };
  return et.model({ inputs: { meta: { sizes: [s, t], age: a }, image: x }, outputs, ...options });
}

test('a model of nested lists and objects trains and predicts by them, on every kind of data', async () => {
  const model = nested();
  assert.deepEqual([model.inputNames, model.outputNames], [['image', 'meta/age', 'meta/sizes/0', 'meta/sizes/1'], ['boxes/0', 'boxes/1', 'score']]);
  const metrics = { boxes: ['mae', 'mse'], score: 'mae' };
  model.compile({ optimizer: still(), loss: { boxes: ['mse', 'mae'], score: 'mse' }, lossWeights: { boxes: [0.5, 2], score: 1 }, metrics });
  const batches = function* () { yield [image, marked]; yield { x: image, y: marked }; };
  const sequence = { length: 2, getItem: async () => [image, marked] };
  const same = ({ x: { image, meta: { age, sizes: [s, t] } }, y }) => ({ x: { meta: { sizes: [s, t], age }, image }, y });
  const dataset = et.data.fromTensorSlices({ x: image, y: marked }).map(same).batch(2);
  const lists = { x: { image: [[1], [1]], meta: { age: [[2], [2]], sizes: [et.tensor([[3], [3]]), [[4], [4]]] } }, y: { boxes: [et.tensor([[1], [1]]), [[1], [1]]], score: [[1], [1]] } };
  const history = { loss: [9331327], 'boxes/b1_loss': [18662400], 'boxes/b2_loss': [3], score_loss: [121], 'boxes/b1_mae': [4320], 'boxes/b2_mse': [9], score_mae: [11] };
  for (const data of [batches, sequence, dataset, lists, { x: image, y: marked }]) assert.deepEqual((await model.fit(data, quiet)).history, history);
  const sampleWeight = { boxes: [null, et.tensor([2, 2, 2, 2])] };
  assert.deepEqual((await model.fit(image, marked, { ...quiet, sampleWeight })).history['boxes/b2_loss'], [6]);

  const { config } = JSON.parse(model.toJson());
  assert.deepEqual(config.input_layers, { image: ['x', 0, 0], meta: { age: ['a', 0, 0], sizes: [['s', 0, 0], ['t', 0, 0]] } });
  assert.deepEqual(config.output_layers, { boxes: [['b1', 0, 0], ['b2', 0, 0]], score: ['sc', 0, 0] });
  for (const outputs of [
    await model.predict(image, quiet),
    await model.predict(function* () { yield image; }, quiet),
    await et.modelFromJson(model.toJson()).predict(image, quiet),
    model.predictOnBatch(image),
    model.call(image),
    model.call({ image: [[1]], meta: { age: [[2]], sizes: [[[3]], et.tensor([[4]])] } }),
    (await model.predictStream(image, quiet).next()).value,
  ])
    assert.deepEqual(firstOf(outputs), found);
  for (const each of [[['mae'], ['mse'], ['mae']], { boxes: [['mae'], ['mse']], score: ['mae'] }]) {
    model.compile({ optimizer: still(), loss: { boxes: [null, 'mae'] }, metrics: each });
    assert.deepEqual((await model.fit(image, marked, quiet)).history, { loss: [3], 'boxes/b2_loss': [3], 'boxes/b1_mae': [4320], 'boxes/b2_mse': [9], score_mae: [11] });
  }
});

test('functions of Values get and return nested lists and objects', async () => {
  const model = nested({
    testStep(data) {
      const { boxes: [, second], score } = this.call(data.x);
      return { loss: this.computeLoss(data, this.call(data.x)), sum: et.ops.mean(et.ops.add(et.ops.add(second, score), data.y.boxes[1])) };
    },
  });
  model.compile({ optimizer: still(), loss: { boxes: ['mae', 'mae'], score: 'mae' } });
  assert.deepEqual(await model.evaluate({ x: image, y: marked }, { ...quiet, returnDict: true }), { loss: 4320 + 3 + 11, sum: 4 + 12 + 1 });

  const whole = et.model({
    layers: [model],
    call([p, { q: [q] }]) {
      const { boxes, score } = model.call({ meta: { age: q, sizes: [p, q] }, image: p });
      return [score, { more: boxes }];
    },
  });
  const two = [column(1), { q: [column(2)] }];
  whole.compile({ optimizer: still(), loss: 'mae' });
  const target = [column(0), { more: [column(0), column(0)] }];
  for (const data of [{ x: two, y: target }, function* () { yield [two, target]; }])
    assert.equal((await whole.evaluate(data, { ...quiet, returnDict: true })).loss, 6 + 2121 + 4);
  assert.deepEqual(firstOf(await whole.predict(two, quiet)), [6, { more: [2121, 4] }]);
  assert.deepEqual(firstOf(whole.call(two)), [6, { more: [2121, 4] }]);

  class Both extends et.Layer {
    call({ a: [first, { b }] }) {
      return { sum: [et.ops.add(first, b)] };
    }
  }
  assert.deepEqual(firstOf(new Both().call({ a: [column(1), { b: column(2) }] })), { sum: [3] });
  const [p, q] = [et.input({ shape: [1] }), et.input({ shape: [1] })];
  const { boxes, score } = model.apply({ image: p, meta: { age: q, sizes: [p, q] } });
  const outer = et.model({ inputs: [p, q], outputs: [layers.add().apply([...boxes, score])] });
  assert.equal((await outer.predict([column(1), column(2)], quiet)).data[0], 6 + 2121 + 4);
});

test('keys with a slash and keys of digits are keys', async () => {
  const [a, b] = [et.input({ shape: [1] }), et.input({ shape: [1] })];
  const model = et.model({ inputs: { 0: a, 'of/b': b }, outputs: { 1: unit('one').apply(a), 'of/b': unit('two', 2).apply(b) } });
  assert.deepEqual(firstOf(await model.predict({ 'of/b': column(3), 0: column(4) }, quiet)), { 1: 4, 'of/b': 6 });
  assert.deepEqual(Object.keys(JSON.parse(model.toJson()).config.input_layers), ['0', 'of/b']);
});

test('names that are missing, unknown, of another batch, or of another structure are errors', async () => {
  const model = byName();
  model.compile({ optimizer: still(), loss: 'mse' });
  const fitted = (...batches) => model.fit(batches.values(), quiet);
  await assertError(() => fitted([{ a: column(1) }, targets]), 'data', 'no data for input "b"');
  await assertError(() => fitted([inputs, { ...targets, z: column(1) }]), 'data', 'output "z"', 'x, y');
  await assertError(() => fitted([inputs, targets], [inputs, { x: column(1), z: column(1) }]), 'data', 'other names than the first');
  await assertError(() => fitted([{ a: { left: column(1) }, b: column(2) }, targets]), 'data', 'no data for input "a"');
  await assertError(() => nested().predict({ ...image, meta: column(1) }, quiet), 'data', 'no data for input "meta/age"');
  await assertError(() => nested().predict({ ...image, meta: { ...image.meta, sizes: [column(1)] } }, quiet), 'data', 'no data for input "meta/sizes/1"');
  await assertError(() => nested().call([column(1), { age: column(1) }]), 'data', 'no data for input "image"');
  await assertError(() => model.call({ a: column(1) }), 'data', 'no data for input "b"');
  await assertError(() => unit('one').call({ a: column(1) }), 'data', 'a model without names');
  await assertError(() => unit('one').apply({ a: et.input({ shape: [1] }) }), 'data', 'a model without names');
});

test('an LSTM with returnState gives its output and its state', async () => {
  const x = et.input({ shape: [3, 2] });
  const outputs = layers.lstm({ units: 4, returnState: true }).applyAll([x]);
  assert.deepEqual(outputs.map(({ shape }) => shape), [[-1, 4], [-1, 4], [-1, 4]]);
  const [y, h] = await et.model({ inputs: [x], outputs }).predictOutputs(et.tensor(new Float32Array(6).fill(1), [1, 3, 2]), quiet);
  assert.deepEqual([...y.data], [...h.data]);
});

test('classWeight weighs samples by their labels', async () => {
  const model = et.sequential([unit('unit')]);
  model.compile({ optimizer: still(), loss: 'mse' });
  const labels = et.tensor([[0], [1], [1], [2]]);
  const { history } = await model.fit(ones, labels, { ...quiet, classWeight: { 1: 10 } });
  assertClose(history.loss, [(4 + 10 + 10 + 0) / 4]);
  await assertError(() => model.fit(ones, labels, { ...quiet, classWeight: { cat: 1 } }), 'value', 'whole numbers');
});

test('regularizers, addLoss and addMetric are part of the loss and the logs', async () => {
  const dense = unit('unit', 1, { kernelRegularizer: et.regularizers.l1({ l1: 0.5 }) });
  const model = et.model({
    layers: [dense],
    call(x) {
      const y = dense.call(x);
      this.addLoss(et.ops.mean(y));
      this.addMetric(et.ops.mean(y), 'mean_output');
      return y;
    },
  });
  model.compile({ optimizer: still() });
  const figures = await model.evaluate(ones, zeros, { ...quiet, returnDict: true });
  assert.deepEqual(figures, { loss: 3, mean_output: 2 });
});

test('an Embedding and BatchNormalization train', async () => {
  const model = et.sequential([layers.embedding({ inputDim: 5, outputDim: 3, maskZero: true }), layers.globalAveragePooling1d(), layers.batchNormalization(), layers.dense({ units: 1 })]);
  model.compile({ optimizer: et.optimizers.adamw({ learningRate: 0.1 }), loss: 'mse' });
  const x = et.tensor(Int32Array.of(1, 2, 0, 3, 4, 0, 1, 1, 2), [3, 3]);
  const { history } = await model.fit(x, [[0], [1], [2]], { ...quiet, epochs: 40 });
  assert.ok(history.loss.at(-1) < 0.2 * history.loss[0], `${history.loss[0]} to ${history.loss.at(-1)}`);
});

test('a model of several outputs, called within a step or outside, returns a list', async () => {
  const model = twoOutputs();
  const values = (tensors) => tensors.map(({ data }) => data[0]);
  assert.deepEqual(values(model.call(ones)), [2, 4]);
  assert.deepEqual(values(model.call([[1, 1]])), [2, 4]);
  assert.deepEqual(values(model.call([ones])), [2, 4]);
  assert.deepEqual([...unit('one').call(ones).data], [2, 2, 2, 2]);
  const whole = et.model({ layers: [model], call(x) { const [sum, twice] = model.call(x); return et.ops.add(sum, twice); } });
  assertClose((await whole.predict(ones, quiet)).data, [6, 6, 6, 6]);
  const x = et.input({ shape: [2] });
  assert.deepEqual(model.applyAll(x).map(({ shape }) => shape), [[-1, 1], [-1, 1]]);
});

test('summary of a functional model has a row for each input, and the connections', () => {
  const x = et.input({ shape: [2], name: 'x' });
  const lines = (model) => {
    let text = '';
    model.summary({ printFn: (part) => (text += part) });
    return text.split('\n').filter((line) => line.startsWith('│')).map((line) => line.split('│').slice(1, -1).map((cell) => cell.trim()));
  };
  assert.deepEqual(lines(et.model({ inputs: [x], outputs: [unit('sum').apply(x)] })), [['x (InputLayer)', '(None, 2)', '0'], ['sum (Dense)', '(None, 1)', '2']]);
  assert.deepEqual(lines(et.model({ inputs: [x], outputs: [unit('sum').apply(x), unit('twice', 2).apply(x)] })), [
    ['x (InputLayer)', '(None, 2)', '0', '-'],
    ['sum (Dense)', '(None, 1)', '2', 'x[0][0]'],
    ['twice (Dense)', '(None, 1)', '2', 'x[0][0]'],
  ]);
});
