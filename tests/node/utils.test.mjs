// et.utils, and files that hold several arrays. tests/data_utilities_test.cpp has their numbers.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError } from './support.mjs';

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

const images = JSON.parse(readFileSync(golden('images.json'), 'utf8'));

/** A folder with the golden images and the broken ones; removed after the test. */
function foldersOfImages(t) {
  const folder = mkdtempSync(join(tmpdir(), 'etude-images-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const part of ['tree', 'broken'])
    for (const [path, hex] of Object.entries(images[part])) {
      mkdirSync(dirname(join(folder, part, path)), { recursive: true });
      writeFileSync(join(folder, part, path), Buffer.from(hex, 'hex'));
    }
  return folder;
}
/** The pixels of Pillow, as a canvas would return them. */
function decode(bytes, path) {
  const found = images.decoded.find((image) => path.endsWith(image.path) && image.mode === 'RGBA');
  assert.equal(Buffer.from(bytes).toString('hex'), images.tree[found.path]);
  return { data: Uint8ClampedArray.from(found.x), height: found.shape[0], width: found.shape[1] };
}
const camelCase = (name) => name.replace(/_+(\w)/g, (_, letter) => letter.toUpperCase());

test('images of a folder are read with their labels, as by Keras: by a function, and by sharp', async (t) => {
  const folder = join(foldersOfImages(t), 'tree');
  for (const { options, batches, class_names: classNames, file_paths: filePaths } of images.cases) {
    const given = Object.fromEntries(Object.entries(options).map(([name, value]) => [camelCase(name), value]));
    for (const decoder of [decode, undefined]) {
      const read = et.utils.imageDatasetFromDirectory(folder, { shuffle: false, imageSize: [3, 4], verbose: false, decode: decoder, ...given });
      assert.deepEqual(read.classNames, classNames ?? []);
      assert.deepEqual(read.filePaths, filePaths.map((path) => `${folder}/${path}`));
      const elements = await et.data.toArray(read);
      assert.equal(elements.length, batches.length);
      elements.forEach(({ x, y }, i) => {
        assert.deepEqual([x.shape, x.dtype, y ? [y.shape, [...y.data]] : undefined], [batches[i].shape, 'float32', batches[i].labels && [batches[i].labels_shape, batches[i].labels]]);
        // TensorFlow's JPEGs are less accurate, and it does not round gray.
        assertClose([...x.data], batches[i].x, 4);
      });
    }
  }
});

test('both parts of a folder of images train a model, and one image is read', async (t) => {
  const folder = join(foldersOfImages(t), 'tree');
  const options = { imageSize: 8, batchSize: null, seed: 1, validationSplit: 0.4, classNames: ['cats', 'dogs'], labelMode: 'binary', verbose: false };
  const [training, validation] = et.utils.imageDatasetFromDirectory(folder, { ...options, subset: 'both', decode });
  assert.deepEqual([training.filePaths.length, validation.filePaths.length], [5, 2]);
  assert.equal(new Set([...training.filePaths, ...validation.filePaths]).size, 7);
  const model = et.sequential([et.layers.rescaling({ scale: 1 / 255 }), et.layers.flatten(), et.layers.dense({ units: 1 })]);
  model.compile({ loss: 'mse' });
  const { history } = await model.fit(training.batch(2), { epochs: 1, validationData: validation.batch(2), verbose: 0 });
  assert.ok(Number.isFinite(history.loss[0]) && Number.isFinite(history.val_loss[0]));
  const { path, x, shape } = images.decoded.find((image) => image.path === 'cats/1.png' && image.mode === 'RGB');
  const image = await et.utils.loadImg(join(folder, path));
  assert.deepEqual([image.shape, image.dtype, [...image.data]], [shape, 'float32', x]);
  assert.deepEqual((await et.utils.loadImg(join(folder, path), { colorMode: 'grayscale', targetSize: [2, 3], decode })).shape, [2, 3, 1]);
});

test('files that are no images, and wrong results of a decoder, are errors with the path', async (t) => {
  const folder = foldersOfImages(t), broken = join(folder, 'broken'), good = join(folder, 'tree/cats/1.png');
  for (const name of ['short.png', 'huge.png', 'short.jpg', 'text.png', 'a.bmp']) await assertError(() => et.utils.loadImg(join(broken, name)), 'data', join(broken, name));
  await assertError(async () => et.data.toArray(et.utils.imageDatasetFromDirectory(broken, { labels: null, verbose: false })), 'data', broken);
  await assertError(() => et.utils.loadImg(join(folder, 'nowhere.png')), 'io', 'nowhere.png');
  await assertError(() => et.utils.loadImg(good, { decode: () => ({ data: new Uint8Array(7), width: 2, height: 2 }) }), 'data', 'cats/1.png');
  await assertError(() => et.utils.loadImg(good, { decode: () => et.tensor([[1]]) }), 'data', 'pixels float32 [1, 1]');
  const error = new Error('no');
  await assert.rejects(et.utils.loadImg(good, { decode: () => { throw error; } }), (thrown) => thrown === error);
  await assertError(() => et.utils.imageDatasetFromDirectory(folder, { labels: 'none' }), 'value', "expected 'inferred'");
  await assertError(() => et.utils.imageDatasetFromDirectory(join(folder, 'tree'), { labelMode: 'binary' }), 'value', '[utils.imageDatasetFromDirectory]', 'for 3 classes');
});

test('the device of the module, and its floats, are those of Keras on a processor', async () => {
  assert.deepEqual(et.devices(), [{ name: '/cpu:0', threads: et.numThreads() }]);
  assert.equal(et.floatx(), et.layers.dense({ units: 1 }).call(et.tensor([[1]])).dtype);
  et.setFloatx('float32');
  await assertError(() => et.setFloatx('float64'), 'dtype', '[setFloatx]', 'float32 only');
});

test('setEpsilon and setImageDataFormat set what losses and new layers use, as in Keras', async (t) => {
  assert.equal(et.epsilon(), 1e-7);
  assert.equal(et.imageDataFormat(), 'channels_last');
  t.after(() => {
    et.setEpsilon(1e-7);
    et.setImageDataFormat('channels_last');
  });
  et.setEpsilon(0.25);
  assert.equal(et.epsilon(), 0.25);
  const model = et.sequential([et.layers.identity()]);
  model.compile({ loss: 'poisson' });
  const loss = await model.evaluate([[0]], [[1]], { verbose: 0 });
  assert.ok(Math.abs(loss + Math.log(0.25)) < 1e-6, `${loss}`);
  await assertError(() => et.setEpsilon(0), 'value', '[setEpsilon]', 'above 0');

  et.setImageDataFormat('channels_first');
  const convolution = et.layers.conv2d({ filters: 7, kernelSize: 2 });
  assert.equal(et.layers.serialize(convolution).config.data_format, et.imageDataFormat());
  assert.deepEqual(convolution.call(et.tensor(new Float32Array(24), [1, 2, 4, 3])).shape, [1, 7, 3, 2]);
  await assertError(() => et.setImageDataFormat('channels'), 'value', '[setImageDataFormat]', 'expected "channels_last"');
});
