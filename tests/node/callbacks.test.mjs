// Hooks into the loops: their order and arguments, and that loops await them; and Keras's callbacks.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const hooks = ['onTrainBegin', 'onTrainEnd', 'onEpochBegin', 'onEpochEnd', 'onTrainBatchBegin', 'onTrainBatchEnd', 'onTestBegin', 'onTestEnd',
  'onTestBatchBegin', 'onTestBatchEnd', 'onPredictBegin', 'onPredictEnd', 'onPredictBatchBegin', 'onPredictBatchEnd'];

/** Records every hook: "EpochEnd 0 loss,val_loss". */
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
    assert.deepEqual(events, ['PredictBegin', 'PredictBatchBegin 0', 'PredictBatchEnd 0 outputs', 'PredictEnd']);
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

test('callbacks have model and params, as objects, as a class and by lambda', async () => {
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

test('logs can be read in their hook, synchronous or not, and not after it', async () => {
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

test('values that a hook sets in the logs of an epoch are passed to later callbacks and History', async () => {
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

test('stopEvaluating and stopPredicting end evaluate and predict after this step', async () => {
  const model = summing();
  model.compile(mse());
  const steps = [];
  const x = waves([8, 2]);
  await model.evaluate(x, waves([8, 1]), { ...quiet, batchSize: 2, callbacks: [
    { onTestBatchEnd(step) { steps.push(step); if (step === 1) this.model.stopEvaluating = true; } }] });
  const predicted = await model.predict(x, { ...quiet, batchSize: 2, callbacks: [{ onPredictBatchEnd() { this.model.stopPredicting = true; } }] });
  assert.deepEqual([steps, predicted.shape], [[0, 1], [2, 1]]);
});

test('a model lists its metrics and resets them', () => {
  const model = summing();
  const mae = et.metrics.meanAbsoluteError();
  model.compile({ ...mse(), metrics: [mae] });
  model.testOnBatch(waves([2, 2]), waves([2, 1]));
  assert.deepEqual(model.metrics.map((metric) => metric.name), model.metricsNames);
  assert.equal(mae.variables[1].value().data[0], 2);
  model.resetMetrics();
  assert.deepEqual(mae.variables.map((variable) => variable.value().data[0]), [0, 0]);
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

test('hooks may be null or have Keras\'s older names; other names and values are errors', async () => {
  const model = summing(), x = waves([4, 2]), y = waves([4, 1]), seen = [];
  model.compile(mse());
  const fit = (callback) => model.fit(x, y, { ...quiet, batchSize: 2, callbacks: [callback] });
  await fit({ onEpochEnd: null, onBatchBegin: (step) => seen.push(step), onBatchEnd(step, logs) { seen.push(this.model === model && Number.isFinite(logs.loss)); } });
  await fit(new (class extends et.Callback { onBatchEnd() { seen.push(this.params.steps); } })());
  assert.deepEqual(seen, [0, true, 1, true, 2, 2]);
  await assertError(() => fit({ onEpochEnd: 5 }), 'value', '[fit] 5 as onEpochEnd of a callback - expected a function');
  await assertError(() => fit(new (class { on_epoch_end() {} })()), 'value', 'a callback with "on_epoch_end" - expected onEpochEnd');
  await assertError(() => et.callbacks.lambda({ onEpochEnded() {} }), 'value', '[callbacks.lambda] unknown option "onEpochEnded" - expected some of: onTrainBegin');
});

test('hooks that a callback lacks cost no call into JavaScript', async () => {
  const model = summing();
  model.compile(mse());
  let read = 0;
  const callback = new Proxy({}, { get: () => void (read += 1) });
  await model.fit(waves([64, 2]), waves([64, 1]), { ...quiet, batchSize: 1, epochs: 4, callbacks: [callback] });
  assert.ok(read <= 32, `${read} reads of properties in 256 steps`);
});

test("Keras's callbacks and custom ones can be in one list", async () => {
  const x = waves([8, 2]);
  const model = twoDense();
  model.compile(mse());
  const stopping = et.callbacks.earlyStopping({ monitor: 'mine', mode: 'min', patience: 2, restoreBestWeights: true });
  const weights = [];
  const { epoch, history } = await model.fit(x, signsOf(x), { ...quiet, epochs: 9, callbacks: [
    { onEpochEnd(epoch, logs) { logs.mine = [3, 1, 2, 2, 0][epoch]; weights.push(weightsOf(model)); } },
    stopping,
    et.callbacks.learningRateScheduler({ schedule: (epoch, rate) => (epoch === 0 ? 0.5 : rate / 2) }),
  ] });
  assert.deepEqual([epoch, stopping.stoppedEpoch, stopping.best], [[0, 1, 2, 3], 3, 1]);
  assert.deepEqual(weightsOf(model), weights[1]);
  assert.deepEqual(history.learning_rate, [0.5, 0.25, 0.125, 0.0625]);
});

test('the same callback serves several fits and models', async () => {
  const stopping = et.callbacks.earlyStopping({ monitor: 'loss', minDelta: 1e9 });
  for (let i = 0; i < 2; ++i) {
    const model = summing();
    model.compile(mse());
    const { epoch } = await model.fit(waves([4, 2]), waves([4, 1]), { ...quiet, epochs: 9, callbacks: [stopping] });
    assert.deepEqual(epoch, [0, 1]);
  }
});

const folder = mkdtempSync(join(tmpdir(), 'etude-'));
after(() => rmSync(folder, { recursive: true }));

test('in Node.js CSVLogger and TensorBoard write files, and make their folders', async () => {
  const model = summing();
  model.compile(mse(0));
  const csv = join(folder, 'deep/log.csv');
  const board = et.callbacks.tensorboard({ logDir: join(folder, 'logs'), histogramFreq: 1, updateFreq: 'batch' });
  const fit = (append) => model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [et.callbacks.csvLogger({ filename: csv, append }), board] });
  await fit(false);
  await fit(true);
  assert.equal(readFileSync(csv, 'utf8'), 'epoch,loss,val_loss\r\n0,9.0,NA\r\n0,9.0,NA\r\n');
  const files = readdirSync(join(folder, 'logs/train'));
  assert.equal(files.length, 2);
  for (const file of files) {
    assert.match(file, /^events\.out\.tfevents\.\d{10}\./);
    const bytes = readFileSync(join(folder, 'logs/train', file), 'latin1');
    for (const text of ['brain.Event:2', 'batch_loss', 'epoch_loss', 'epoch_learning_rate', '/histogram']) assert.ok(bytes.includes(text), text);
  }
  await assertError(() => model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [et.callbacks.csvLogger({ filename: folder })] }), 'io', 'cannot be opened');
});

test('a profiler writes a trace of the steps in its range, with the instructions that explain lists', async () => {
  const model = twoDense();
  model.compile(mse());
  const filepath = join(folder, 'traces/trace.json'), x = waves([8, 2]);
  await model.fit(x, signsOf(x), { ...quiet, batchSize: 2, callbacks: [et.callbacks.profiler({ filepath, profilingStart: 1, profilingEnd: 3 })] });
  const { traceEvents } = JSON.parse(readFileSync(filepath, 'utf8'));
  const within = (outer) => ({ ts, dur }) => outer.ts <= ts && ts + dur <= outer.ts + outer.dur + 1e-6;
  const steps = traceEvents.filter(({ name }) => name === 'step'), instructions = traceEvents.filter(({ cat }) => cat === 'instruction');
  assert.deepEqual(steps.map(({ args }) => args), [{ first: 1, last: 1 }, { first: 2, last: 2 }]);
  const listed = model.explain().split('\n').filter((line) => /^\d+  /.test(line)).map((line) => line.slice(0, line.lastIndexOf('  (')));
  for (const step of steps) assert.deepEqual(instructions.filter(within(step)).map(({ args }) => `${args.number}  ${args.instruction}`), listed);
  await assertError(() => et.callbacks.profiler({ filepath, profilingStart: 3, profilingEnd: 3 }), 'value', 'profilingEnd');
});

test('the option open receives all writes', async () => {
  const model = summing();
  model.compile(mse(0));
  const events = [];
  class Sink {
    text = '';
    append(bytes) { this.text += new TextDecoder().decode(bytes); }
    flush() { events.push(this.text); }
    close() { events.push('closed'); }
  }
  const open = (...given) => { events.push(given); return new Sink(); };
  await model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [et.callbacks.csvLogger({ filename: 'a', separator: ';', open })] });
  assert.deepEqual(events, [['a', false], 'epoch;loss;val_loss\r\n0;9.0;NA\r\n', 'closed']);
  const error = new TypeError('mine');
  const throwing = et.callbacks.csvLogger({ filename: 'a', open: () => ({ append() { throw error; } }) });
  await assert.rejects(model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [throwing] }), (thrown) => thrown === error);
});

test('RemoteMonitor posts by fetch, or by its option post, and fit waits', async () => {
  const model = summing();
  model.compile(mse(0));
  const received = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    received.push([request.method, request.url, request.headers['content-type'], body]);
    response.end();
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const root = `http://localhost:${server.address().port}`;
  await model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [et.callbacks.remoteMonitor({ root, sendAsJson: true })] });
  assert.deepEqual(received, [['POST', '/publish/epoch/end/', 'application/json', '{"epoch": 0, "loss": 9}']]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));

  const posts = [];
  const post = async (given) => { await sleep(1); posts.push(given); };
  await model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [et.callbacks.remoteMonitor({ headers: { 'X-Run': '7' }, post })] });
  assert.deepEqual(posts, [{ url: 'http://localhost:9000/publish/epoch/end/', headers: { 'X-Run': '7', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `data=${encodeURIComponent('{"epoch": 0, "loss": 9}')}` }]);
});

test('OperationalMetrics are in the history, and as JSON', async () => {
  const model = twoDense();
  model.compile(mse());
  const metrics = et.callbacks.operationalMetrics();
  const x = waves([8, 2]);
  const { history } = await model.fit(x, signsOf(x), { ...quiet, batchSize: 2, epochs: 2, callbacks: [metrics] });
  assert.deepEqual(Object.keys(history), ['loss', 'step_latency_median_ms', 'step_latency_p95_ms', 'step_latency_p99_ms', 'samples_per_second']);
  await model.predict(x, { ...quiet, callbacks: [metrics] });
  const { epochs, prediction_memory_bytes } = JSON.parse(metrics.json());
  assert.deepEqual(epochs.map(({ epoch }) => epoch), [0, 1]);
  assert.ok(prediction_memory_bytes > 4 * model.countParams());
});

for (const [what, make, ...texts] of [
  ['an unknown option', () => et.callbacks.earlyStopping({ patients: 1 }), '"patients"', 'monitor, minDelta, patience'],
  ['no filename', () => et.callbacks.csvLogger({}), 'filename'],
  ['a schedule that is no function', () => et.callbacks.learningRateScheduler({ schedule: 0.1 }), 'schedule', 'a function'],
  ['a factor that does not reduce', () => et.callbacks.reduceLrOnPlateau({ factor: 2 }), 'factor = 2'],
  ['a graph for TensorBoard', () => et.callbacks.tensorboard({ writeGraph: true }), 'writeGraph'],
  ['a frequency that is none', () => et.callbacks.tensorboard({ updateFreq: 'step' }), '"step"'],
  ['auto for verbose', () => et.callbacks.earlyStopping({ verbose: 'auto' }), 'verbose'],
])
  test(`${what} is an error when a callback is made`, () => assertError(make, 'value', ...texts));

test('a schedule must return a number, and a monitor without a known direction needs a mode', async () => {
  const model = summing();
  model.compile(mse());
  const fit = (callback) => () => model.fit(waves([4, 2]), waves([4, 1]), { ...quiet, callbacks: [callback] });
  await assertError(fit(et.callbacks.learningRateScheduler({ schedule: () => undefined })), 'value', 'schedule', 'a number');
  await assertError(fit(et.callbacks.earlyStopping({ monitor: 'val_auc' })), 'value', 'expected one of: loss');
});

test('onPredictBatchEnd gets the outputs of its execution, which predict returns too', async () => {
  const model = summing();
  model.compile({ ...mse(), stepsPerExecution: 2 });
  const x = et.tensor([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2]]);
  const seen = [];
  let kept;
  const look = {
    onPredictBatchEnd(step, logs) {
      assert.deepEqual(Object.keys(logs), ['outputs']);
      assert.equal(logs.outputs, logs.outputs, 'it is read once');
      seen.push([step, logs.outputs.shape, [...logs.outputs.data]]);
      logs.outputs.data[0] = 100;
    },
    onPredictEnd(logs) { assert.deepEqual(Object.keys(logs), []); },
  };
  const late = { onPredictBatchEnd(step, logs) { kept = logs; } };
  const options = { ...quiet, batchSize: 2, callbacks: [look, late] };
  assert.deepEqual([...(await model.predict(x, options)).data], [0, 1, 2, 3, 4]);
  assert.deepEqual(seen, [[1, [4, 1], [0, 1, 2, 3]], [2, [1, 1], [4]]]);
  await assertError(() => kept.outputs, 'state', 'after their hook');
  seen.length = 0;
  for await (const batch of model.predictStream(x, options)) assert.ok(batch.data[0] < 100);
  assert.deepEqual(seen.map(([step]) => step), [1, 2]);

  const input = et.input({ shape: [2] });
  const two = et.model({ inputs: [input], outputs: [et.layers.dense({ units: 1 }).apply(input), et.layers.dense({ units: 3 }).apply(input)] });
  let shapes;
  await two.predictOutputs(x, { ...quiet, callbacks: [{ async onPredictBatchEnd(step, logs) { await sleep(1); shapes = logs.outputs.map(({ shape }) => shape); } }] });
  assert.deepEqual(shapes, [[5, 1], [5, 3]]);
});

test('NaN and Infinity that a hook writes into logs are passed to later callbacks, files and the history', async () => {
  const model = summing();
  model.compile(mse(0));
  const seen = [];
  let text = '';
  const open = () => ({ append: (bytes) => (text += new TextDecoder().decode(bytes)) });
  const { history } = await model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [
    { onEpochEnd(epoch, logs) { Object.assign(logs, { mine: NaN, most: Infinity, loss: -Infinity }); } },
    { onEpochEnd(epoch, logs) { seen.push({ ...logs }); } },
    et.callbacks.csvLogger({ filename: 'a', open }),
  ] });
  assert.deepEqual(seen, [{ loss: -Infinity, mine: NaN, most: Infinity }]);
  assert.deepEqual(history, { loss: [-Infinity], mine: [NaN], most: [Infinity] });
  assert.match(text, /^epoch,loss,mine,most,.*\r\n0,-inf,nan,inf,/);
  await assertError(() => model.fit([[1, 2]], [[0]], { ...quiet, callbacks: [{ onEpochEnd(epoch, logs) { logs.mine = 'high'; } }] }), 'value', '"high"');
});

test('verbose may be true or false, in loops and in callbacks', async () => {
  const { write } = process.stdout;
  const printed = async (action) => {
    let text = '';
    process.stdout.write = (part, ...rest) => {
      // The test runner's reports are Buffers.
      if (Buffer.isBuffer(part)) return write.call(process.stdout, part, ...rest);
      text += typeof part === 'string' ? part : new TextDecoder().decode(part);
      return true;
    };
    try {
      await action();
    } finally {
      process.stdout.write = write;
    }
    return text;
  };
  const model = summing();
  model.compile(mse());
  const fit = (verbose, options) => printed(() => model.fit([[1, 2]], [[0]], { verbose, ...options }));
  assert.equal(await fit(false), '');
  assert.match(await fit(true), /1\/1 .*loss: /);
  assert.match(await printed(() => model.evaluate([[1, 2]], [[0]], { verbose: true })), /loss: /);
  const stopping = (verbose) => ({ epochs: 3, callbacks: [et.callbacks.earlyStopping({ monitor: 'loss', minDelta: 1e9, verbose })] });
  assert.equal(await fit(false, stopping(false)), '');
  assert.match(await fit(false, stopping(true)), /Epoch 2: early stopping/);
});

test('mode auto determines the direction from the name of the metric', async () => {
  const epochs = async (values, monitor, metrics = []) => {
    const model = summing();
    model.compile({ ...mse(0), metrics });
    const script = { onEpochEnd(epoch, logs) { if (values) logs[monitor] = values[epoch]; } };
    return (await model.fit([[1, 2]], [[0]], { ...quiet, epochs: 3, callbacks: [script, et.callbacks.earlyStopping({ monitor })] })).epoch.length;
  };
  assert.equal(await epochs([1, 2, 3], 'f1_score'), 3);
  assert.equal(await epochs([3, 2, 1], 'f1_score'), 2);
  assert.equal(await epochs([3, 2, 1], 'val_left_loss'), 3);
  const f1Score = (yTrue, yPred) => et.ops.mean(et.ops.multiply(yTrue, yPred), [-1]);
  assert.equal(await epochs(undefined, 'f1Score', [f1Score]), 2);
  await assertError(() => epochs(undefined, 'val_f1_score'), 'value', 'expected one of: loss');
});

test('callbacks that set the learning rate of an optimizer with a schedule are errors', async () => {
  const model = summing();
  const learningRate = et.schedules.exponentialDecay({ initialLearningRate: 0.1, decaySteps: 1, decayRate: 0.9 });
  model.compile({ optimizer: et.optimizers.sgd({ learningRate }), loss: 'mse' });
  for (const callback of [et.callbacks.learningRateScheduler({ schedule: () => 0.1 }), et.callbacks.reduceLrOnPlateau({ monitor: 'loss', patience: 1, minDelta: 1e9 })])
    await assertError(() => model.fit([[1, 2]], [[0]], { ...quiet, epochs: 3, callbacks: [callback] }), 'state', 'created with a `LearningRateSchedule`');
});
