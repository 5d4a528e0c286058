// et.utils, and files that hold several arrays. tests/data_utilities_test.cpp has their numbers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertError } from './support.mjs';

const golden = (name) => `${process.env.ETUDE_ROOT}/tests/golden/${name}`;
const batchesOf = async (dataset) => (await et.data.toArray(dataset)).map(({ x, y }) => [x.array(), y?.array()]);

test('et.utils: labels, norms and padded sequences', async () => {
  assert.deepEqual(et.utils.toCategorical([0, 2]).array(), [[1, 0, 0], [0, 0, 1]]);
  assert.deepEqual(et.utils.toCategorical(Int32Array.of(1), 3).array(), [[0, 1, 0]]);
  assert.deepEqual(et.utils.normalize([[3, -1]], { order: Infinity }).array(), [[1, -Math.fround(1 / 3)]]);
  const padded = et.utils.padSequences([[1], [2, 3, 4], []], { maxlen: 2, padding: 'post' });
  assert.deepEqual([padded.dtype, padded.array()], ['int32', [[1, 0], [3, 4], [0, 0]]]);
  await assertError(() => et.utils.toCategorical([3], 3), 'value', '[utils.toCategorical]', 'numClasses = 3');
  await assertError(() => et.utils.padSequences([[1]], { padding: 'left' }), 'value', 'padding = "left"');
});

test('et.utils: windows of a time series, and parts of a dataset', async () => {
  const steps = Float32Array.of(0, 1, 2, 3, 4, 5);
  const windows = et.utils.timeseriesDatasetFromArray(steps, steps, { sequenceLength: 2, sequenceStride: 2, batchSize: 2 });
  assert.deepEqual(await batchesOf(windows), [[[[0, 1], [2, 3]], [0, 2]], [[[4, 5]], [4]]]);
  const single = et.utils.timeseriesDatasetFromArray(steps, null, { sequenceLength: 5, batchSize: null });
  assert.deepEqual(await batchesOf(single), [[[0, 1, 2, 3, 4], undefined], [[1, 2, 3, 4, 5], undefined]]);
  const [left, right] = et.utils.splitDataset(et.data.range(5), { leftSize: 0.6 });
  assert.deepEqual([await batchesOf(left), await batchesOf(right)].flat().map(([x]) => x), [0, 1, 2, 3, 4]);
  assert.equal(right.cardinality(), 2);
  await assertError(() => et.utils.timeseriesDatasetFromArray(steps, null, { sequenceLength: 7 }), 'value', 'sequenceLength = 7');
  await assertError(() => et.utils.splitDataset(et.data.range(5), {}), 'value', '[utils.splitDataset]', 'leftSize');
});

test('et.utils: skipgrams', () => {
  const { couples, labels } = et.utils.skipgrams([1, 2, 0, 2], 3, { windowSize: 1, negativeSamples: 0, shuffle: false });
  assert.deepEqual([couples.array(), labels.array()], [[[1, 2], [2, 1]], [1, 1]]);
  const samplingTable = et.utils.makeSamplingTable(3);
  assert.equal(samplingTable.length, 3);
  assert.equal(et.utils.skipgrams([1, 2], 3, { negativeSamples: 2, samplingTable: [1, 1, 1] }).labels.size, 6);
});

test('npz: arrays by their names, compressed or not', async () => {
  for (const name of ['numpy.npz', 'numpy_compressed.npz']) {
    const { x, labels, none } = await et.data.readNpz(golden(name));
    assert.deepEqual([x.array(), labels.array(), none.shape], [[[0, 1, 2], [3, 4, 5]], [3, -1], [0, 2]]);
  }
  const bytes = readFileSync(golden('numpy_compressed.npz'));
  await assertError(() => et.data.readNpz(bytes, { limit: 100 }), 'data', 'readNpz', '100');
  await assertError(() => et.data.readNpz(bytes.subarray(0, 100)), 'data', 'whole ZIP archive');
});

test('CIFAR: images and labels of several files', async () => {
  const image = (...labels) => Uint8Array.of(...labels, ...new Uint8Array(3072).fill(7));
  const { x, y } = await et.data.readCifar10([image(3), image(9)]);
  assert.deepEqual([x.shape, y.array(), x.data[0]], [[2, 32, 32, 3], [[3], [9]], 7]);
  assert.deepEqual(et.data.parseCifar100(image(2, 99)).y.array(), [[99]]);
  assert.deepEqual((await et.data.readCifar100(image(2, 99), 'coarse')).y.array(), [[2]]);
  await assertError(() => et.data.parseCifar10(image(10)), 'data', 'the label 10');
});
