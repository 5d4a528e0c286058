// Trials: reports, checkpoints, preemption, and continuation.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, summing, waves, weightsOf, withDropout } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-experiment-'));
after(() => rmSync(folder, { recursive: true }));

const x = waves([44, 5]), y = signsOf(x);
const linesOf = (storage) => readFileSync(join(storage, 'metrics.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
/** The reports without what differs between runs. */
const reportsOf = (storage) => linesOf(storage).filter(({ status }) => !status).map(({ time, ...others }) => others);
const checkpointsIn = (storage) => readdirSync(join(storage, 'checkpoints'));

/** A whole program with new objects. Its trial is asked to end at its step number `endAt`. */
async function script(storage, { endAt = Infinity, training, ...config } = {}) {
  let steps = 0, asked = false;
  const context = await et.experiment.init({ storage, preempt: { requested: () => asked }, ...config });
  const count = { onTrainBatchEnd() { steps += 1; asked = steps === endAt; } };
  const model = withDropout();
  const callbacks = [count, et.callbacks.reduceLrOnPlateau({ monitor: 'loss', patience: 1 })];
  try {
    const { history } = await context.fit(model, x, y, { epochs: 3, batchSize: 8, verbose: 0, validationData: [x, y], callbacks }, training);
    return { steps, history, weights: weightsOf(model) };
  } finally {
    context.close();
  }
}
const preempted = (storage, options) => assert.rejects(script(storage, options), (error) => error instanceof et.experiment.Preempted && /its checkpoint is stored/.test(error.message));

test('a trial that was preempted at any step continues with the bits of an undisturbed one, and reports everything once', async () => {
  const storage = join(folder, 'whole'), { steps, ...whole } = await script(storage);
  assert.equal(steps, 18);
  for (const endAt of [1, 5, 6, 7, 17]) {
    const other = join(folder, `preempted at ${endAt}`);
    await preempted(other, { endAt });
    assert.deepEqual(linesOf(other).at(-1), { status: 'preempted' });
    const { steps: rest, ...continued } = await script(other);
    assert.equal(rest, 18 - endAt);
    assert.deepEqual(continued, whole);
    assert.deepEqual(reportsOf(other), reportsOf(storage));
  }
});

test('reports are lines of JSON and events for TensorBoard', async () => {
  const storage = join(folder, 'reports'), context = await et.experiment.init({ storage });
  await context.fit(withDropout(), x, y, { epochs: 2, batchSize: 8, verbose: 0, validationData: [x, y] }, { reportFreq: 4 });
  context.train.reportMetrics('own', 3, { a: 1.5, b: NaN, c: Infinity });
  context.train.reportProgress(0.25);
  context.train.setStatus('resting');
  await assertError(() => context.train.reportProgress(2), 'value', 'reportProgress(2)');
  await assertError(() => context.train.reportMetrics('', 1, {}), 'value', 'reportMetrics() of group ""');
  const lines = linesOf(storage), trained = lines.filter(({ group }) => group === 'training');
  assert.deepEqual(trained.map((line) => line.steps_completed), [4, 8, 12]);
  assert.deepEqual(lines.filter(({ group }) => group === 'validation').map(({ steps_completed, metrics }) => [steps_completed, metrics.epochs, Object.keys(metrics).sort()]), [[6, 1, ['accuracy', 'epochs', 'loss']], [12, 2, ['accuracy', 'epochs', 'loss']]]);
  const { time, ...own } = lines.at(-3);
  assert.ok(time > 1.7e9);
  assert.deepEqual([own, ...lines.slice(-2)], [{ group: 'own', steps_completed: 3, metrics: { a: 1.5, b: null, c: null } }, { progress: 0.25 }, { status: 'resting' }]);
  assert.deepEqual(readdirSync(join(storage, 'tensorboard')).sort(), ['own', 'training', 'validation']);
  context.close();
  context.train.setStatus('closed');
  assert.equal(linesOf(storage).length, lines.length);
  const quiet = await et.experiment.init({ storage: join(folder, 'quiet'), tensorboard: false });
  quiet.train.reportMetrics('own', 1, { a: 1 });
  quiet.close();
  assert.ok(!existsSync(join(folder, 'quiet/tensorboard')));
});

test('the rules of retention determine which checkpoints stay, and each describes itself', async () => {
  const storage = join(folder, 'kept');
  const context = await et.experiment.init({ storage, metric: 'val_accuracy', retention: { saveTrialBest: 0, saveTrialLatest: 2, smallerIsBetter: false } });
  await context.fit(withDropout(), x, y, { epochs: 3, batchSize: 8, verbose: 0, validationData: [x, y] }, { checkpointFreq: 2 });
  const stored = context.checkpoint.list();
  assert.deepEqual(stored.map(({ isTraining, trialId }) => [isTraining, trialId]), [[true, 'detached'], [true, 'detached']]);
  assert.equal(stored[1].metadata.steps_completed, 18);
  assert.ok(stored.every(({ score }) => score === null || (score >= 0 && score <= 1)));
  assert.deepEqual(checkpointsIn(storage).sort(), stored.map(({ uuid }) => uuid).sort());
  const [{ uuid: first }, { uuid }] = stored;
  assert.deepEqual(context.checkpoint.get(uuid), stored[1]);
  assert.equal(context.checkpoint.restorePath(uuid), join(storage, 'checkpoints', uuid));
  assert.equal(context.checkpoint.folder, join(storage, 'checkpoints'));
  context.checkpoint.setScore(uuid, 0.5);
  assert.equal(context.checkpoint.get(uuid).score, 0.5);
  assert.deepEqual(context.checkpoint.collect({ saveTrialBest: 0, saveTrialLatest: 1 }), [first]);
  assert.deepEqual([context.checkpoint.contains(first), context.checkpoint.contains(uuid)], [false, true]);
  assert.deepEqual((await et.experiment.listCheckpoints(context.checkpoint.folder)).map((each) => each.uuid), [uuid]);
  assert.deepEqual(await et.experiment.collectCheckpoints(context.checkpoint.folder, { saveTrialBest: 0, saveTrialLatest: 0 }), [uuid]);
  await assertError(() => context.checkpoint.get(uuid), 'value', 'list() returns those that exist');
  context.close();
});

test('the checkpoint policy stores after all validations, after better ones, or only at the end', async () => {
  const epochsOf = async (checkpointPolicy) => {
    const context = await et.experiment.init({ storage: join(folder, `policy ${checkpointPolicy}`), retention: { saveTrialBest: 0, saveTrialLatest: 9 } });
    await context.fit(withDropout(), x, y, { epochs: 3, batchSize: 8, verbose: 0, validationData: [x, y] }, { checkpointFreq: null, checkpointPolicy });
    context.close();
    return context.checkpoint.list().map(({ metadata }) => metadata.epoch);
  };
  assert.deepEqual(await epochsOf('all'), [0, 1, 2]);
  assert.deepEqual(await epochsOf('none'), [2]);
  const best = await epochsOf('best');
  assert.deepEqual([best[0], best.at(-1), await epochsOf(undefined)], [0, 2, best]);
  await assertError(() => epochsOf('often'), 'value', 'expected "best", "all" or "none"');
});

test('systemMetricsInterval reports the memory of the library', async () => {
  const storage = join(folder, 'measured'), context = await et.experiment.init({ storage, tensorboard: false });
  await context.fit(withDropout(), x, y, { epochs: 2, batchSize: 8, verbose: 0 }, { systemMetricsInterval: 1e-9 });
  const reports = linesOf(storage).filter(({ group }) => group === 'system');
  assert.ok(reports.length > 1 && reports.every(({ metrics }) => metrics.memory > 1e6));
  context.close();
});

test('a program stores checkpoints of its own, which appear when they are complete', async () => {
  const storage = join(folder, 'own'), context = await et.experiment.init({ storage });
  const model = withDropout();
  model.build([null, 5]);
  const made = context.checkpoint.storePath({ steps: 1000, nested: { a: [1] } });
  model.saveWeights(join(made.path, 'weights.safetensors'));
  assert.deepEqual(context.checkpoint.list(), []);
  made.commit(0.25);
  const [{ uuid, score, metadata, isTraining, serial }] = context.checkpoint.list();
  assert.deepEqual({ uuid, score, metadata, isTraining, serial }, { uuid: made.uuid, score: 0.25, metadata: { steps: 1000, nested: { a: [1] } }, isTraining: false, serial: 1 });
  const other = withDropout();
  other.build([null, 5]);
  other.loadWeights(join(context.checkpoint.restorePath(uuid), 'weights.safetensors'));
  assert.deepEqual(weightsOf(other), weightsOf(model));
  const diverged = context.checkpoint.storePath();
  diverged.commit(NaN);
  assert.equal(context.checkpoint.get(diverged.uuid).score, null);
  context.checkpoint.setScore(diverged.uuid, NaN);
  context.checkpoint.remove(diverged.uuid);
  await assertError(() => made.commit(), 'state', 'is complete or was discarded');
  const discarded = context.checkpoint.storePath();
  discarded.discard();
  const left = context.checkpoint.storePath();
  assert.ok(existsSync(left.path) && !existsSync(discarded.path));
  context.close();
  assert.deepEqual(checkpointsIn(storage), [uuid]);
});

test('the best checkpoint of a trial becomes a model again, or its weights those of another one', async () => {
  const storage = join(folder, 'loaded'), { weights } = await script(storage, { retention: { saveTrialBest: 3, saveTrialLatest: 1 } });
  const context = await et.experiment.init({ storage });
  const best = context.loadModelFromCheckpoint('detached'), newest = context.info.latestCheckpoint;
  const losses = context.checkpoint.list().map(({ score }) => score);
  assert.ok(Math.abs((await best.evaluate(x, y, { verbose: 0 }))[0] - Math.min(...losses)) < 1e-6);
  assert.deepEqual(weightsOf(context.loadModelFromCheckpoint(newest)), weights);
  const model = withDropout();
  model.build([null, 5]);
  context.loadWeightsFromCheckpoint(model, newest);
  assert.deepEqual(weightsOf(model), weights);
  await assertError(() => context.loadModelFromCheckpoint('another'), 'value', '"another" - expected the uuid of a checkpoint');
  context.close();
});

test('another trial continues a checkpoint with continueId, and begins with its weights without', async () => {
  const { steps, ...whole } = await script(join(folder, 'uninterrupted'));
  const storage = join(folder, 'forked');
  await preempted(storage, { endAt: 7, trial: { trialId: 'first' } });
  const [{ uuid }] = (await et.experiment.listCheckpoints(join(storage, 'checkpoints'))).slice(-1);
  const second = await script(storage, { trial: { trialId: 'second' }, training: { checkpoint: uuid, continueId: 'first' } });
  assert.equal(second.steps, steps - 7);
  assert.deepEqual(second.weights, whole.weights);
  const third = await script(storage, { trial: { trialId: 'third' }, training: { checkpoint: uuid } });
  assert.equal(third.steps, steps);
  assert.notDeepEqual(third.weights, whole.weights);
});

test('a trial is asked to end by a signal, by a file, and by a function', async () => {
  const controller = new AbortController(), file = join(folder, 'end');
  const asks = { signal: { ask: () => controller.abort(), preempt: { signal: controller.signal } }, file: { ask: () => writeFileSync(file, ''), preempt: { file } } };
  for (const [kind, { ask, preempt }] of Object.entries(asks)) {
    const context = await et.experiment.init({ storage: join(folder, `asked by ${kind}`), preempt });
    assert.deepEqual([context.preempt.shouldPreempt(), context.preempt.requested()], [false, false]);
    let steps = 0;
    const count = { onTrainBatchEnd() { if (++steps === 3) ask(); } };
    await assert.rejects(context.fit(withDropout(), x, y, { epochs: 3, batchSize: 8, verbose: 0, callbacks: [count] }), et.experiment.Preempted);
    assert.equal(steps, 3);
    assert.deepEqual([context.preempt.shouldPreempt(), context.preempt.requested()], [true, true]);
    assert.equal(context.checkpoint.list().at(-1).metadata.steps_completed, 3);
    context.close();
  }
});

test('batchProcess processes each batch once, also across a preemption', async () => {
  const storage = join(folder, 'batches'), dataset = et.data.fromTensorSlices({ x, y }).batch(4);
  const seen = [], events = [];
  const run = async (endAt, options) => {
    let asked = false;
    const context = await et.experiment.init({ storage, preempt: { requested: () => asked } });
    const process = async (outputs, batch, index) => {
      seen.push([index, outputs[0].shape, batch.x.shape, batch.y.shape]);
      asked = index === endAt;
    };
    try {
      await context.batchProcess(withDropout(), dataset, process, { checkpointInterval: 3, onCheckpointStart: () => events.push(seen.length), onFinish: () => events.push('finished'), ...options });
    } finally {
      context.close();
    }
  };
  await assert.rejects(run(4), et.experiment.Preempted);
  assert.deepEqual(events, [3, 5]);
  await run(Infinity);
  assert.deepEqual(events, [3, 5, 8, 11, 11, 'finished']);
  assert.deepEqual(seen, Array.from({ length: 11 }, (_, i) => [i, [4, 1], [4, 5], [4, 1]]));
  await run(Infinity);
  assert.equal(seen.length, 11, 'nothing is left');
  const context = await et.experiment.init({ storage: join(folder, 'plain batches') }), indices = [];
  await context.batchProcess(context.wrapDataset(dataset), (batch, index) => void indices.push(index), { maxBatches: 2 });
  assert.deepEqual(indices, [0, 1]);
  await assert.rejects(context.batchProcess(dataset, () => { throw new RangeError('mine'); }, { name: 'other' }), new RangeError('mine'));
  await assertError(() => context.batchProcess(dataset, () => {}, { checkpointInterval: 0 }), 'value', 'checkpointInterval = 0');
  context.close();
});

/** Runs the program of a trial, and returns its exit code and what it prints. */
function runProgram(storage, { terminateAt = 0, description } = {}) {
  const env = { ...process.env };
  if (description) {
    env.ETUDE_TRIAL = join(folder, `${description.trial_id}.json`);
    writeFileSync(env.ETUDE_TRIAL, JSON.stringify({ storage, ...description }));
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['trial_program.mjs', storage, `${terminateAt}`], { cwd: import.meta.dirname, encoding: 'utf8', env, timeout: 120_000 });
  return { status, stderr, printed: stdout ? JSON.parse(stdout) : undefined };
}

test('SIGTERM, also twice within a second: the program exits with 143 after it has stored its state, and continues when it is started again', () => {
  const { status, printed: [steps, ...weights] } = runProgram(join(folder, 'process'));
  assert.deepEqual([status, steps], [0, 20]);
  const storage = join(folder, 'terminated');
  assert.equal(runProgram(storage, { terminateAt: 7 }).status, 143);
  const { status: second, printed: [rest, ...continued] } = runProgram(storage);
  assert.equal(second, 0);
  assert.ok(rest < 20 - 5, `${rest} steps`);
  assert.deepEqual(continued, weights);
});

test('the file in ETUDE_TRIAL describes the trial, and its hyperparameters may be invalid', () => {
  const description = { trial_id: 3, experiment_id: 'units', trial_seed: 5, hparams: { units: 2 } };
  const storage = join(folder, 'described');
  assert.equal(runProgram(storage, { description }).printed.length, 1 + 5 * 2 + 2 + 2 + 1);
  const invalid = join(folder, 'invalid');
  assert.equal(runProgram(invalid, { description: { ...description, trial_id: 4, hparams: { units: 0 } } }).status, 0);
  assert.deepEqual(linesOf(invalid), [{ status: 'invalid_hp', message: 'units must be 1 or more' }]);
  const failed = runProgram(join(folder, 'failed'), { description: { ...description, trial_id: 5, hparams: { units: 101 } } });
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /Error: too many units\n +at .*trial_program\.mjs/);
});

test('the description of a trial is read with its types and its defaults', async () => {
  const trialFile = join(folder, 'trial.json'), storage = join(folder, 'of the file');
  const given = { trial_id: 7, experiment_id: 'e', trial_seed: 9, hparams: { rate: 0.5, nested: { list: [1, 'a'] } }, storage, checkpoint_storage: join(folder, 'shared'), metric: 'val_accuracy', smaller_is_better: false, max_length: { epochs: 2 }, user_data: { a: null }, retention: { save_experiment_best: 2 } };
  writeFileSync(trialFile, JSON.stringify(given));
  const context = await et.experiment.init({ trialFile });
  assert.deepEqual(context.info, {
    trial: { trialId: '7', experimentId: 'e', trialSeed: 9, hparams: given.hparams }, latestCheckpoint: null, storage, checkpointStorage: given.checkpoint_storage,
    maxLength: { epochs: 2 }, userData: { a: null }, metric: 'val_accuracy', smallerIsBetter: false, detached: false, containerRank: 0, containerAddrs: ['127.0.0.1'],
    retention: { saveExperimentBest: 2, saveTrialBest: 1, saveTrialLatest: 1, smallerIsBetter: false },
  });
  assert.equal(context.checkpoint.folder, given.checkpoint_storage);
  context.close();
  const detached = await et.experiment.clusterInfo();
  assert.deepEqual([detached.detached, detached.trial, detached.metric, detached.retention], [true, { trialId: 'detached', experimentId: 'detached', trialSeed: 0, hparams: {} }, null, null]);
});

test('invalid options, a second fit and a storage in use are errors', async () => {
  const storage = join(folder, 'errors');
  await assertError(() => et.experiment.init({ storag: storage }), 'value', 'unknown option "storag"');
  await assertError(() => et.experiment.init({ storage, retention: { saveBest: 1 } }), 'value', 'unknown option "saveBest"');
  await assertError(() => et.experiment.init({ storage, preempt: { whenHidden: true } }), 'value', 'whenHidden outside of a page');
  await assertError(() => et.experiment.init({ storage, preempt: { signal: 1 } }), 'value', 'expected an AbortSignal');
  await assertError(() => et.experiment.init({ storage, retention: { saveTrialBest: -1 } }), 'value', 'saveTrialBest = -1');
  await assertError(() => et.experiment.init({ storage, trial: { trialId: 'a/b' } }), 'value', 'trialId = "a/b"');
  await assertError(() => et.experiment.init({ trialFile: join(folder, 'no file') }), 'io', 'which does not exist');
  const context = await et.experiment.init({ storage });
  await assertError(() => et.experiment.init({ storage }), 'state', 'is locked by another process, or another part of this one');
  const model = summing();
  model.compile(mse(0));
  const fit = (training) => context.fit(model, x, y, { verbose: 0 }, training);
  await assertError(() => fit({ checkpointFrequency: 1 }), 'value', 'unknown option "checkpointFrequency"');
  await fit();
  await assertError(() => fit(), 'state', 'a second fit with this context');
  context.close();
});
