// A page's files are stored in the browser's database, and outlast the page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { emptyPage, packageInBrowser } from './browser.mjs';

const inBrowser = packageInBrowser();

/** A page in the package's folder, in the same browser context as the others. */
async function openPage() {
  const page = await emptyPage(inBrowser);
  await page.evaluate(async () => {
    const et = (globalThis.et = await import('/index.js'));
    await et.ready();
    globalThis.samples = () => [
      et.tensor(Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)), [64, 4]),
      et.tensor(Float32Array.from({ length: 64 }, (_, i) => Math.cos(i)), [64, 1]),
    ];
    globalThis.newModel = () => {
      et.setRandomSeed(3);
      const model = et.sequential([et.layers.dense({ units: 8, activation: 'tanh' }), et.layers.dropout({ rate: 0.2 }), et.layers.dense({ units: 1 })]);
      model.compile({ optimizer: 'adam', loss: 'mse' });
      return model;
    };
  });
  return page;
}
const run = (page, work, ...given) => page.evaluate(([text, rest]) => new Function(`return (${text})`)()(...rest), [String(work), given]);
/** The kind and the message of the error that `work` throws in the page. */
const messageOf = (page, work) => page.evaluate(async (text) => {
  try {
    await new Function(`return (${text})`)()();
  } catch (error) {
    return `${error.kind} ${error.message}`;
  }
  return 'nothing was thrown';
}, String(work));

test('a saved model exists when the page is opened again', async () => {
  const first = await openPage();
  const before = await first.evaluate(async () => {
    const files = await et.openFiles('models');
    await et.ready({ parts: ['callbacks'] });
    const [x, y] = samples(), model = newModel();
    await model.fit(x, y, { epochs: 2, callbacks: [et.callbacks.csvLogger({ filename: 'logs/training.csv' })] });
    model.save('kept/model');
    model.saveWeights('kept/weights.safetensors');
    await model.predictStream(x).writeNpy('kept/predictions.npy');
    await files.saved();
    return Array.from((await model.predict(x)).data);
  });
  await first.close();

  const second = await openPage();
  const header = await second.evaluate(async () => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const database = await done(indexedDB.open('etude: models'));
    const bytes = await done(database.transaction('files').objectStore('files').get('kept/predictions.npy'));
    database.close();
    return new TextDecoder('latin1').decode(bytes.subarray(0, 128));
  });
  assert.match(header, /NUMPY.*'shape': \(64, 1\)/s); // the number of rows is written into the header at the end
  const [loaded, weights] = await second.evaluate(async () => {
    await et.openFiles('models');
    const [x] = samples(), model = et.loadModel('kept/model'), other = newModel();
    other.build([1, 4]);
    other.loadWeights('kept/weights.safetensors');
    return [Array.from((await model.predict(x)).data), Array.from((await other.predict(x)).data)];
  });
  assert.deepEqual(loaded, before);
  assert.deepEqual(weights, before);
  assert.deepEqual(second.complaints, []);
  await second.close();
});

/** Trains up to step 96, or hangs after `steps` steps; returns the result and the number of steps that ran. */
async function train(name, steps) {
  globalThis.files = await et.openFiles(name);
  const [x, y] = samples(), model = newModel();
  globalThis.done = 0;
  const onTrainBatchEnd = () => (++done === steps ? new Promise(() => {}) : undefined);
  const backup = et.callbacks.backupAndRestore({ backupDir: 'backup', saveFreq: 5 });
  const { history } = await model.fit(x, y, { batchSize: 8, epochs: 12, callbacks: [backup, { onTrainBatchEnd }] });
  return { figures: [history.loss.at(-1), ...(await model.predict(x)).data], steps: done };
}

test('training that is interrupted with its page, at any step, continues to the same bits', async () => {
  const whole = await openPage();
  const expected = await run(whole, train, 'uninterrupted');
  assert.equal(expected.steps, 96);
  await whole.close();

  for (const steps of [17, 21, 30]) {
    const page = await openPage();
    run(page, train, 'interrupted', steps).catch(() => {}); // it ends with its page
    await page.waitForFunction((count) => globalThis.done === count, steps);
    if (steps === 17) await page.evaluate(() => files.saved());
    await page.close();
  }
  const last = await openPage();
  const { figures, steps } = await run(last, train, 'interrupted');
  assert.deepEqual(figures, expected.figures);
  assert.ok(steps >= 96 - 17 - 21 - 30 && steps <= 96 - 15, `${steps} steps`);
  await last.close();
});

test('only one tab can open the files, until it closes them', async () => {
  const [one, other] = [await openPage(), await openPage()];
  const open = () => et.openFiles('shared').then((files) => void (globalThis.files = files));
  await one.evaluate(open);
  assert.match(await messageOf(other, () => et.openFiles('shared')), /^state \[openFiles\] this page, another tab or a worker has the files "shared" open - expected/);
  await one.evaluate(() => files.close());
  await other.evaluate(open);
  for (const late of [() => { const model = newModel(); model.build([1, 4]); model.save('late'); }, () => et.loadModel('late')])
    assert.match(await messageOf(one, late), /^io .*the files were closed/);
  await one.close();
  await other.close();
});

test('a refused write is an error, and is written again when possible', async () => {
  const page = await openPage();
  const refused = await messageOf(page, async () => {
    globalThis.files = await et.openFiles('full');
    globalThis.model = newModel();
    model.build([1, 4]);
    globalThis.put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = () => { throw new DOMException('the disk is full', 'QuotaExceededError'); };
    model.saveWeights('a.safetensors');
    await files.saved();
  });
  assert.match(refused, /^io \[openFiles\] the browser cannot store more: the disk is full - expected room for \d+ bytes - /);
  await page.evaluate(() => {
    IDBObjectStore.prototype.put = put;
    model.saveWeights('b.safetensors');
    return files.saved();
  });
  await page.close();
  const again = await openPage();
  await again.evaluate(async () => {
    await et.openFiles('full');
    const model = newModel();
    model.build([1, 4]);
    model.loadWeights('a.safetensors');
    model.loadWeights('b.safetensors');
  });
  await again.close();
});

test('the changes of one turn of the event loop are stored together, or not at all', async () => {
  const page = await openPage();
  const refused = await messageOf(page, async () => {
    const files = await et.openFiles('whole'), model = newModel();
    model.build([1, 4]);
    const put = IDBObjectStore.prototype.put;
    let puts = 0;
    IDBObjectStore.prototype.put = function (...given) {
      if (++puts === 2) throw new DOMException('the disk is full', 'QuotaExceededError');
      return put.apply(this, given);
    };
    model.saveWeights('a.safetensors');
    model.saveWeights('b.safetensors');
    await files.saved();
  });
  assert.match(refused, /^io \[openFiles\]/);
  await page.close();
  const again = await openPage();
  assert.match(await messageOf(again, async () => {
    await et.openFiles('whole');
    const model = newModel();
    model.build([1, 4]);
    model.loadWeights('a.safetensors');
  }), /^io .*a\.safetensors/);
  await again.close();
});

test('a growing file is stored when it becomes visible to others, not at every piece', async () => {
  const page = await openPage();
  const [size, kept] = await page.evaluate(async () => {
    const files = await et.openFiles('growing'), model = newModel();
    const put = IDBObjectStore.prototype.put;
    let kept = 0;
    IDBObjectStore.prototype.put = function (value, ...given) {
      kept += value.length;
      return put.call(this, value, ...given);
    };
    await model.predictStream(et.tensor(new Float32Array(80000), [20000, 4]), { batchSize: 100 }).writeNpy('predictions.npy');
    await files.saved();
    return [20000 * 4, kept];
  });
  assert.ok(kept > size && kept < 2.5 * size, `${kept} bytes were written for a file of ${size}`);
  await page.close();
});

test('without files, a model goes to Files and comes from them, with the parts it needs, and is downloaded', async () => {
  const page = await openPage();
  const [size, before, after] = await page.evaluate(async () => {
    const [x] = samples();
    globalThis.model = newModel();
    model.build([1, 4]);
    const bytes = await model.toBytes(), loaded = await et.loadModel(new File([bytes], 'mine.keras'));
    return [bytes.length, Array.from((await model.predict(x)).data), Array.from((await loaded.predict(x)).data)];
  });
  assert.deepEqual(after, before);
  const [download] = await Promise.all([page.waitForEvent('download'), page.evaluate(() => model.download('mine.keras'))]);
  assert.equal(download.suggestedFilename(), 'mine.keras');
  assert.equal(readFileSync(await download.path()).length, size);
  assert.match(await messageOf(page, () => model.download('mine')), /^value \[download\] "mine" as name - expected one that ends with \.keras/);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('an image that is not among the files is an error that names it', async () => {
  const page = await openPage();
  assert.match(await messageOf(page, async () => {
    await et.openFiles('images');
    await et.utils.loadImg('photo.png', { decode: () => et.tensor([[[1]]]) });
  }), /^io \[utils\.loadImg\] cannot read "photo\.png": no such file - expected a file - check the path\.$/);
  await page.close();
});

test('without files, the error of saving names openFiles()', async () => {
  const page = await openPage();
  await page.evaluate(() => et.ready({ parts: ['saving'] }));
  assert.match(await messageOf(page, () => { const model = newModel(); model.build([1, 4]); model.save('x'); }), /^io .*no file system is available.*call openFiles first/);
  assert.match(await messageOf(page, () => et.openFiles('')), /^value \[openFiles\] "" as name - expected/);
  await page.close();
});
