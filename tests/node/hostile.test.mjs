// Sizes, configs and files beyond all limits: each is an EtudeError, or works, and the module stays usable.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, summing } from './support.mjs';

const quiet = { verbose: 0 };
const folder = mkdtempSync(join(tmpdir(), 'etude-hostile-'));
after(() => rmSync(folder, { recursive: true }));

/** Checks that after the error another model trains, and predicts correctly. */
afterEach(async () => {
  const model = summing();
  model.compile(mse(0));
  assert.deepEqual((await model.fit([[1, 2]], [[0]], quiet)).history.loss, [9]);
});

// ---- Extents of 0 ----

test('normalizations, and fit, on empty arrays: an empty result or an error, and the model stays usable', async () => {
  for (const make of [et.layers.layerNormalization, et.layers.batchNormalization]) {
    const model = et.sequential([make()]);
    assert.deepEqual((await model.predict(new et.Tensor(new Float32Array(0), [2, 0, 4]), quiet)).shape, [2, 0, 4]);
    assert.deepEqual((await model.predict(new et.Tensor(new Float32Array(24), [2, 3, 4]), quiet)).shape, [2, 3, 4]);
    const without = et.sequential([make()]);
    await without.predict(new et.Tensor(new Float32Array(0), [2, 3, 0]), quiet).catch((error) => assert.ok(error instanceof et.EtudeError, error));
  }
  const model = et.sequential([et.layers.layerNormalization(), et.layers.dense({ units: 1 })]);
  model.compile(mse());
  const steps = (count) => [new et.Tensor(new Float32Array(8 * count), [2, count, 4]), new et.Tensor(new Float32Array(2 * count), [2, count, 1])];
  model.build([-1, 3, 4]);
  for (const count of [3, 0, 3]) await model.fit(...steps(count), quiet).catch((error) => assert.ok(count === 0 && error instanceof et.EtudeError, error));
  assert.ok(Number.isFinite((await model.fit(...steps(3), quiet)).history.loss[0]));
});

// ---- Sizes ----

test('windows that are larger than any image are errors', async () => {
  const x = new et.Tensor(new Float32Array(32), [1, 4, 4, 2]);
  for (const make of [et.layers.conv2d, et.layers.depthwiseConv2d])
    for (const dilationRate of [32766, 65535, 2 ** 31 - 1]) {
      const model = et.sequential([make({ ...(make === et.layers.conv2d && { filters: 2 }), kernelSize: 3, padding: 'same', dilationRate })]);
      await assert.rejects(() => model.predict(x, quiet), (error) => error instanceof et.EtudeError);
    }
});

test('a size beyond memory is an error, in code and in a config', async () => {
  const lstm = (units) => `{"class_name": "Sequential", "config": {"build_input_shape": [null, 5, 3], "layers": [{"class_name": "LSTM", "config": {"units": ${units}}}]}}`;
  assert.equal(et.modelFromJson(lstm(2)).countParams(), 4 * 2 * (3 + 2 + 1));
  for (const units of ['4611686018427387904', '9223372036854775807', '1000000000000', '1e300'])
    assert.throws(() => et.modelFromJson(lstm(units)), (error) => error instanceof et.EtudeError && /LSTM|units/.test(error.message));
  for (const units of [2 ** 40, 2 ** 53 - 1, 2 ** 62])
    assert.throws(() => et.sequential([et.layers.lstm({ units })]).build([-1, 5, 3]), (error) => error instanceof et.EtudeError && /LSTM|lstm|units/.test(error.message));
});

test('stages of datasets accept huge numbers, or refuse them', async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const numbers = async (dataset) => (await et.data.toArray(dataset)).map(({ x }) => x.data[0]);
  const range = () => et.data.range(4);
  assert.deepEqual(await numbers(range().prefetch(most)), [0, 1, 2, 3]);
  assert.deepEqual(await numbers(range().take(most).skip(1)), [1, 2, 3]);
  assert.deepEqual(await numbers(range().skip(most)), []);
  assert.deepEqual((await numbers(range().shuffle(2 ** 32 - 1))).sort(), [0, 1, 2, 3]);
  assert.deepEqual(await numbers(range().repeat(most).take(5)), [0, 1, 2, 3, 0]);
  assert.deepEqual((await et.data.toArray(range().batch(most))).map(({ x }) => x.shape), [[4]]);
  await assertError(() => range().shuffle(most), 'value', '[Dataset.shuffle]', `bufferSize = ${most}`);
  await assertError(() => range().repeat(most).repeat(most), 'value', 'a result of less than 2^63');
  for (const stage of ['prefetch', 'shuffle', 'batch', 'repeat', 'take', 'skip', 'shard'])
    for (const size of [2 ** 63, 2 ** 70, Infinity, -(2 ** 62), NaN]) assert.throws(() => range()[stage](size, 0), et.EtudeError, `${stage}(${size})`);
});

// ---- Folders and configs ----

/** As in core/etude/base/detail/crc32c.cpp. */
function crc32c(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; ++bit) sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  return (~sum >>> 0).toString(16).padStart(8, '0');
}

/** Changes the config of a saved model, and corrects its checksums. */
function changeConfig(saved, change) {
  const [checkpoint] = readdirSync(saved).filter((name) => name.startsWith('ckpt-'));
  const at = (name) => join(saved, checkpoint, name);
  const config = Buffer.from(change(readFileSync(at('config.json'), 'utf8')));
  writeFileSync(at('config.json'), config);
  const [manifest] = readdirSync(join(saved, checkpoint)).filter((name) => /manifest/i.test(name));
  const { crc32c: _, ...told } = JSON.parse(readFileSync(at(manifest), 'utf8'));
  Object.assign(told.files.find(({ name }) => name === 'config.json'), { size: config.length, crc32c: crc32c(config) });
  const body = JSON.stringify(told).slice(0, -1);
  writeFileSync(at(manifest), `${body},\n"crc32c":"${crc32c(Buffer.from(body))}"}\n`);
}

test('a config with more weights than its folder is refused before memory is allocated', async () => {
  const model = et.sequential([et.layers.dense({ units: 7 })]);
  model.build([-1, 3]);
  const saved = join(folder, 'bomb');
  model.save(saved);
  changeConfig(saved, (text) => text.replace(/"units": ?7\b/, '"units": 7 '));
  assert.deepEqual(et.loadModel(saved).getWeights(), model.getWeights());
  changeConfig(saved, (text) => text.replace('"units": 7 ', '"units": 250000000'));
  const { heapBytes } = et.memory();
  await assertError(() => et.loadModel(saved), 'data', '[loadModel]', '[3, 250000000]', '[3, 7]');
  assert.ok(et.memory().heapBytes - heapBytes < 2 ** 20, `${et.memory().heapBytes - heapBytes} bytes of memory were taken`);
});

test('a config with a value of another type is an error that names the field', async () => {
  const config = (fields) => JSON.stringify({ class_name: 'Sequential', config: { layers: [{ class_name: 'Dense', config: { units: 1, ...fields } }] } });
  assert.equal(et.modelFromJson(config({ trainable: false })).layers[0].trainable, false);
  for (const [name, value] of Object.entries({ trainable: 'x', units: 'one', name: 3, kernel_initializer: { class_name: 7 } }))
    await assertError(() => et.modelFromJson(config({ [name]: value })), ...(name.startsWith('kernel') ? ['data', 'class_name'] : ['value', name]));
});

// ---- Readers ----

test('CSV with a stray quote is an error that names the line, in a file of any length', async () => {
  const rows = '3,4\n'.repeat(2 ** 18);
  const told = (text) => et.data.toArray(et.data.csv(new TextEncoder().encode(text)));
  await assertError(() => told(`a,b\n1,2\n5,"6\n${rows}`), 'data', 'line 3 has an unclosed quote');
  await assertError(() => told('a,b\n1,2\n5,6"7\n'), 'data', 'line 3');
  assert.deepEqual((await told('a,b\n1,"2"\n')).map(({ x }) => [...x.data]), [[1, 2]]);
});

test('CSV with a text column that may be the label: the error says how to name it, in JavaScript\'s spelling', async () => {
  const bytes = new TextEncoder().encode('a,b,species\n1,2,setosa\n');
  const hint = 'exclude the column by `columns`, or, if the model shall predict it, set it as `label` and list its texts in `classNames`.';
  await assertError(() => et.data.toArray(et.data.csv(bytes)), 'data', 'line 2, column "species": "setosa"', hint);
  await assertError(() => et.data.toArray(et.data.csv(bytes, { label: 'species' })), 'data', 'list the label texts in `classNames`');
});

/** A .npy file. */
function npy(descr, shape, data) {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape},), }`.padEnd(117) + '\n';
  return Uint8Array.from([0x93, ...Buffer.from('NUMPY'), 1, 0, 118, 0, ...Buffer.from(header), ...data]);
}

test('a .npy file of bools has bytes of 0 and 1 only', async () => {
  assert.deepEqual(et.data.parseNpy(npy('|b1', 3, [0, 1, 1])).array(), [0, 1, 1]);
  for (const byte of [2, 62, 255]) await assertError(() => et.data.parseNpy(npy('|b1', 3, [0, 1, byte])), 'data', `a bool of ${byte}`);
});

// ---- Values that are no Values, and user code that fails in odd ways ----

test('null where a Value is expected is an error', async () => {
  const isError = (error) => error instanceof et.EtudeError && /null - expected a Value/.test(error.message);
  const x = [[1, 2]];
  await assert.rejects(() => et.model({ layers: [], call: (x) => [x, null] }).predict(x, quiet), isError);
  assert.throws(() => et.ops.stack([et.input({ shape: [2] }), null]), (error) => error instanceof et.EtudeError);
  await assert.rejects(() => et.sequential([et.layers.dense({ units: 2 })], { predictStep: () => [null] }).predict(x, quiet), isError);
  class Two extends et.Layer {
    call(x) { return [x, null]; }
  }
  assert.throws(() => new Two().applyAll(et.input({ shape: [3] })), isError);
});

test('user code that throws null, or any error while a member is read, ends its caller alone', async () => {
  assert.throws(() => et.layers.dense({ units: 2, activation() { throw null; } }).call([[1, 2]]), /null/);
  assert.throws(() => et.layers.dense({ get units() { throw new RangeError('mine'); } }), /mine/);
  const boom = () => { throw new Error('mine'); };
  const bad = new Proxy({}, { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom });
  for (let i = 0; i < 30; ++i) await assert.rejects(() => et.model({ layers: [], call: () => bad }).predict([[1, 2, 3]], quiet), /mine/);
  const model = et.sequential([et.layers.dense({ units: 2 })]);
  model.compile({ loss: 'mse' });
  const onEpochEnd = (epoch, logs) => Object.defineProperty(logs, 'a', { enumerable: true, get: boom });
  await assert.rejects(() => model.fit([[1, 2]], [[1, 2]], { ...quiet, callbacks: [{ onEpochEnd }] }), /mine/);
});

test('arrays that contain themselves, and custom classes that call themselves, are errors', async () => {
  const isError = (error) => error instanceof et.EtudeError;
  const a = [];
  a.push(a);
  assert.throws(() => et.tensor(a), isError);
  const model = et.sequential([et.layers.dense({ units: 2 })]);
  await assert.rejects(() => model.predict(a, quiet), isError);
  const data = et.data.range(3).flatMap(() => data);
  await assert.rejects(() => et.data.toArray(data.take(1)), isError);
  class Schedule extends et.LearningRateSchedule {
    call() { return this.at(1); }
  }
  class Loss extends et.Loss {
    call(yTrue, yPred) { return this.handle.call(yTrue, yPred); }
  }
  for (const options of [{ loss: 'mse', optimizer: et.optimizers.sgd({ learningRate: new Schedule() }) }, { loss: new Loss() }]) {
    model.compile(options);
    await assert.rejects(() => model.fit([[1, 2]], [[1, 2]], quiet), isError);
  }
});
