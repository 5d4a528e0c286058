// Hooks into the loops: their order, what they are told, and that loops wait for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as et from 'etude';
import { assertError, mse, signsOf, summing, twoDense, waves } from './support.mjs';

const quiet = { verbose: 0 };
const hooks = ['onTrainBegin', 'onTrainEnd', 'onEpochBegin', 'onEpochEnd', 'onTrainBatchBegin', 'onTrainBatchEnd', 'onTestBegin', 'onTestEnd',
  'onTestBatchBegin', 'onTestBatchEnd', 'onPredictBegin', 'onPredictEnd', 'onPredictBatchBegin', 'onPredictBatchEnd'];

/** Writes down every hook: "EpochEnd 0 loss,val_loss". */
function recorder(events, work = () => {}) {
  return Object.fromEntries(hooks.map((hook) => [hook, (...given) => {
    const logs = given.pop();
    events.push([hook.slice(2), ...given, Object.keys(logs).join(',')].join(' ').trim());
    return work(hook);
  }]));
}

const expected = ['TrainBegin', 'EpochBegin 0', 'TrainBatchBegin 0', 'TrainBatchEnd 0 loss', 'TrainBatchBegin 1', 'TrainBatchEnd 1 loss',
  'TestBegin', 'TestBatchBegin 0', 'TestBatchEnd 0 loss', 'TestEnd loss', 'EpochEnd 0 loss,val_loss', 'TrainEnd loss,val_loss'];

for (const [kind, work] of [['synchronous', () => {}], ['asynchronous', () => sleep(1)], ['mixed', (hook) => (hook.length % 2 ? sleep(1) : undefined)]])
  test(`${kind} hooks are called in Keras's order`, async () => {
    const model = summing();
    model.compile(mse());
    const events = [];
    const x = waves([4, 2]);
    await model.fit(x, signsOf(x), { ...quiet, batchSize: 2, validationData: [x, signsOf(x)], validationBatchSize: 4, callbacks: [recorder(events, work)] });
    assert.deepEqual(events, expected);
    events.length = 0;
    await model.predict(x, { ...quiet, callbacks: [recorder(events, work)] });
    assert.deepEqual(events, ['PredictBegin', 'PredictBatchBegin 0', 'PredictBatchEnd 0', 'PredictEnd']);
  });

test('each callback is awaited before the next one and before the next step', async () => {
  const model = summing();
  model.compile(mse());
  const events = [];
  const slow = { async onTrainBatchEnd(step) { events.push(`slow ${step} begins`); await sleep(3); events.push(`slow ${step} ends`); } };
  const fast = { onTrainBatchEnd(step) { events.push(`fast ${step}`); } };
  await model.fit(waves([4, 2]), waves([4, 1]), { ...quiet, batchSize: 2, callbacks: [slow, fast] });
  assert.deepEqual(events, [0, 1].flatMap((step) => [`slow ${step} begins`, `slow ${step} ends`, `fast ${step}`]));
});

test('callbacks know the model and the parameters, as objects, as a class and by lambda', async () => {
  const model = summing();
  model.compile(mse());
  const seen = [];
  class Mine extends et.Callback {
    onTrainBegin() { seen.push([this.model === model, this.params]); }
  }
  const plain = { onTrainBegin() { seen.push([this.model === model, this.params]); } };
  const lambda = et.callbacks.lambda({ onTrainBegin: () => seen.push('lambda') });
  const frozen = Object.freeze({ onTrainBegin: () => seen.push('frozen') });
  await model.fit(waves([4, 2]), waves([4, 1]), { ...quiet, batchSize: 2, epochs: 2, callbacks: [new Mine(), plain, lambda, frozen] });
  const params = { epochs: 2, steps: 2, verbose: 0 };
  assert.deepEqual(seen, [[true, params], [true, params], 'lambda', 'frozen']);
});

test('logs are read in their hook, synchronously or not, and not after it', async () => {
  const model = summing();
  model.compile(mse(0));
  const kept = [];
  const values = [];
  await model.fit([[1, 2], [0, 1]], [[0], [0]], { ...quiet, batchSize: 1, shuffle: false, callbacks: [{
    async onTrainBatchEnd(step, logs) {
      kept.push(logs);
      await sleep(1);
      values.push(logs.loss);
    },
    onEpochEnd(epoch, logs) { values.push({ ...logs }, JSON.stringify(logs)); },
  }] });
  assert.deepEqual(values, [9, 5, { loss: 5 }, '{"loss":5}']);
  assert.equal(kept[0].loss, 9, 'what was read is kept');
  let late;
  await model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [{ onTrainBatchEnd: (_, logs) => void (late = logs) }] });
  await assertError(() => late.loss, 'state', 'read after their hook');
});

test('what a hook sets in the logs of an epoch, later callbacks and History see', async () => {
  const model = summing();
  model.compile(mse(0));
  const seen = [];
  const { history } = await model.fit([[1, 2]], [[0]], { ...quiet, epochs: 2, callbacks: [
    { onEpochEnd(epoch, logs) { logs.rate = epoch / 2; logs.loss += 1; } },
    { onEpochEnd(epoch, logs) { seen.push({ ...logs }); } },
  ] });
  assert.deepEqual(seen, [{ loss: 10, rate: 0 }, { loss: 10, rate: 0.5 }]);
  assert.deepEqual(history, { loss: [10, 10], rate: [0, 0.5] });
});

test('stopTraining ends fit after this step', async () => {
  const model = summing();
  model.compile(mse());
  const steps = [];
  const { epoch } = await model.fit(waves([8, 2]), waves([8, 1]), { ...quiet, batchSize: 2, epochs: 9, callbacks: [
    { onTrainBatchEnd(step) { steps.push(step); if (step === 1) this.model.stopTraining = true; } }] });
  assert.deepEqual([steps, epoch], [[0, 1], [0]]);
});

test('a callback may evaluate, predict and change the learning rate', async () => {
  const x = waves([8, 2]);
  const model = summing();
  model.compile(mse());
  const seen = [];
  await model.fit(x, signsOf(x), { ...quiet, epochs: 2, callbacks: [{
    async onEpochEnd() {
      seen.push(await this.model.evaluate(x, signsOf(x), quiet), (await this.model.predict(x, quiet)).shape);
      this.model.optimizer.learningRate /= 2;
    },
  }] });
  assert.deepEqual([seen.length, seen[1]], [4, [8, 1]]);
  assert.ok(seen[2] < seen[0]);
  assert.ok(Math.abs(model.optimizer.learningRate - 0.025) < 1e-8);
});

for (const [kind, fail] of [
  ['throws', (error) => { throw error; }],
  ['rejects', async (error) => { await sleep(1); throw error; }],
])
  test(`a callback that ${kind} ends the loop with its own error, and the model stays usable`, async () => {
    const x = waves([8, 2]);
    const model = twoDense();
    model.compile(mse());
    await model.fit(x, signsOf(x), quiet);
    const error = new TypeError('mine');
    for (const hook of hooks.slice(0, 6)) {
      const before = model.getWeights();
      const loop = model.fit(x, signsOf(x), { ...quiet, callbacks: [{ [hook]: () => fail(error) }] });
      await assert.rejects(loop, (thrown) => thrown === error, hook);
      if (hook === 'onTrainBegin' || hook === 'onTrainBatchBegin') assert.deepEqual(model.getWeights(), before);
    }
    const { history } = await model.fit(x, signsOf(x), quiet);
    assert.ok(Number.isFinite(history.loss[0]));
  });

test('hooks that nobody asked for cost no call into JavaScript', async () => {
  const model = summing();
  model.compile(mse());
  let read = 0;
  const callback = new Proxy({}, { get: () => void (read += 1) });
  await model.fit(waves([64, 2]), waves([64, 1]), { ...quiet, batchSize: 1, epochs: 4, callbacks: [callback] });
  assert.ok(read <= 16, `${read} reads of properties in 256 steps`);
});
