// predictStream: predictions batch by batch, as an asynchronous iterator or a file.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import * as et from 'etude-ml';
import { assertError, mse, summing, twoDense, waves } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([10, 3]);
const byFour = { ...quiet, batchSize: 4 };
afterEach(() => et.setYieldEvery(16));

async function rowsOf(stream) {
  const rows = [];
  for await (const batch of stream) rows.push(...batch.data);
  return rows;
}
const batches = () => [x.slice(0, 4), x.slice(4, 8), x.slice(8, 10)];
function* generator() {
  yield* batches();
}
async function* asynchronous() {
  for (const batch of batches()) {
    await later(1);
    yield batch;
  }
}

test('it yields the rows of predict, for every kind of data', async () => {
  const model = twoDense();
  const expected = [...(await model.predict(x, byFour)).data];
  const kinds = {
    tensor: [x, byFour],
    lists: [x.array(), byFour],
    'a lazy array': [{ shape: x.shape, dtype: 'float32', slice: async (first, last) => x.slice(first, last) }, byFour],
    'a dataset': [et.data.fromTensorSlices({ x }).batch(4)],
    'a generator': [generator()],
    'a function': [generator],
    'an asynchronous generator': [asynchronous()],
    'a sequence': [{ length: 3, getItem: async (index) => batches()[index] }],
  };
  for (const [kind, [data, options = quiet]] of Object.entries(kinds)) assert.deepEqual(await rowsOf(model.predictStream(data, options)), expected, kind);
});

test('a batch belongs to the caller, and stays valid', async () => {
  const model = twoDense();
  const kept = [];
  for await (const batch of model.predictStream(x, byFour)) kept.push(batch);
  assert.deepEqual(kept.map(({ shape }) => [...shape]), [[4, 1], [4, 1], [2, 1]]);
  assert.deepEqual(kept.flatMap(({ data }) => [...data]), [...(await model.predict(x, byFour)).data]);
});

test('callbacks are called, and awaited, as by predict', async () => {
  const model = twoDense();
  const events = [];
  const hook = (name) => async (step) => {
    await later(1);
    events.push(typeof step === 'number' ? `${name} ${step}` : name);
  };
  const callbacks = [{ onPredictBegin: hook('begin'), onPredictBatchEnd: hook('batch'), onPredictEnd: hook('end') }];
  for await (const batch of model.predictStream(x, { ...byFour, callbacks })) events.push(`got ${batch.shape[0]}`);
  assert.deepEqual(events, ['begin', 'batch 0', 'got 4', 'batch 1', 'got 4', 'batch 2', 'got 2', 'end']);
});

test('leaving the loop early ends it: end hooks are called, generators closed, no batch follows', async () => {
  const model = twoDense();
  const events = [];
  async function* endless() {
    try {
      for (;;) yield x;
    } finally {
      events.push('closed');
    }
  }
  const callbacks = [{ onPredictEnd: () => void events.push('end') }];
  const stream = model.predictStream(endless(), { ...quiet, callbacks });
  for await (const batch of stream) {
    assert.deepEqual([...batch.shape], [10, 1]);
    break;
  }
  assert.deepEqual(events.sort(), ['closed', 'end']);
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  await assert.rejects(async () => {
    for await (const _ of model.predictStream(endless(), quiet)) throw new RangeError('mine');
  }, RangeError);
  assert.equal((await model.predict(x, quiet)).shape[0], 10);
});

test('nothing runs before the first request; several requests may be pending', async () => {
  const model = twoDense();
  let asked = 0;
  const data = { length: 3, getItem: (index) => ((asked += 1), batches()[index]) };
  const stream = model.predictStream(data, quiet);
  await later(2);
  assert.equal(asked, 0);
  const results = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
  assert.deepEqual(results.map(({ done }) => done), [false, false, false, true]);
  const unused = model.predictStream(data, quiet);
  await unused.return();
  assert.deepEqual(await unused.next(), { value: undefined, done: true });
});

test('between two batches the model may be trained', async () => {
  const model = twoDense();
  model.compile(mse());
  const stream = model.predictStream(x, { ...quiet, batchSize: 5 });
  assert.deepEqual((await stream.next()).value.data, model.predictOnBatch(x.slice(0, 5)).data);
  await model.fit(x, waves([10, 1]), quiet);
  assert.deepEqual((await stream.next()).value.data, model.predictOnBatch(x.slice(5)).data);
});

test('a model of several outputs yields a list for each batch', async () => {
  const input = et.input({ shape: [3] });
  const model = et.model({ inputs: [input], outputs: [1, 2].map((units) => et.layers.dense({ units }).apply(input)) });
  for await (const outputs of model.predictOutputsStream(x, quiet)) assert.deepEqual(outputs.map(({ shape }) => [...shape]), [[10, 1], [10, 2]]);
  await assertError(() => model.predictStream(x, quiet).next(), 'value', '2 outputs', 'predictOutputsStream()');
});

test('errors are thrown by the request for a batch', async () => {
  await assertError(() => twoDense().predictStream(x, { ...quiet, batchSize: 0 }).next(), 'value', 'batchSize');
  await assertError(() => twoDense().predictStream(x, { ...quiet, batches: 4 }).next(), 'value', 'batches');
  const mine = new RangeError('mine');
  const broken = twoDense().predictStream((function* () {
    yield x;
    throw mine;
  })(), quiet);
  await broken.next();
  await assert.rejects(broken.next(), mine);
  assert.deepEqual(await broken.next(), { value: undefined, done: true });
});

test('the loop yields between batches', async () => {
  et.setYieldEvery(0);
  let turns = 0, running = true;
  const other = () => void (running && ((turns += 1), setImmediate(other)));
  setImmediate(other);
  for await (const _ of twoDense().predictStream(x, { ...quiet, batchSize: 1 }));
  running = false;
  assert.ok(turns >= 9, `${turns} turns`);
});

test('the module\'s memory does not grow, for any number of rows', async (t) => {
  const model = summing();
  const rows = waves([1000, 8]);
  let first, seen = 0, wanted = 300_000;
  function* data() {
    for (let made = 0; made < wanted; made += 1000) yield rows;
  }
  for await (const batch of model.predictStream(data(), quiet)) {
    seen += batch.shape[0];
    if (seen >= wanted / 100) first ??= et.memory();
  }
  const { heapBytes, usedBytes } = et.memory();
  t.diagnostic(`${seen} rows: ${usedBytes - first.usedBytes} bytes more in use`);
  assert.equal(seen, wanted);
  assert.equal(heapBytes, first.heapBytes);
  assert.ok(Math.abs(usedBytes - first.usedBytes) < 1 << 20, `${usedBytes - first.usedBytes} bytes`);
});

test('it writes a complete .npy file, or none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'etude-'));
  const path = join(folder, 'out.npy');
  try {
    const model = twoDense();
    const expected = (await model.predict(x, byFour)).data;
    await model.predictStream(asynchronous(), quiet).writeNpy(path);
    const written = await et.data.readNpy(path);
    assert.deepEqual([[...written.shape], written.data], [[10, 1], expected]);
    const before = readFileSync(path);
    await assert.rejects(model.predictStream((function* () {
      yield x;
      throw new RangeError('mine');
    })(), quiet).writeNpy(path), RangeError);
    assert.deepEqual(readFileSync(path), before);
    assert.deepEqual(readdirSync(folder), ['out.npy']);
    const stream = model.predictStream(x, byFour);
    await stream.next();
    await stream.writeNpy(path);
    assert.deepEqual([...(await et.data.readNpy(path)).data], [...expected.slice(4)]);
    await assertError(() => model.predictStream(x, quiet).writeNpy(join(folder, 'none/out.npy')), 'io', 'none/out.npy');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
