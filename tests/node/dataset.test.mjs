// et.data: datasets, sequences, lazy arrays and the other kinds of data that loops read.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([12, 3]);
const y = signsOf(x);
const { data } = et;

async function trained(source, options = {}) {
  const model = twoDense();
  model.compile(mse());
  const { history } = await (Array.isArray(source) ? model.fit(...source, { ...quiet, ...options }) : model.fit(source, { ...quiet, ...options }));
  return { weights: weightsOf(model), history };
}

/** The first number of each element. */
const numbersOf = async (dataset) => (await data.toArray(dataset)).map((element) => element.x.data[0]);
const numbers = (count) => Array.from({ length: count }, (_, i) => i);
const scaled = (tensor, factor) => et.tensor(tensor.data.map((value) => factor * value), tensor.shape);

// ---- Datasets ----

test('a model refuses a dataset without batch', async () => {
  const model = twoDense();
  model.compile(mse());
  await assertError(() => model.fit(data.fromTensorSlices({ x, y }), quiet), 'data', 'an element of shapes [3], [1]', '.batch(n)');
  await model.fit(data.fromTensorSlices({ x, y }).batch(4), quiet);
});

test('text labels of a CSV text become the index of their class name', async () => {
  const text = () => new Blob(['\uFEFFwidth,species\r1.5,setosa\r2,virginica\r']);
  const elements = await data.toArray(data.csv(text, { label: 'species', classNames: ['setosa', 'virginica'] }));
  assert.deepEqual(elements.map(({ x, y }) => [x.item(), y.item()]), [[1.5, 0], [2, 1]]);
  await assertError(() => data.toArray(data.csv(text, { label: 'species' })), 'data', 'line 2', '"setosa"', 'a number');
});

test('axes of extent 0 are computed, and do not change a model', async () => {
  const model = et.sequential([et.layers.batchNormalization()]);
  assert.deepEqual((await model.predict(et.tensor(new Float32Array(0), [2, 0, 4]), quiet)).shape, [2, 0, 4]);
  const other = twoDense();
  other.compile(mse());
  await other.fit(x, y, quiet);
  await assertError(() => data.range(2 ** 33, 2 ** 33 + 2), 'value', 'int32');
});

test('the stages of a dataset match those of tf.data', async () => {
  const six = data.range(6);
  assert.deepEqual(await numbersOf(six), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(await numbersOf(data.range(5, -1, -2)), [5, 3, 1]);
  assert.deepEqual(await numbersOf(six.map(({ x }) => scaled(x, 10))), [0, 10, 20, 30, 40, 50]);
  assert.deepEqual(await numbersOf(six.filter(({ x }) => x.item() % 2 === 0)), [0, 2, 4]);
  assert.deepEqual((await data.toArray(six.batch(4))).map(({ x }) => [...x.data]), [[0, 1, 2, 3], [4, 5]]);
  assert.deepEqual((await data.toArray(six.batch(4, true))).length, 1);
  assert.deepEqual(await numbersOf(six.batch(4).unbatch()), numbers(6));
  assert.deepEqual(await numbersOf(six.take(2).repeat(2)), [0, 1, 0, 1]);
  assert.deepEqual(await numbersOf(data.range(2).repeat().take(5)), [0, 1, 0, 1, 0]);
  assert.deepEqual(await numbersOf(six.skip(4).concatenate(data.range(1))), [4, 5, 0]);
  assert.deepEqual(await numbersOf(six.shard(4, 1)), [1, 5]);
  assert.deepEqual(await numbersOf(six.cache().prefetch(2)), numbers(6));
  assert.deepEqual(await numbersOf(data.range(4).flatMap(({ x }) => data.range(x.item()))), [0, 0, 1, 0, 1, 2]);
  assert.deepEqual(await numbersOf(data.range(2, 4).interleave(({ x }) => data.range(x.item()))), [0, 0, 1, 1, 2]);
  const [first] = await data.toArray(data.zip([six, six.skip(1), six.skip(2)]));
  assert.deepEqual([first.x.item(), first.y.item(), first.sampleWeight.item()], [0, 1, 2]);
  assert.deepEqual([six.cardinality(), six.repeat().cardinality(), six.filter(() => true).cardinality()], [6, -1, -2]);
  assert.equal(six.filter(() => true).assertCardinality(6).cardinality(), 6);
});

test('shuffle depends on its seed and the iteration, and iterators can return to a position', async () => {
  const shuffled = data.range(50).shuffle(10, { seed: 3 });
  const order = await numbersOf(shuffled);
  assert.notDeepEqual(order, numbers(50));
  assert.deepEqual([...order].sort((a, b) => a - b), numbers(50));
  assert.deepEqual(await numbersOf(data.range(50).shuffle(10, { seed: 3 })), order);
  const iterator = shuffled.iterator();
  for (let i = 0; i < 20; ++i) await data.next(iterator);
  assert.deepEqual(iterator.state(), [0, 20]);
  const other = shuffled.iterator(7);
  other.restore(iterator.state());
  for (let i = 20; i < 50; ++i) assert.equal((await data.next(other)).x.item(), order[i]);
  assert.equal(await data.next(other), null);
});

test('a dataset trains like its arrays, with asynchronous functions too', async () => {
  const expected = await trained([x, y], { batchSize: 4, shuffle: false, epochs: 2 });
  const rows = data.fromTensorSlices({ x, y });
  const later = rows.map(async ({ x, y }) => (await sleep(1), { x, y }));
  const generated = data.fromGenerator(async function* () {
    for (let i = 0; i < 12; ++i) yield [et.tensor(x.data.slice(3 * i, 3 * i + 3)), et.tensor(y.data.slice(i, i + 1))];
  });
  for (const dataset of [rows, later, later.prefetch(3), generated, rows.cache()])
    assert.deepEqual(await trained(dataset.batch(4), { epochs: 2 }), expected);
  assert.deepEqual(await trained(rows.batch(4).repeat(), { epochs: 2, stepsPerEpoch: 3 }), expected);
  const model = twoDense();
  model.compile(mse(0));
  assertClose([await model.evaluate(rows.batch(4), quiet)], [await model.evaluate(x, y, { ...quiet, batchSize: 4 })]);
  assert.deepEqual((await model.predict(rows.batch(5), quiet)).data, (await model.predict(x, quiet)).data);
  const { history } = await model.fit(x, y, { ...quiet, validationData: rows.batch(4) });
  assert.equal(history.val_loss.length, 1);
});

test('fit calls a function that makes generators again for each epoch, and for each validation', async () => {
  const halves = () => (function* () { for (const i of [0, 1]) yield [x.slice(6 * i, 6 * i + 6), y.slice(6 * i, 6 * i + 6)]; })();
  const options = { epochs: 3, shuffle: false, batchSize: 6 };
  const expected = await trained([x, y], { ...options, validationData: [x, y], validationBatchSize: 6 });
  assert.deepEqual(await trained(halves, { epochs: 3, validationData: halves }), expected);
  assert.equal(expected.history.val_loss.length, 3);
});

test('a loop over a dataset that ends early closes its source', async () => {
  let closed = 0;
  const numbers = data.fromGenerator(function* () {
    try {
      for (let i = 0; ; ++i) yield et.tensor([i]);
    } finally {
      closed += 1;
    }
  });
  for await (const { x } of data.iterate(numbers)) if (x.item() === 2) break;
  assert.equal(closed, 1);
});

test('fit awaits onEpochEnd of a sequence also after the last epoch, and rejects with its error', async () => {
  for (const epochs of [1, 2]) {
    let ends = 0;
    const sequence = {
      length: 2,
      getItem: (index) => [x.slice(6 * index, 6 * index + 6), y.slice(6 * index, 6 * index + 6)],
      async onEpochEnd() {
        await sleep(1);
        ends += 1;
        if (ends === epochs) throw new Error('cannot shuffle');
      },
    };
    await assert.rejects(trained(sequence, { epochs }), /cannot shuffle/);
    assert.equal(ends, epochs);
  }
});

test('evaluate, predict and predictStream await onEpochEnd of a sequence, and reject with its error', async () => {
  const model = twoDense(), error = new RangeError('mine');
  model.compile(mse());
  const sequence = {
    length: 2,
    getItem: (index) => [x.slice(6 * index, 6 * index + 6), y.slice(6 * index, 6 * index + 6)],
    async onEpochEnd() {
      await sleep(1);
      throw error;
    },
  };
  const loops = {
    evaluate: () => model.evaluate(sequence, quiet),
    predict: () => model.predict(sequence, quiet),
    predictStream: async () => { for await (const batch of model.predictStream(sequence, quiet)) void batch; },
    writeNpy: () => model.predictStream(sequence, quiet).writeNpy(join(mkdtempSync(join(tmpdir(), 'etude-')), 'file.npy')),
  };
  for (const [name, loop] of Object.entries(loops)) await assert.rejects(loop, (thrown) => thrown === error, name);
});

test('prefetch requests elements while others are used', async () => {
  let asked = 0;
  const iterator = data.range(20).map(async ({ x }) => { asked += 1; await sleep(1); return x; }).prefetch(3).iterator();
  assert.equal((await data.next(iterator)).x.item(), 0);
  await sleep(50);
  assert.equal(asked, 4);
  for (let i = 1; i < 20; ++i) assert.equal((await data.next(iterator)).x.item(), i);
  assert.equal(await data.next(iterator), null);
});

test('a function that throws or rejects ends the loop with its own error', async () => {
  const error = new RangeError('mine');
  for (const broken of [() => { throw error; }, async () => { await sleep(1); throw error; }])
    for (const ahead of [false, true]) {
      const mapped = data.fromTensorSlices({ x, y }).map(broken).batch(4);
      await assert.rejects(trained(ahead ? mapped.prefetch(2) : mapped), (thrown) => thrown === error);
    }
});

test('datasets refuse invalid arguments', async () => {
  await assertError(() => data.range(3).batch(0), 'value', 'size = 0');
  await assertError(() => data.range(3).map(3), 'value', 'a function of an element');
  await assertError(() => data.toArray(data.range(3).filter(() => 'yes')), 'value', '"yes"');
  await assertError(() => data.toArray(data.range(3).flatMap(() => 3)), 'value', 'a Dataset');
  await assertError(() => trained(data.fromTensorSlices({ x, y }).batch(4).repeat()), 'value', '`stepsPerEpoch`');
  await assertError(() => twoDense().fit(data.range(3), y, quiet), 'value', '`y` argument is not supported');
  await assertError(() => twoDense().fit(data.range(3), { ...quiet, sampleWeight: y }), 'value', '`sampleWeight` argument');
  await assertError(() => trained(data.fromTensorSlices({ x, y }).batch(4), { batchSize: 4 }), 'value', 'batchSize');
});

// ---- CSV, from every source of bytes ----

test('CSV is read from bytes, blobs, paths, responses, streams and functions that open them', async () => {
  const text = 'a,b,label\n1,2,0\n3,4,1\n5,6,0\n';
  const bytes = new TextEncoder().encode(text);
  const path = join(mkdtempSync(join(tmpdir(), 'etude-')), 'file.csv');
  writeFileSync(path, text);
  const stream = () => new ReadableStream({ start(controller) { for (const byte of bytes) controller.enqueue(Uint8Array.of(byte)); controller.close(); } });
  for (const source of [bytes, new Blob([bytes]), path, new Response(bytes), stream(), stream, async () => new Response(bytes)]) {
    const elements = await data.toArray(data.csv(source, { label: 'label' }));
    assert.deepEqual(elements.map(({ x, y }) => [...x.data, ...y.data]), [[1, 2, 0], [3, 4, 1], [5, 6, 0]]);
  }
  const again = data.csv(stream).repeat(2);
  assert.equal((await data.toArray(again)).length, 6);
  await assertError(() => data.toArray(data.csv('/no/such/file')), 'io', '/no/such/file');
  await assertError(() => data.toArray(data.csv(bytes, { label: 'c' })), 'value', 'a, b, label');
  const once = data.csv(new Response(bytes));
  await data.toArray(once);
  await assert.rejects(data.toArray(once));
});

test('npy files are read from bytes and paths', async () => {
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".padEnd(117) + '\n';
  const bytes = Uint8Array.from([0x93, ...new TextEncoder().encode('NUMPY'), 1, 0, 118, 0, ...new TextEncoder().encode(header), ...new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer)]);
  assert.deepEqual((await data.readNpy(bytes)).array(), [[1, 2], [3, 4]]);
  await assertError(() => data.parseNpy(bytes.subarray(0, 50)), 'data');
});

// ---- Other kinds of data ----

test('nested arrays are lists: every epoch starts at the first batch; tensors continue', async () => {
  const epochs = { batchSize: 4, epochs: 2, stepsPerEpoch: 1, shuffle: false };
  const [rows, labels] = [x.slice(0, 4), y.slice(0, 4)];
  const first = await trained([rows, labels], { batchSize: 4, epochs: 2, shuffle: false });
  assert.deepEqual(await trained([x.array(), y.array()], epochs), first);
  assert.notDeepEqual(await trained([x, y], epochs), first);
});

test('lazy arrays provide the rows of a batch on demand, synchronously or not', async () => {
  const asked = [];
  const lazy = (tensor, wait) => ({
    shape: tensor.shape,
    dtype: tensor.dtype,
    slice(first, last) {
      asked.push([first, last]);
      return wait ? sleep(1).then(() => tensor.slice(first, last)) : tensor.slice(first, last);
    },
  });
  const options = { batchSize: 5, shuffle: false };
  const expected = await trained([x, y], options);
  assert.deepEqual(await trained([lazy(x, true), lazy(y, false)], options), expected);
  assert.deepEqual(asked.slice(0, 2), [[0, 5], [0, 5]]);
  assert.deepEqual(await trained([lazy(x, true), y], { batchSize: 5, epochs: 3 }), await trained([x, y], { batchSize: 5, epochs: 3 }));
  assert.deepEqual(await trained(data.fromTensorSlices({ x: lazy(x, true), y: lazy(y, true) }).batch(5)), expected);
  await assertError(() => trained([{ ...lazy(x), slice: () => x }, y], options), 'data', 'slice(0, 5)');
});

test('a sequence is shuffled by batches, serves concurrent workers, and has onEpochEnd called', async () => {
  let waiting = 0, most = 0, ends = 0;
  const sequence = {
    length: 6,
    async getItem(index) {
      most = Math.max(most, ++waiting);
      await sleep(6 - index);
      waiting -= 1;
      return [x.slice(2 * index, 2 * index + 2), y.slice(2 * index, 2 * index + 2)];
    },
    async onEpochEnd() { ends += 1; },
  };
  assert.deepEqual(await trained(sequence, { shuffle: false, workers: 3, epochs: 2 }), await trained([x, y], { batchSize: 2, shuffle: false, epochs: 2 }));
  assert.deepEqual([most, ends], [3, 2]);
  assert.deepEqual(await trained(sequence, { workers: 4 }), await trained({ length: 6, getItem: (index) => [x.slice(2 * index, 2 * index + 2), y.slice(2 * index, 2 * index + 2)] }));
  const error = new RangeError('mine');
  await assert.rejects(trained({ length: 3, getItem: async () => { throw error; } }, { workers: 3 }), (thrown) => thrown === error);
});

test('a sequence, or an iterable, may have fields named x and y', async () => {
  class Fields {
    constructor() {
      Object.assign(this, { x, y });
    }
    getItem(index) {
      return [this.x.slice(4 * index, 4 * index + 4), this.y.slice(4 * index, 4 * index + 4)];
    }
  }
  class Batches extends Fields {
    get length() {
      return 3;
    }
  }
  class Items extends Fields {
    *[Symbol.iterator]() {
      for (const index of numbers(3)) yield this.getItem(index);
    }
  }
  const options = { shuffle: false }, expected = await trained([x, y], { ...options, batchSize: 4 });
  for (const source of [new Batches(), new Items()]) assert.deepEqual(await trained(source, options), expected);
});

test('sparse matrices become dense, and ragged rows are padded', async () => {
  const splits = Array.from({ length: 13 }, (_, i) => 3 * i);
  const sparse = new et.CsrMatrix(3, x.data, Array.from({ length: 36 }, (_, i) => i % 3), splits);
  assert.deepEqual(await trained([sparse, y], { batchSize: 4 }), await trained([x, y], { batchSize: 4 }));
  const model = et.sequential([et.layers.globalAveragePooling1d()]);
  const means = await model.predict(new et.RaggedTensor([[1], [3], [5]], [0, 2, 3]), quiet);
  assertClose([...means.data], [2, 5]);
});

test('a creator makes its dataset where it is read, and requires steps', async () => {
  const creator = new et.DatasetCreator(({ numInputPipelines, inputPipelineId }) => data.fromTensorSlices({ x, y }).batch(4).repeat().shard(numInputPipelines, inputPipelineId));
  assert.deepEqual(await trained(creator, { stepsPerEpoch: 3 }), await trained([x, y], { batchSize: 4, shuffle: false }));
  await assertError(() => trained(creator), 'value', '`stepsPerEpoch`');
});

test('unknown kinds of data, and mixed kinds, are refused', async () => {
  const model = twoDense();
  model.compile(mse());
  await assertError(() => model.fit(x, y, { ...quiet, validationData: new Date() }), 'data', 'Failed to find data adapter that can handle input: a Date');
  const both = { length: 1, getItem: () => [x, y], *[Symbol.iterator]() { yield [x, y]; } };
  await assertError(() => model.fit(both, quiet), 'value', 'Data adapters should be mutually exclusive');
});
