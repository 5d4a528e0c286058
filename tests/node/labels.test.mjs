// Labels and indices out of range, and integers as inputs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, summing, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([8, 3]);
const labelsWith = (label, type = Int32Array) => et.tensor(type.from([0, 1, 2, 0, 1, label, 0, 1]), [8]);

function classifier() {
  const model = et.sequential([et.layers.dense({ units: 3, activation: 'softmax' })]);
  model.build([-1, 3]);
  model.compile({ loss: 'sparse_categorical_crossentropy' });
  return model;
}

test('a label out of range is an error that names value, row and range, and nothing is trained', async () => {
  const model = classifier();
  const before = weightsOf(model);
  const words = ['label 7 in row 5 of y', 'expected 0 to 2', '3 classes'];
  await assertError(() => model.fit(x, labelsWith(7), quiet), 'data', ...words);
  await assertError(() => model.evaluate(x, labelsWith(7, Uint8Array), quiet), 'data', ...words);
  await assertError(() => model.fit(x, labelsWith(7, Float32Array), { ...quiet, validationData: [x, labelsWith(7)] }), 'data', ...words);
  await assertError(() => model.trainOnBatch(x, labelsWith(-1)), 'data', 'label -1 in row 5 of y of this batch');
  assert.deepEqual(weightsOf(model), before);
  await model.fit(x, labelsWith(2), quiet);
  assert.notDeepEqual(weightsOf(model), before);
});

test('the error of a label in validation data names the data, and the row in the whole arrays', async () => {
  const labels = Int32Array.from({ length: 1000 }, (_, i) => (i === 990 ? 7 : i % 3));
  const y = et.tensor(labels, [1000]);
  const fit = (options) => classifier().fit(waves([1000, 3]), y, { ...quiet, ...options });
  await assertError(() => fit({ validationSplit: 0.2 }), 'data', 'label 7 in row 990 of y of the validation data -');
  await assertError(() => fit({ validationSplit: 0.005 }), 'data', 'label 7 in row 990 of y -');
});

test('an index out of an embedding\'s table is an error that names the layer', async () => {
  const model = et.sequential([et.layers.embedding({ inputDim: 4, outputDim: 2, name: 'words' }), et.layers.flatten()]);
  await assertError(() => model.predict([[0, 1], [2, 4]], quiet), 'data', '[Embedding "words"] index 4 in row 1 of x', 'expected 0 to 3');
  await assertError(() => model.predict(et.tensor(Int32Array.of(0, 1, -2, 3), [2, 2]), quiet), 'data', 'index -2 in row 1 of x');
  assert.deepEqual((await model.predict([[0, 1], [2, 3]], quiet)).shape, [2, 4]);
});

test('typed arrays of integers, and booleans, are inputs like floats', async () => {
  const sums = async (data) => [...(await summing().predict(data, quiet)).data];
  for (const type of [Int8Array, Int16Array, Int32Array, Uint8Array, Uint8ClampedArray, Uint16Array, Uint32Array, Float64Array])
    assert.deepEqual(await sums(et.tensor(type.of(100, 27, 3, 4), [2, 2])), [127, 7], type.name);
  assert.deepEqual(await sums([[true, false], [true, true]]), [1, 2]);
  await assertError(() => et.tensor(Uint32Array.of(2 ** 31), [1, 1]), 'dtype', 'below 2^31');

  const fit = async (data) => {
    const model = summing();
    model.compile(mse());
    await model.fit(data, [[1], [0]], quiet);
    return weightsOf(model);
  };
  assert.deepEqual(await fit(et.tensor(Uint8Array.of(1, 2, 0, 1), [2, 2])), await fit([[1, 2], [0, 1]]));
});
