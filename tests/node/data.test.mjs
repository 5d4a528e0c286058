// The kinds of data: tensors, typed arrays, nested arrays, synchronous and asynchronous generators, files.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as et from 'etude-ml';
import { assertError, assertJavaScript, mse, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([12, 3]);
const y = signsOf(x);
const rows = (begin, end) => [x.slice(begin, end), y.slice(begin, end)];

async function trained(data, options = {}) {
  const model = twoDense();
  model.compile(mse());
  const { history } = await (Array.isArray(data) ? model.fit(...data, { ...quiet, ...options }) : model.fit(data, { ...quiet, ...options }));
  return { weights: weightsOf(model), history };
}

// ---- Tensors ----

test('tensors are made from typed arrays, without a copy, and from nested arrays', () => {
  const floats = new Float32Array(6);
  assert.equal(et.tensor(floats, [2, 3]).data, floats);
  assert.equal(et.tensor(floats, [2, -1]).reshape([-1]).slice(2, 4).data.buffer, floats.buffer);
  const nested = et.tensor([[1, 2], [3, 4], [5, 6]]);
  assert.deepEqual([nested.shape, nested.dtype, nested.size], [[3, 2], 'float32', 6]);
  assert.deepEqual(nested.slice(1).array(), [[3, 4], [5, 6]]);
  assert.equal(et.tensor(7).item(), 7);
  assert.deepEqual(et.tensor([Float32Array.of(1, 2), Float32Array.of(3, 4)]).array(), [[1, 2], [3, 4]]);
  for (const [values, dtype] of [[new Int32Array(1), 'int32'], [new Uint8ClampedArray(1), 'uint8'], [new Float64Array(1), 'float32'], [[true], 'bool']])
    assert.equal(et.tensor(values).dtype, dtype);
});

test('tensors refuse wrong data with the reason', async () => {
  await assertError(() => et.tensor([[1, 2], [3]]), 'shape', 'an array of 1', '2 entries');
  await assertError(() => et.tensor([1, 'two']), 'data', '"two"');
  await assertError(() => et.tensor('text'), 'data', '"text"');
  await assertError(() => et.tensor(new BigInt64Array(1)), 'dtype', 'BigInt64Array');
  await assertError(() => et.tensor(new Float32Array(6), [4, 2]), 'shape', '6 elements', '[4,2]');
  await assertError(() => et.tensor(new Float32Array(6), [4, -1]), 'shape', '6 elements');
  await assertError(() => et.tensor([1, 2]).item(), 'shape', '[2]');
  await assertError(() => et.tensor([1, 2]).slice(1, 3), 'value', 'rows 1 to 3');
});

test('a typed array is copied in one block, once, for any number of steps', async () => {
  const model = twoDense();
  model.compile(mse());
  model.build([-1, 3]);
  const blocks = [];
  const { set } = Uint8Array.prototype.__proto__;
  const { from } = Float32Array;
  const iterate = Float32Array.prototype[Symbol.iterator];
  const refuse = () => assert.fail('data were read element by element');
  try {
    Uint8Array.prototype.__proto__.set = function (source, ...rest) {
      if (ArrayBuffer.isView(source)) blocks.push(source.byteLength);
      return set.call(this, source, ...rest);
    };
    Float32Array.prototype[Symbol.iterator] = Float32Array.from = refuse;
    await model.fit(et.tensor(new Float32Array(300), [100, 3]), et.tensor(new Float32Array(100), [100, 1]), { ...quiet, batchSize: 10, epochs: 3 });
  } finally {
    Uint8Array.prototype.__proto__.set = set;
    Float32Array.from = from;
    Float32Array.prototype[Symbol.iterator] = iterate;
  }
  assert.deepEqual(blocks, [1200, 400]);
});

// ---- Generators ----

test('generators, synchronous or not, iterables and functions that return them train like arrays', async () => {
  const options = { batchSize: 4, shuffle: false };
  const expected = await trained([x, y], options);
  const plain = function* () { for (let i = 0; i < 12; i += 4) yield rows(i, i + 4); };
  const later = async function* () { for (const batch of plain()) { await sleep(1); yield batch; } };
  const named = function* () { for (const [x, y] of plain()) yield { x, y }; };
  for (const data of [plain(), later(), plain, later, named(), { [Symbol.iterator]: plain }, { [Symbol.asyncIterator]: later }])
    assert.deepEqual(await trained(data), expected);
});

test('an infinite generator gives stepsPerEpoch batches to each epoch, and is closed at the end', async () => {
  for (const asynchronous of [false, true]) {
    let made = 0, closed = 0;
    const endless = asynchronous
      ? async function* () { try { for (;;) { made += 1; yield rows(0, 4); } } finally { closed += 1; } }
      : function* () { try { for (;;) { made += 1; yield rows(0, 4); } } finally { closed += 1; } };
    const { history } = await trained(endless(), { epochs: 3, stepsPerEpoch: 5 });
    assert.equal(history.loss.length, 3);
    assert.ok(made >= 15 && made <= 16, `${made} batches`);
    assert.equal(closed, 1);
  }
});

test('a generator is closed when fit fails, and when a callback stops it', async () => {
  const endless = (seen) => (function* () { try { for (;;) yield rows(0, 4); } finally { seen.closed = true; } })();
  const failed = {};
  await assert.rejects(trained(endless(failed), { callbacks: [{ onTrainBatchEnd() { throw new Error('mine'); } }] }), /mine/);
  assert.ok(failed.closed);
  const stopped = {};
  await trained(endless(stopped), { callbacks: [{ onTrainBatchEnd(step) { this.model.stopTraining = step === 3; } }] });
  assert.ok(stopped.closed);
});

test('a generator that throws rejects fit with its own error, and the model stays usable', async () => {
  const error = new RangeError('mine');
  for (const broken of [
    function* () { yield rows(0, 4); throw error; },
    async function* () { yield rows(0, 4); await sleep(1); throw error; },
    function* () { throw error; },
    () => { throw error; },
  ]) {
    const model = twoDense();
    model.compile(mse());
    await assert.rejects(model.fit(broken, quiet), (thrown) => thrown === error);
    const { history } = await model.fit(x, y, quiet);
    assert.ok(Number.isFinite(history.loss[0]));
  }
});

test('generators that yield nothing, or values that are no batches, are refused', async () => {
  await assertError(() => trained((function* () {})()), 'data', 'no batch');
  await assertError(() => trained((async function* () {})()), 'data', 'no batch');
  await assertError(() => trained((function* () { yield [x, y, y, y]; })()), 'data', '[x, y, sampleWeight]');
  await assertError(() => trained((function* () { yield 'text'; })()), 'data', '"text"');
  await assertError(() => trained((function* () { yield [x, y.slice(1)]; })()), 'data', '12', '11');
  await assertError(() => trained((function* () { yield [x, y]; yield [x]; })()), 'data', 'structure');
  await assertError(() => trained((function* () { yield [x, y]; })(), { batchSize: 4 }), 'value', 'generator');
  await assertError(() => trained((function* () { yield [x, y]; })(), { validationSplit: 0.5 }), 'value', 'validation');
});

test('evaluate, predict and validationData read generators too', async () => {
  const model = summing();
  model.compile(mse(0));
  const batches = function* () { yield [[[1, 2]], [[0]]]; yield [[[0, 1]], [[0]]]; };
  assert.equal(await model.evaluate(batches(), quiet), 5);
  assert.deepEqual((await model.predict(batches, quiet)).array(), [[3], [1]]);
  const { history } = await model.fit([[1, 0]], [[0]], { ...quiet, validationData: batches() });
  assert.deepEqual(history, { loss: [1], val_loss: [5] });
});

// ---- Files ----

/** An IDX file: type, extents, bytes. */
const idx = (type, shape, bytes) => Uint8Array.from([0, 0, type, shape.length, ...shape.flatMap((extent) => [extent >> 24, extent >> 16, extent >> 8, extent].map((byte) => byte & 255)), ...bytes]);

test('IDX files are read from bytes, paths, URLs and blobs, gzipped or not', async () => {
  const bytes = idx(8, [2, 3], [1, 2, 3, 4, 5, 6]);
  const path = join(mkdtempSync(join(tmpdir(), 'etude-')), 'file.idx.gz');
  writeFileSync(path, gzipSync(bytes));
  for (const source of [bytes, gzipSync(bytes), new Blob([bytes]), path, pathToFileURL(path), `${pathToFileURL(path)}`]) {
    const tensor = await et.data.readIdx(source);
    assert.deepEqual([tensor.array(), tensor.dtype], [[[1, 2, 3], [4, 5, 6]], 'uint8']);
  }
  assert.deepEqual(et.data.parseIdx(idx(12, [2], [0, 0, 1, 0, 255, 255, 255, 255])).array(), [256, -1]);
});

test('data that expands to more than 100 times its size is refused, unless a larger limit is given', async () => {
  const packed = gzipSync(Buffer.concat([idx(8, [2 ** 21], []), new Uint8Array(2 ** 21)]));
  await assertError(() => et.data.gunzip(packed), 'data', 'gunzip', 'more than 1048576', 'a larger limit');
  await assertError(() => et.data.readIdx(packed), 'data', 'readIdx', 'a larger limit');
  assert.deepEqual((await et.data.readIdx(packed, { limit: 2 ** 22 })).shape, [2 ** 21]);
});

test('corrupt files are refused', async () => {
  const bytes = idx(8, [2, 3], [1, 2, 3, 4, 5, 6]);
  const packed = gzipSync(bytes);
  const damaged = Uint8Array.from(packed);
  damaged[damaged.length - 6] ^= 255;
  await assertError(() => et.data.parseIdx(packed), 'data', 'gzip');
  await assertError(() => et.data.parseIdx(bytes.subarray(0, 12)), 'data');
  await assertError(() => et.data.parseIdx(bytes.subarray(0, 3)), 'data');
  await assertError(() => et.data.parseIdx(new Uint8Array(0)), 'data');
  await assertError(() => et.data.parseIdx(idx(7, [2, 3], [1, 2, 3, 4, 5, 6])), 'data');
  await assertError(() => et.data.parseIdx(idx(8, [255 << 23, 255 << 23], [1])), 'data');
  await assertError(() => et.data.parseIdx('text'), 'value', 'a Uint8Array');
  for (const broken of [packed.subarray(0, 20), packed.subarray(0, 5), damaged]) {
    await assertError(() => et.data.readIdx(broken), 'data', 'readIdx', 'gzip');
    await assertError(() => et.data.gunzip(broken), 'data', 'gunzip');
  }
  await assertError(() => et.data.readIdx('/no/such/file'), 'io', '/no/such/file');
  await assertError(() => et.data.readIdx(3), 'value', '3');
});

test('an address that cannot be fetched is an error that names it', async (t) => {
  t.mock.method(globalThis, 'fetch', async () => { throw new TypeError('fetch failed'); });
  const address = 'https://example.org/file';
  for (const read of [et.data.readIdx, et.data.readNpy, (source) => et.data.toArray(et.data.csv(source))])
    await assertError(() => read(address), 'io', `cannot read "${address}": fetch failed`, 'check the address');
});

test('a one-pass generator as validation data is used until it is exhausted; later epochs have no val_loss', async () => {
  const model = summing();
  model.compile(mse(0));
  const validation = { synchronous: function* () { yield [[[1, 2]], [[0]]]; yield [[[0, 1]], [[0]]]; },
    asynchronous: async function* () { await sleep(1); yield [[[1, 2]], [[0]]]; yield [[[0, 1]], [[0]]]; } };
  for (const [kind, generator] of Object.entries(validation)) {
    const { history } = await model.fit([[1, 2]], [[0]], { ...quiet, epochs: 4, validationData: generator() });
    assert.deepEqual(history, { loss: [9, 9, 9, 9], val_loss: [5] }, kind);
  }
  const { history } = await model.fit([[1, 2]], [[0]], { ...quiet, epochs: 4, validationData: validation.synchronous(), validationSteps: 1 });
  assert.deepEqual(history.val_loss, [9, 1]);
});

/** The stderr of a program in a child process. */
function warningsOf(program) {
  const text = `import * as et from 'etude-ml';
    const model = et.sequential([et.layers.dense({ units: 1 })]);
    model.compile({ loss: 'mse' });
    ${program}`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], { cwd: import.meta.dirname, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stderr.trim().split('\n').filter((line) => line);
}

test('a one-pass generator as validation data is a warning, once, in JavaScript\'s spelling', () => {
  const once = "(function* () { yield [[[1]], [[0]]]; yield [[[2]], [[0]]]; })()";
  const [warning, ...others] = warningsOf(`await model.fit([[1]], [[0]], { verbose: 0, epochs: 5, validationData: ${once} });`);
  assert.match(warning, /^Warning: Your .*input ran out of data; interrupting /);
  assertJavaScript(warning);
  assert.deepEqual(others, []);
});

test('warnings of data are spelled in JavaScript', () => {
  const endless = 'function* () { for (;;) yield [[[1]], [[0]]]; }';
  const [short] = warningsOf("await model.fit((function* () { yield [[[1]], [[0]]]; })(), { verbose: 0, stepsPerEpoch: 2, epochs: 3 });");
  assert.match(short, /at least `stepsPerEpoch \* epochs` batches \(in this case, 6 batches\)/);
  const [forever] = warningsOf(`await model.fit(${endless}, { verbose: 0, stepsPerEpoch: -1, callbacks: [{ onTrainBatchEnd(step) { this.model.stopTraining = step > 3; } }] });`);
  assert.match(forever, /since you have set \{ stepsPerEpoch: -1 \}\./);
  for (const warning of [short, forever]) assertJavaScript(warning);
});

test('every begin hook has its end hook, in an epoch without batches too', async () => {
  const model = summing();
  model.compile(mse(0));
  const begun = {};
  const ended = {};
  const count = (counts, name) => () => void (counts[name] = (counts[name] ?? 0) + 1);
  const counter = {};
  for (const name of ['Epoch', 'TrainBatch', 'Train']) Object.assign(counter, { [`on${name}Begin`]: count(begun, name), [`on${name}End`]: count(ended, name) });
  const six = (function* () { for (let i = 0; i < 6; ++i) yield [[[1, i]], [[0]]]; })();
  const { epoch, history } = await model.fit(six, { ...quiet, epochs: 5, stepsPerEpoch: 3, callbacks: [counter] });
  assert.deepEqual(epoch, [0, 1, 2]);
  assert.equal(history.loss[2], history.loss[1]);
  assert.deepEqual(begun, { Epoch: 3, TrainBatch: 6, Train: 1 });
  assert.deepEqual(ended, begun);
});
