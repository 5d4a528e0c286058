// Fits that are interrupted and restarted; averages of weights during evaluation.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, summing, waves, weightsOf, withDropout } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-resume-'));
after(() => rmSync(folder, { recursive: true }));

const x = waves([44, 5]);
const y = signsOf(x);
const xs = x.array();
const ys = y.array();

function* batches() {
  for (let i = 0; ; i = (i + 8) % 40) yield [xs.slice(i, i + 8), ys.slice(i, i + 8)];
}
const kinds = {
  arrays: () => [[x, y], { batchSize: 8 }],
  dataset: () => [[et.data.fromTensorSlices({ x, y }).shuffle(16, { seed: 3 }).map(async (row) => { await sleep(0); return row; }).batch(8).prefetch(2)], {}],
  sequence: () => [[{ length: 6, getItem: (i) => [xs.slice(8 * i, 8 * i + 8), ys.slice(8 * i, 8 * i + 8)] }], {}],
  generator: () => [[batches()], { stepsPerEpoch: 6 }],
  'asynchronous generator': () => [[(async function* () { for (const batch of batches()) { await sleep(0); yield batch; } })()], { stepsPerEpoch: 6 }],
};

/** A whole training script with new objects. Ends at hook number `interruptAt`. */
async function script(kind, { backupDir, saveFreq, interruptAt, ...more } = {}) {
  const model = withDropout();
  let hooks = 0;
  const count = () => {
    if (hooks++ === interruptAt) throw new RangeError('interrupted');
  };
  const interrupter = { onTrainBatchBegin: count, onTrainBatchEnd: count, onEpochBegin: count, onEpochEnd: count, onTestBatchEnd: count };
  const callbacks = [interrupter, et.callbacks.reduceLrOnPlateau({ monitor: 'loss', patience: 1 })];
  if (more.callback) callbacks.push(more.callback);
  if (backupDir) callbacks.push(et.callbacks.backupAndRestore({ backupDir, saveFreq, ...more.backup }));
  const [data, options] = kinds[kind]();
  const { epoch, history } = await model.fit(...data, { epochs: 3, verbose: 0, validationData: [x, y], callbacks, ...options });
  return { epoch, history, weights: weightsOf(model), hooks };
}
const interrupted = (kind, options) => assert.rejects(script(kind, options), { message: 'interrupted' });

for (const kind of Object.keys(kinds))
  test(`a fit on ${kind} that is interrupted and restarted gives the same weights and history`, async () => {
    const { hooks, ...whole } = await script(kind);
    for (const [saveFreq, interruptAt] of [['epoch', hooks - 5], [1, 20], [4, 27], [3, 8]]) {
      const backupDir = join(folder, `${kind} ${saveFreq}`);
      await interrupted(kind, { backupDir, saveFreq, interruptAt });
      assert.ok(existsSync(backupDir) && readdirSync(backupDir).some((name) => name.startsWith('ckpt-')));
      const resumed = await script(kind, { backupDir, saveFreq });
      assert.ok(resumed.hooks < hooks, 'it began anew');
      assert.deepEqual({ ...resumed, hooks: 0 }, { ...whole, hooks: 0 });
      assert.ok(!existsSync(backupDir), 'it is left behind');
    }
  });

test('deleteCheckpoint and doubleCheckpoint determine the kept states, and a damaged one is skipped for the previous one', async () => {
  const backupDir = join(folder, 'kept');
  const backup = { doubleCheckpoint: true, deleteCheckpoint: false };
  const { hooks, ...whole } = await script('arrays', { backupDir, backup });
  const states = () => readdirSync(backupDir).filter((name) => name.startsWith('ckpt-'));
  assert.equal(states().length, 2);
  const file = join(backupDir, states()[1], 'model.safetensors');
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(file, bytes);
  const again = await script('arrays', { backupDir, backup });
  assert.ok(again.hooks < hooks, 'it began anew');
  assert.deepEqual({ ...again, hooks }, { ...whole, hooks });
});

test('a custom callback is saved by state and restore', async () => {
  class Counter extends et.Callback {
    seen = [];
    onTrainBatchEnd(step) { this.seen.push(step); }
    state() { return this.seen; }
    restore(seen) { this.seen = seen; }
  }
  const backupDir = join(folder, 'counter');
  await interrupted('arrays', { backupDir, saveFreq: 4, interruptAt: 30, callback: new Counter() });
  const counter = new Counter();
  await script('arrays', { backupDir, callback: counter });
  assert.deepEqual(counter.seen, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
});

test('a log that is appended to has each epoch once after a resumed fit', async () => {
  const logged = (name, options) => script('arrays', { backupDir: join(folder, `${name} backup`), saveFreq: 2, callback: et.callbacks.csvLogger({ filename: join(folder, `${name}.csv`), append: true }), ...options });
  const log = (name) => readFileSync(join(folder, `${name}.csv`), 'utf8');
  const { hooks } = await logged('whole');
  assert.deepEqual(log('whole').split('\r\n').slice(1, -1).map((line) => line.split(',')[0]), ['0', '1', '2']);
  for (let interruptAt = 3; interruptAt < hooks; interruptAt += 5) {
    await assert.rejects(logged(`at ${interruptAt}`, { interruptAt }), { message: 'interrupted' });
    await logged(`at ${interruptAt}`);
    assert.equal(log(`at ${interruptAt}`), log('whole'), `interrupted at hook ${interruptAt}`);
  }
});

test('a fit that is refused because of another fit in its folder does not change the log of the other', async () => {
  const backupDir = join(folder, 'locked'), filename = join(folder, 'first.csv'), log = () => readFileSync(filename, 'utf8');
  const callbacks = () => [et.callbacks.csvLogger({ filename }), et.callbacks.backupAndRestore({ backupDir })];
  const model = () => {
    const model = summing();
    model.compile(mse(0));
    return model;
  };
  let refused = 0;
  const second = { async onEpochEnd(epoch) {
    if (epoch === 0) return;
    const before = log();
    assert.match(before, /^epoch,loss,val_loss\r\n0,/);
    await assertError(() => model().fit(x, y, { verbose: 0, callbacks: callbacks() }), 'state', 'is locked');
    assert.equal(log(), before);
    refused += 1;
  } };
  await model().fit(x, y, { verbose: 0, epochs: 3, callbacks: [second, ...callbacks()] });
  assert.equal(refused, 2);
  assert.deepEqual(log().split('\r\n').map((line) => line.split(',')[0]), ['epoch', '0', '1', '2', '']);
});

test('invalid options are errors', async () => {
  await assertError(() => et.callbacks.backupAndRestore({ backupDir: folder, saveBeforePreemption: true }), 'value', '{ saveBeforePreemption: true } where there are no signals, as in WebAssembly', 'omit it and set saveFreq.');
  et.callbacks.backupAndRestore({ backupDir: folder, saveBeforePreemption: false });
  await assertError(() => et.callbacks.backupAndRestore({}), 'value', 'Empty `backupDir` argument');
  await assertError(() => et.callbacks.backupAndRestore({ backupDir: folder, saveFreq: 0 }), 'value', 'saveFreq = 0');
  const backupDir = join(folder, 'other');
  await interrupted('arrays', { backupDir, saveFreq: 1, interruptAt: 9 });
  const model = summing();
  model.compile(mse());
  const callbacks = [et.callbacks.backupAndRestore({ backupDir })];
  await assertError(() => model.fit(x, y, { verbose: 0, callbacks }), 'data', 'a model of the same layers and optimizer');
});

test('swapEmaWeights: evaluate and predict use the averages, training the weights', async () => {
  const model = summing();
  model.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.1, useEma: true, emaMomentum: 0.5 }), loss: 'mse' });
  for (let i = 0; i < 3; ++i) await model.trainOnBatch([[1, 1]], [[0]]);
  const trained = weightsOf(model);
  const callbacks = [et.callbacks.swapEmaWeights({ swapOnEpoch: false })];
  const plain = (await model.predict([[1, 1]], { verbose: 0 })).data[0];
  const averaged = (await model.predict([[1, 1]], { verbose: 0, callbacks })).data[0];
  assert.ok(averaged > plain + 0.01, `${averaged} is not behind ${plain}`);
  assert.deepEqual(weightsOf(model), trained);
  const other = summing();
  other.compile(mse());
  await assertError(() => other.evaluate([[1, 1]], [[0]], { verbose: 0, callbacks }), 'state', 'keeps no averages');
});
