// Models in a page without files of its own: in the origin private file system, as downloads, and as files that are dropped.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { emptyPage, packageInBrowser } from './browser.mjs';

const inBrowser = packageInBrowser();
const golden = (path) => fileURLToPath(new URL(`../golden/${path}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'etude-formats-'));
after(() => rmSync(folder, { recursive: true }));

/** A page with a small model, and a place for files: dropped() returns them. */
async function openPage() {
  const page = await emptyPage(inBrowser);
  await page.evaluate(async () => {
    const et = (globalThis.et = await import('/index.js'));
    await et.ready();
    globalThis.newModel = () => {
      const model = et.sequential([et.layers.dense({ units: 8, activation: 'tanh' }), et.layers.dense({ units: 1 })]);
      model.build([1, 4]);
      return model;
    };
    globalThis.weightsOf = (model) => model.getWeights().flatMap(({ data }) => [...data]);
    globalThis.model = newModel();
    document.body.innerHTML = '<input type="file" multiple>';
    globalThis.dropped = () => new Promise((resolve) => {
      document.body.addEventListener('drop', ({ dataTransfer }) => resolve(dataTransfer.files), { once: true });
      const dataTransfer = new DataTransfer();
      for (const file of document.querySelector('input').files) dataTransfer.items.add(file);
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }));
    });
  });
  return page;
}
/** Drops files of the disk on the page, and returns the result of `work`, which gets them and `given`. */
async function drop(page, paths, work, given) {
  await page.setInputFiles('input', paths);
  return page.evaluate(async ([text, given]) => new Function(`return (${text})`)()(await dropped(), given), [String(work), given]);
}
/** Saves the files that `work` lets the browser download; returns their paths. */
async function downloads(page, count, work) {
  const paths = [], saving = [];
  const all = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${paths.length} downloads instead of ${count}`)), 20_000).unref();
    page.on('download', (download) => {
      paths.push(join(folder, download.suggestedFilename()));
      saving.push(download.saveAs(paths.at(-1)));
      if (paths.length === count) resolve();
    });
  });
  await page.evaluate(work);
  await all;
  await Promise.all(saving);
  page.removeAllListeners('download');
  return paths.sort();
}
function assertClose(actual, expected) {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= 1e-5, `[${actual}] is not [${expected}]`));
}

test('a model goes to the origin private file system, and is loaded from there, in a page and in a worker', async () => {
  const page = await openPage();
  const worker = `
    import * as et from './index.js';
    await et.ready();
    const folder = await navigator.storage.getDirectory(), file = async (name) => (await folder.getFileHandle(name)).getFile();
    const model = await et.loadModel(await file('m.keras'));
    model.setWeights(model.getWeights().map(({ data, shape }) => et.tensor(data.map((value) => value + 1), shape)));
    const before = await folder.getFileHandle('worker.keras', { create: true });
    const long = await before.createWritable();
    await long.write(new Uint8Array(100_000)); // what is in the file is replaced
    await long.close();
    await model.writeTo(before);
    await model.writeTo(await folder.getFileHandle('w.safetensors', { create: true }), 'safetensors');
    postMessage((await file('worker.keras')).size);`;
  await page.route(`${inBrowser.site.url}worker.js`, (route) => route.fulfill({ body: worker, contentType: 'text/javascript' }));
  const [saved, loaded, size, ofWorker, weights] = await page.evaluate(async () => {
    const folder = await navigator.storage.getDirectory(), handle = await folder.getFileHandle('m.keras', { create: true });
    await model.writeTo(handle);
    const loaded = await et.loadModel(await handle.getFile());
    const size = await new Promise((resolve, reject) => {
      const worker = new Worker('/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    const file = async (name) => (await folder.getFileHandle(name)).getFile();
    const ofWorker = await et.loadModel(await file('worker.keras')), other = newModel();
    await other.loadWeights(await file('w.safetensors'));
    return [weightsOf(model), weightsOf(loaded), size, weightsOf(ofWorker), weightsOf(other)];
  });
  assert.deepEqual(loaded, saved);
  assert.deepEqual(ofWorker, saved.map((value) => Math.fround(value + 1)));
  assert.deepEqual(weights, ofWorker);
  assert.ok(size < 100_000, `${size} bytes`);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('a model.json is downloaded with its files of weights, and loaded when they are dropped', async () => {
  const page = await openPage();
  const saved = await page.evaluate(() => weightsOf(model));
  const paths = await downloads(page, 2, () => model.download('model.json'));
  assert.deepEqual(paths, ['group1-shard1of1.bin', 'model.json'].map((name) => join(folder, name)));
  assert.equal(JSON.parse(readFileSync(paths[1], 'utf8')).format, 'layers-model');
  assert.deepEqual(await drop(page, paths, async (files) => weightsOf(await et.loadModel(files))), saved);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('weights are downloaded as .npz, .weights.h5 and safetensors, and loaded when they are dropped', async () => {
  const page = await openPage();
  const saved = await page.evaluate(() => weightsOf(model));
  for (const name of ['w.npz', 'w.weights.h5', 'w.safetensors']) {
    const [path] = await downloads(page, 1, `model.download('${name}')`);
    const load = async ([file]) => {
      const other = newModel();
      await other.loadWeights(file);
      return weightsOf(other);
    };
    assert.deepEqual(await drop(page, [path], load), saved, name);
  }
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('models of Keras 2 and TensorFlow.js that are dropped on a page compute the same', async () => {
  const page = await openPage();
  const predict = async (files, inputs) => {
    const model = await et.loadModel(files);
    return [...(await model.predict(inputs.map((rows) => et.tensor(rows)), { verbose: 0 })).data];
  };
  const ofKeras = JSON.parse(readFileSync(golden('keras_files.json'))).keras2.models.find(({ files }) => files.includes('keras/sequential2.h5'));
  assertClose(await drop(page, [golden('keras/sequential2.h5')], predict, ofKeras.inputs), ofKeras.y.flat());
  const ofTfjs = JSON.parse(readFileSync(golden('tfjs_models.json'))).models.find(({ name }) => name === 'dense');
  assertClose(await drop(page, ['model.json', 'weights.bin'].map((name) => golden(`tfjs/dense/${name}`)), predict, ofTfjs.x), ofTfjs.outputs[0]);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('layers of strings of a model of Keras that is dropped have their vocabularies', async () => {
  const page = await openPage();
  const { vocabulary } = JSON.parse(readFileSync(golden('keras_states.json'))).texts.models.find(({ files }) => files.includes('keras/texts.keras'));
  const load = async (files) => (await et.loadStringLayers(files)).text_vectorization.getVocabulary();
  assert.deepEqual(await drop(page, [golden('keras/texts.keras')], load), vocabulary);
  assert.deepEqual(page.complaints, []);
  await page.close();
});

test('an index of weights and its files are loaded when they are dropped', async () => {
  const page = await openPage();
  const { inputs, y } = JSON.parse(readFileSync(golden('keras_states.json'))).shards;
  const predict = async (files, inputs) => {
    const model = et.sequential([et.layers.dense({ units: 3 }), et.layers.batchNormalization(), et.layers.dense({ units: 2 })]);
    model.build([-1, 4]);
    await model.loadWeights(files);
    return [...(await model.predict(inputs.map((rows) => et.tensor(rows)), { verbose: 0 })).data];
  };
  const names = ['shards.weights.json', 'shards_00000.weights.h5', 'shards_00001.weights.h5'];
  assertClose(await drop(page, names.map((name) => golden(`keras/${name}`)), predict, inputs), y.flat());
  assert.deepEqual(page.complaints, []);
  await page.close();
});
