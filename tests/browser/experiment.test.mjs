// Trials and searches in a page: the browser's database keeps their files, and trials are Web Workers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyPage, newPage, packageInBrowser } from './browser.mjs';

const inBrowser = packageInBrowser();

/** A page in the package's folder, in the same browser context as the others, with a script that trains. */
async function openPage(name) {
  const page = await emptyPage(inBrowser);
  await page.evaluate(async (files) => {
    const et = (globalThis.et = await import('/index.js'));
    await et.ready();
    globalThis.files = await et.openFiles(files);
    /** The weights after the fit of a trial, or the name of its error; the page is hidden, or the signal aborted, at a step. */
    globalThis.train = async (storage, { preempt, endAt, end } = {}) => {
      et.setRandomSeed(3);
      const x = et.tensor(Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)), [64, 4]), y = et.tensor(Float32Array.from({ length: 64 }, (_, i) => Math.cos(i)), [64, 1]);
      const model = et.sequential([et.layers.dense({ units: 8, activation: 'tanh' }), et.layers.dropout({ rate: 0.2 }), et.layers.dense({ units: 1 })]);
      model.compile({ optimizer: 'adam', loss: 'mse' });
      const context = await et.experiment.init({ storage, preempt });
      let steps = 0;
      const count = { onTrainBatchEnd() { if (++steps === endAt) end(); } };
      try {
        await context.fit(model, x, y, { epochs: 3, batchSize: 16, validationData: [x, y], callbacks: [count] });
        return [steps, ...model.getWeights().flatMap(({ data }) => [...data])];
      } catch (error) {
        return error.name;
      } finally {
        context.close();
      }
    };
  }, name);
  return page;
}

test('a trial that a signal or the hidden page has ended continues when the page is opened again', async () => {
  const first = await openPage('trials');
  const whole = await first.evaluate(() => train('whole'));
  assert.equal(whole[0], 12);
  const ended = await first.evaluate(() => {
    const controller = new AbortController();
    return train('aborted', { preempt: { signal: controller.signal }, endAt: 5, end: () => controller.abort() });
  });
  const hidden = await first.evaluate(() =>
    train('hidden', { preempt: { whenHidden: true }, endAt: 7, end: () => Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }) }));
  assert.deepEqual([ended, hidden], ['Preempted', 'Preempted']);
  // When fit has rejected, the database has the checkpoint.
  await first.close();

  const second = await openPage('trials');
  for (const [storage, left] of [['aborted', 7], ['hidden', 5]])
    assert.deepEqual(await second.evaluate((each) => train(each), storage), [left, ...whole.slice(1)]);
  await second.close();
});

test('a page without files says how to open them', async () => {
  const page = await newPage(inBrowser.context);
  await page.goto(`${inBrowser.site.url}index.js`);
  const message = await page.evaluate(async () => {
    const et = await import('/index.js');
    return et.experiment.init().then(() => 'nothing was thrown', (error) => `${error.kind} ${error.message}`);
  });
  assert.equal(message, "io [experiment.init] no file system is available - expected files that openFiles opened - open them first: await et.openFiles('my page').");
  await page.close();
});

/** Runs a search whose trials are workers of the page, and ends the page at that change of a trial. */
const search = (page, closeAt) => page.evaluate(async (at) => {
  const program = `
    import * as et from '${location.origin}/index.js';
    await et.experiment.trialMain(async (context) => {
      const { units } = context.info.trial.hparams;
      et.setRandomSeed(context.info.trial.trialSeed);
      const model = et.sequential([et.layers.dense({ units })]);
      model.compile({ optimizer: 'sgd', loss: 'mse' });
      const x = et.tensor(Float32Array.from({ length: 32 }, (_, i) => Math.sin(i)), [16, 2]);
      await context.fit(model, x, et.tensor(new Float32Array(16 * units), [16, units]), { epochs: 3, validationData: [x, new Float32Array(16 * units).fill(0.5)].map((each) => (each === x ? x : et.tensor(each, [16, units]))) });
    });`;
  const worker = () => new Worker(URL.createObjectURL(new Blob([program], { type: 'text/javascript' })), { type: 'module' });
  const config = { searcher: { name: 'random', metric: 'loss', timeMetric: 'epochs', maxTrials: 3 }, hyperparameters: { units: { type: 'int', minval: 1, maxval: 9 } }, storage: 'search', seed: 4 };
  let changes = 0;
  return et.experiment.runSearch(config, { worker, maxConcurrent: 2, report: () => { if (++changes === at) location.reload(); } });
}, closeAt);

test('a trial whose worker cannot load the module has failed', async () => {
  const page = await openPage('not loaded');
  const trials = await page.evaluate(async () => {
    const program = `
      import * as et from '${location.origin}/index.js';
      et.configure({ wasm: '${location.origin}/nowhere/etude.wasm' });
      et.experiment.trialMain(() => {}); // the browser reports only errors that the script awaits`;
    const worker = () => new Worker(URL.createObjectURL(new Blob([program], { type: 'text/javascript' })), { type: 'module' });
    const config = { searcher: { name: 'single', metric: 'loss' }, hyperparameters: { units: 1 }, maxRestarts: 0, storage: 'search' };
    return (await et.experiment.runSearch(config, { worker })).trials;
  });
  assert.deepEqual(trials.map(({ status }) => status), ['failed']);
  assert.ok(page.complaints.some((text) => /\[ready\].*nowhere\/etude\.wasm/.test(text)), `${page.complaints}`);
  await page.close();
});

test('a search runs its trials in workers, and continues after the page was closed; the page has their checkpoints', async () => {
  const first = await openPage('search');
  const loaded = first.waitForEvent('load');
  await search(first, 9).catch(() => {}); // the page is loaded again, so that the call never returns
  await loaded; // Chromium loses a command to close a page that is being loaded
  await first.close();
  const second = await openPage('search');
  const { done, best, trials } = await search(second, 0);
  assert.deepEqual([done, trials.map(({ trial, status, time }) => [trial, status, time])], [true, [[1, 'finished', 3], [2, 'finished', 3], [3, 'finished', 3]]]);
  const other = await openPage('another search'), whole = await search(other, 0);
  assert.deepEqual(whole.trials.map(({ hparams, best }) => [hparams, best]), trials.map(({ hparams, best }) => [hparams, best]));
  const units = await second.evaluate(async (trial) => {
    const context = await et.experiment.init({ trialFile: `search/trial_${trial}/trial.json` });
    const model = context.loadModelFromCheckpoint(`${trial}`);
    context.close();
    return model.getWeights()[0].shape[1];
  }, best);
  assert.equal(units, trials[best - 1].hparams.units);
});
