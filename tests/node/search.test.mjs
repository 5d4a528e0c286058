// Searches for hyperparameters, whose trials are threads.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import * as et from 'etude-ml';
import { assertError } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-search-'));
after(() => rmSync(folder, { recursive: true }));
const worker = new URL('./search_trial.mjs', import.meta.url);

const categorical = (vals) => ({ type: 'categorical', vals });
/** A search for x among these values; `rest` are constants. */
const configOf = (name, searcher, vals, rest = {}) => ({
  searcher: { metric: 'val_loss', ...searcher }, hyperparameters: { x: categorical(vals), ...rest }, maxRestarts: 2, storage: join(folder, name), seed: 1,
});
const runSearch = (config, options) => et.experiment.runSearch(config, { worker, maxConcurrent: 1, ...options });
/** "1 x=3 finished 3, …": each trial with its end and its best loss. */
const textOf = ({ trials }) => trials.map(({ trial, hparams, status, stopped, best }) => `${trial} x=${hparams.x} ${stopped ? 'stopped' : status}${best === null ? '' : ` ${best}`}`).join(', ');
const asha = { name: 'asha', maxTime: 3, maxTrials: 3, divisor: 3, maxRungs: 2 };
const values = [1, 2, 3, 4, 5, 6, 7, 8];

test('a recorded run of ASHA gives the same decisions here as natively', { skip: !process.env.ETUDE_ROOT }, async () => {
  for (const { config, events, snapshot } of JSON.parse(readFileSync(join(process.env.ETUDE_ROOT, 'tests/search/searches.json'), 'utf8'))) {
    let search = await et.experiment.hyperparameterSearch(config);
    for (const { call: [name, ...given], operations } of events) {
      assert.deepEqual(search[name](...given), operations, `${name}(${given})`);
      const restored = await et.experiment.hyperparameterSearch(config);
      restored.restore(search.snapshot());
      search = restored;
    }
    assert.ok(search.done());
    assert.deepEqual(JSON.parse(search.snapshot()), snapshot);
  }
});

test('a search as a state machine: wrong trials, ends and configs are refused', async () => {
  const searcher = { ...asha, metric: 'loss' }, hyperparameters = { x: categorical([1]) };
  const search = await et.experiment.hyperparameterSearch({ searcher, hyperparameters });
  const [first] = search.start();
  assert.deepEqual([first.kind, first.trial, first.hparams], ['create', 1, { x: 1 }]);
  assert.deepEqual(search.creation(1), first);
  assert.deepEqual([search.trials(), search.stopped(1), search.done()], [3, false, false]);
  await assertError(() => search.start(), 'state', 'the search has started');
  await assertError(() => search.validated(9, 1, 1), 'value', 'there is no trial 9');
  await assertError(() => search.exited(1, 'tired'), 'value', 'end = "tired" - expected one of "finished", "failed", "invalid"');
  await assertError(() => search.restore('{}'), 'data', 'the snapshot does not belong to this search');
  await assertError(() => et.experiment.hyperparameterSearch({ searcher: { ...searcher, maxTime: 0 }, hyperparameters }), 'value', '"max_time" is 0');
  await assertError(() => et.experiment.hyperparameterSearch({ searcher: { ...searcher, maxTim: 1 }, hyperparameters }), 'value', '"max_tim" - expected no such member');
  await assertError(() => et.experiment.hyperparameterSearch({ searcher }), 'value', 'has no "hyperparameters"');
});

test('each trial has a folder with its description, its metrics and its output', async () => {
  const config = { ...configOf('grid', { name: 'grid' }, [5, 3, 4], { act: 'print' }), name: 'numbers' };
  const changes = [], result = await runSearch(config, { report: ({ trial }, change) => changes.push(`${trial} ${change}`) });
  assert.ok(result.done);
  assert.equal(textOf(result), '1 x=5 finished 5, 2 x=3 finished 3, 3 x=4 finished 4');
  assert.deepEqual([result.best, result.trials[0].time, result.trials[0].metric], [2, 3, 5]);
  assert.deepEqual(changes.slice(0, 7), ['1 created', '2 created', '3 created', '1 running', '1 validated', '1 validated', '1 finished']);
  const trial = join(config.storage, 'trial_2');
  assert.equal(readFileSync(join(trial, 'log.txt'), 'utf8'), 'x = 3\n');
  const { trial_seed, ...description } = JSON.parse(readFileSync(join(trial, 'trial.json'), 'utf8'));
  assert.deepEqual(description, { trial_id: '2', experiment_id: 'numbers', hparams: { act: 'print', x: 3 }, storage: trial, latest_checkpoint: null, restarts: 0, metric: 'val_loss', smaller_is_better: true });
  assert.ok(Number.isInteger(trial_seed));
  assert.ok(readFileSync(join(trial, 'metrics.jsonl'), 'utf8').includes(`"seed":${trial_seed}.0`) || readFileSync(join(trial, 'metrics.jsonl'), 'utf8').includes(`"seed":${trial_seed}`));
});

test('the rules of the config decide which checkpoints of all trials stay at the end', async () => {
  const checkpointStorage = { saveExperimentBest: 2, saveTrialBest: 0, saveTrialLatest: 0 };
  const config = { ...configOf('retained', { name: 'grid' }, [5, 3, 4], { act: 'store' }), checkpointStorage };
  assert.ok((await runSearch(config)).done);
  const scores = [];
  for (const trial of [1, 2, 3]) for (const { score } of await et.experiment.listCheckpoints(join(config.storage, `trial_${trial}/checkpoints`))) scores.push(score);
  assert.deepEqual(scores, [3, 4]);
  await assertError(() => runSearch({ ...config, storage: join(folder, 'wrong'), checkpointStorage: { saveBest: 1 } }), 'value', '"checkpoint_storage" has "save_best"');
});

test('a trial that the searcher stops is asked to end, and terminated if it does not', async () => {
  const stopping = { name: 'asha', maxTime: 4, maxTrials: 2, maxRungs: 2 };
  for (const act of ['stop', 'hang']) {
    const result = await runSearch(configOf(act, stopping, [1], { act, times: [4] }), { grace: act === 'hang' ? 0.05 : 30 });
    assert.ok(result.done);
    assert.equal(textOf(result), '1 x=1 finished 1, 2 x=1 finished 1');
  }
});

test('with an endless grace a trial takes its time to save', async () => {
  const config = configOf('lingering', { name: 'asha', maxTime: 4, maxTrials: 1, maxRungs: 2 }, [1], { act: 'linger', times: [4] });
  assert.ok((await runSearch(config, { grace: Infinity })).done);
  assert.ok(existsSync(join(config.storage, 'trial_1/saved')));
});

test('a trial that fails is started again with its latest checkpoint, as often as maxRestarts allows', async () => {
  const config = configOf('failing', { name: 'single' }, [7], { act: 'fail' });
  const { trials: [trial] } = await runSearch(config);
  assert.deepEqual([trial.status, trial.restarts, trial.time], ['finished', 2, 3]);
  assert.equal(readFileSync(join(config.storage, 'trial_1/runs'), 'utf8'), 'run\nrun\nrun\n');
  assert.notEqual(JSON.parse(readFileSync(join(config.storage, 'trial_1/trial.json'), 'utf8')).latest_checkpoint, null);
  assert.match(readFileSync(join(config.storage, 'trial_1/log.txt'), 'utf8'), /Error: it fails\n/);
  const once = { ...configOf('failing once', { name: 'single' }, [7], { act: 'fail' }), maxRestarts: 1 };
  assert.equal(textOf(await runSearch(once)), '1 x=7 failed 7');
});

test('a worker that exits, or that is no trial, has failed', async () => {
  const config = { ...configOf('exiting', { name: 'single' }, [7], { act: 'exit' }), maxRestarts: 1 };
  const changes = [];
  const result = await runSearch(config, { report: (trial, change) => changes.push(change) });
  assert.deepEqual([result.done, result.best, textOf(result)], [true, 0, '1 x=7 failed']);
  assert.ok(changes.includes('ended with status 3: restart 1 of 1'), `${changes}`);
  const nothing = new URL('data:text/javascript,');
  assert.equal(textOf(await runSearch({ ...configOf('nothing', { name: 'single' }, [7]), maxRestarts: 0 }, { worker: nothing })), '1 x=7 failed');
});

test('a worker whose module does not load has failed, and says why', async (t) => {
  const program = `import * as et from ${JSON.stringify(import.meta.resolve('etude-ml'))};
    et.configure({ wasm: '/nowhere/etude.wasm' });
    et.experiment.trialMain(() => {}).catch(() => {});`;
  const said = t.mock.method(console, 'error', () => {});
  const result = await runSearch({ ...configOf('not loaded', { name: 'single' }, [7]), maxRestarts: 0 }, { worker: new URL(`data:text/javascript,${encodeURIComponent(program)}`) });
  assert.equal(textOf(result), '1 x=7 failed');
  assert.deepEqual(said.mock.calls.map(({ arguments: [text] }) => /cannot read "\/nowhere\/etude\.wasm"/.test(text)), [true]);
});

test('a trial with invalid hyperparameters is replaced, and is not the best one', async () => {
  const result = await runSearch(configOf('invalid', { name: 'random', maxTrials: 2 }, [1, 2], { act: 'invalid' }));
  assert.ok(result.done && result.trials.length > 2, textOf(result));
  for (const { status, hparams } of result.trials) assert.equal(status, hparams.x === 1 ? 'invalid' : 'finished');
  assert.equal(result.trials.filter(({ status }) => status === 'finished').length, 2);
  assert.equal(result.trials[result.best - 1].hparams.x, 2);
});

test('an interrupted search asks its trials to save, and continues later', async () => {
  const config = configOf('interrupted', { name: 'grid' }, [1, 2], { act: 'save', times: [2] }), controller = new AbortController();
  const first = await runSearch(config, { signal: controller.signal, report: (_, change) => change === 'validated' && controller.abort() });
  assert.deepEqual([first.done, textOf(first)], [false, '1 x=1 waiting 1, 2 x=2 waiting']);
  let aborted = false;
  const again = new AbortController();
  const second = await runSearch(config, { signal: again.signal, report: ({ trial }, change) => trial === 2 && change === 'validated' && !aborted && (aborted = true) && again.abort() });
  assert.equal(textOf(second), '1 x=1 finished 1, 2 x=2 waiting 2');
  const third = await runSearch(config);
  assert.deepEqual([third.done, third.trials.map(({ time, restarts }) => [time, restarts])], [true, [[2, 0], [2, 0]]]);
});

test('trials run at the same time, in workers that a function makes', async () => {
  let running = 0, most = 0, made = 0;
  const result = await runSearch(configOf('concurrent', { name: 'random', maxTrials: 4 }, values), {
    worker: () => { made += 1; return new Worker(worker); },
    maxConcurrent: 2,
    report: (_, change) => { if (change === 'running') most = Math.max(most, ++running); if (change === 'finished') running -= 1; },
  });
  assert.deepEqual([result.done, made, most], [true, 4, 2]);
});

/** A program that runs this search, and kills itself at a change of a trial. */
const killing = (config, killAt) => `
  import * as et from 'etude-ml';
  let seen = 0;
  await et.experiment.runSearch(${JSON.stringify(config)}, { worker: new URL(${JSON.stringify(worker.href)}), maxConcurrent: 1, report() { if (++seen === ${killAt}) process.kill(process.pid, 'SIGKILL'); } });`;

test('a search that is killed at any change finishes with the same trials', async () => {
  let changes = 0;
  const expected = textOf(await runSearch(configOf('not killed', asha, values, { act: 'stop' }), { report: () => { changes += 1; } }));
  assert.match(expected, /stopped/);
  for (let killAt = 1; killAt <= changes; killAt += 2) {
    const config = configOf(`killed at ${killAt}`, asha, values, { act: 'stop' });
    const program = spawn(process.execPath, ['--input-type=module', '-e', killing(config, killAt)], { cwd: import.meta.dirname, stdio: 'inherit' });
    const [code, signal] = await once(program, 'exit');
    assert.ok(signal === 'SIGKILL' || code === 0, `${code} ${signal}`);
    const result = await runSearch(config);
    assert.deepEqual([result.done, textOf(result)], [true, expected], `killed at change ${killAt} of ${changes}`);
  }
});

test('a folder in use, another search and wrong options are errors', async () => {
  const config = configOf('refused', { name: 'single' }, [1]);
  let inner;
  await runSearch(config, { report: (_, change) => { if (change === 'running') inner = runSearch(config).catch((error) => error); } });
  assert.match((await inner).message, /is locked by another process/);
  await assertError(() => runSearch({ ...config, seed: 2 }), 'value', 'has another search');
  await assertError(() => runSearch(config, { maxConcurrent: 0 }), 'value', 'maxConcurrent = 0');
  await assertError(() => runSearch(config, { workers: 1 }), 'value', 'unknown option "workers"');
  await assertError(() => runSearch(config, { worker: 1 }), 'value', 'worker = 1');
  const error = new RangeError('mine');
  await assert.rejects(runSearch(configOf('throwing', { name: 'single' }, [1]), { report: (_, change) => { if (change === 'running') throw error; } }), error);
  const state = join(config.storage, 'search.json');
  writeFileSync(state, readFileSync(state, 'utf8').replace('"version":1', '"version":0'));
  await assertError(() => runSearch(config), 'value', 'has another search');
  assert.ok(readdirSync(config.storage).includes('trial_1'));
});
