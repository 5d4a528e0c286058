import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as et from 'etude-ml';
import { assertError, fetchOf } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-saving-'));
after(() => rmSync(folder, { recursive: true }));

const x = et.tensor(Array.from({ length: 40 }, (_, i) => Array.from({ length: 6 }, (_, j) => Math.sin(1.7 * (6 * i + j)))));
const y = et.tensor(Array.from({ length: 40 }, (_, i) => [i % 2]));

function trainedModel() {
  const model = et.sequential([
    et.layers.dense({ units: 8, activation: 'relu' }),
    et.layers.batchNormalization(),
    et.layers.dropout({ rate: 0.4 }),
    et.layers.dense({ units: 1, activation: 'sigmoid' }),
  ]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.01 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  return model;
}

test('a saved and loaded model continues training with the same bits', async () => {
  const model = trainedModel();
  await model.fit(x, y, { epochs: 2, batchSize: 16, verbose: 0 });
  model.save(join(folder, 'model'));
  const loaded = et.loadModel(join(folder, 'model'));
  const more = { initialEpoch: 2, epochs: 4, batchSize: 16, verbose: 0 };
  assert.deepEqual(await loaded.fit(x, y, more), await model.fit(x, y, more));
  assert.deepEqual(loaded.getWeights(), model.getWeights());
  assert.equal(et.loadModel(join(folder, 'model'), { compile: false }).compiled, false);
});

test('weights are saved and loaded as safetensors, by the paths of layers', () => {
  const model = trainedModel(), other = trainedModel();
  model.build([-1, 6]);
  other.build([-1, 6]);
  const path = join(folder, 'weights.safetensors');
  model.saveWeights(path);
  other.loadWeights(path);
  assert.deepEqual(other.getWeights(), model.getWeights());
  const header = readFileSync(path).toString('latin1', 8, 40);
  assert.match(header, /^\{"dense\/kernel":/);
});

test('weights of another library are renamed by rules, and kernels transposed where an option says so', async () => {
  const path = `${process.env.ETUDE_ROOT}/tests/golden/torch_model.safetensors`;
  const model = et.sequential([et.layers.conv2d({ filters: 4, kernelSize: [3, 2] }), et.layers.globalAveragePooling2d(), et.layers.dense({ units: 3 })]);
  model.build([-1, 6, 5, 2]);
  const map = [[/^encoder\.conv\.|^(head)\./, (text) => text], ['^encoder\\.norm.*$|^[xy]$', '']];
  await assertError(() => model.loadWeights(path, { map }), 'value', 'map[0]');
  await assertError(() => model.loadWeights(path, { map: [[/^ENCODER/i, '']] }), 'value', 'expected a RegExp without flags');
  map[0] = [/^encoder\.conv\./, 'conv2d/'];
  map.push(['^head\\.', 'dense/'], [/\/(weigh)t$/, '/$1t'], ['weight$', 'kernel']);
  await assertError(() => model.loadWeights(path, { map }), 'data', 'conv2d/kernel', '[4, 2, 3, 2]');
  model.loadWeights(path, { map, transpose: '(conv|head)\\.weight$' });
  const [kernel] = model.getWeights();
  assert.deepEqual(kernel.shape, [3, 2, 2, 4]);
  await assertError(() => model.loadWeights(path, { map: [['(', '']] }), 'value', 'loadWeights', 'map with the pattern "("');
  const checkpoint = `${process.env.ETUDE_ROOT}/tests/golden/tf/dense`;
  await assertError(() => model.loadWeights(checkpoint), 'value', 'is a checkpoint of TensorFlow', 'load its weights in C++, or in Python');
  model.saveWeights(join(folder, 'weights.npz'));
  const arrays = await et.data.readNpz(join(folder, 'weights.npz'));
  assert.deepEqual(Object.keys(arrays).sort(), ['conv2d/bias', 'conv2d/kernel', 'dense/bias', 'dense/kernel']);
  assert.deepEqual(arrays['conv2d/kernel'].array(), kernel.array());
});

test('a model is described as JSON, and restored from it', () => {
  const input = et.input({ shape: [6] });
  const model = et.model({ inputs: [input], outputs: [et.layers.dense({ units: 3, activation: 'tanh' }).apply(input)] });
  const twin = et.modelFromJson(model.toJson());
  assert.equal(twin.toJson(), model.toJson());
  twin.setWeights(model.getWeights());
  assert.deepEqual(twin.predictOnBatch(x), model.predictOnBatch(x));
});

test('cloneModel makes new layers, or those of its function', () => {
  const x = et.input({ shape: [3] });
  const model = et.model({ inputs: [x], outputs: [et.layers.dense({ units: 2, name: 'last' }).apply(et.layers.dense({ units: 4, name: 'first' }).apply(x))] });
  const twin = et.cloneModel(model);
  assert.equal(twin.toJson(), model.toJson());
  assert.notDeepEqual(twin.getWeights(), model.getWeights());
  const wide = et.cloneModel(model, (layer) => (layer.name === 'first' ? et.layers.dense({ units: 5, name: 'wide' }) : et.layers.dense({ units: 2 })));
  assert.equal(wide.countParams(), 4 * 5 + 6 * 2);
  assert.throws(() => et.cloneModel(model, () => 3), /cloneModel.*cloneFunction/s);
});

test('a damaged model, and a file of another kind, are Errors with the reason', () => {
  assert.throws(() => et.loadModel(join(folder, 'nowhere')), /holds no model - expected a folder that Model.save wrote/);
  assert.throws(() => et.modelFromJson('{"class_name": "Dense", "config": {"units": 1}}'), /expected Sequential or Functional/);
  const model = trainedModel();
  model.build([-1, 6]);
  model.save(join(folder, 'damaged'));
  const [checkpoint] = readdirSync(join(folder, 'damaged')).filter((name) => name.startsWith('ckpt-'));
  const file = join(folder, 'damaged', checkpoint, 'model.safetensors'), bytes = readFileSync(file);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(file, bytes);
  assert.throws(() => et.loadModel(join(folder, 'damaged')), /model\.safetensors/);
});

test('modelCheckpoint saves the best weights while training', async () => {
  const model = trainedModel();
  const filepath = join(folder, 'best', 'epoch-{epoch:02d}.safetensors');
  const checkpoint = et.callbacks.modelCheckpoint({ filepath, monitor: 'score', mode: 'min', saveBestOnly: true, saveWeightsOnly: true });
  const weights = [];
  const score = {
    onEpochEnd(epoch, logs) {
      logs.score = [3, 1, 2][epoch];
      weights.push(model.getWeights());
    },
  };
  await model.fit(x, y, { epochs: 3, verbose: 0, callbacks: [score, checkpoint] });
  assert.deepEqual(readdirSync(join(folder, 'best')).sort(), ['epoch-01.safetensors', 'epoch-02.safetensors']);
  model.loadWeights(join(folder, 'best', 'epoch-02.safetensors'));
  assert.deepEqual(model.getWeights(), weights[1]);
});

test('frozen layers stay frozen in the loaded model, and in the model from its JSON', async () => {
  const inner = et.sequential([et.layers.dense({ units: 3, trainable: false }), et.layers.dense({ units: 3 })]);
  const model = et.sequential([et.layers.dense({ units: 4, trainable: false }), inner, et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'adam', loss: 'mse' });
  await model.fit(x, y, { epochs: 1, verbose: 0 });
  model.save(join(folder, 'frozen'));
  const flags = (of) => of.layers.map((layer) => layer.trainable);
  for (const again of [
    et.loadModel(join(folder, 'frozen')),
    et.loadModel(join(folder, 'frozen'), { compile: false }),
    et.modelFromJson(model.toJson()),
  ]) {
    assert.deepEqual(flags(again), [false, true, true]);
    assert.equal(again.trainableVariables.length, 4);
    assert.equal(again.nonTrainableVariables.length, 4);
  }
});

test('a model for TensorFlow.js is saved beside its weights, and loaded from files, an address and a handler', async () => {
  const model = trainedModel();
  model.build([-1, 6]);
  model.save(join(folder, 'tfjs/model.json'));
  assert.deepEqual(readdirSync(join(folder, 'tfjs')), ['group1-shard1of1.bin', 'model.json']);
  const same = async (loaded) => assert.deepEqual((await loaded).getWeights(), model.getWeights());
  await same(et.loadModel(join(folder, 'tfjs/model.json')));

  const content = (name) => readFileSync(join(folder, 'tfjs', name));
  const files = readdirSync(join(folder, 'tfjs')).map((name) => new File([content(name)], name));
  await same(et.loadModel(files));
  const asked = [];
  const server = createServer(({ url }, response) => {
    asked.push(url);
    const name = url.replace(/^\/m\/|\?.*/g, '');
    response.writeHead(existsSync(join(folder, 'tfjs', name)) ? 200 : 404).end(existsSync(join(folder, 'tfjs', name)) ? content(name) : '');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    const address = `http://127.0.0.1:${server.address().port}/m`;
    await same(et.loadModel(`${address}/model.json?key=1`));
    assert.deepEqual(asked, ['/m/model.json?key=1', '/m/group1-shard1of1.bin?key=1']);
    await same(et.loadModel(new URL(`${address}/model.json`)));
    await assertError(() => et.loadModel(`${address}/none.json`), 'io', `none.json" answered 404`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await assertError(() => et.loadModel('http://127.0.0.1:1/m.keras'), 'io', 'cannot be read');
  await assertError(() => et.loadModel('http://'), 'value', '[loadModel] "http://" - expected an address');

  let artifacts;
  assert.equal(await model.save({ save: (given) => ((artifacts = given), 'kept') }), 'kept');
  assert.equal(artifacts.modelTopology.class_name, 'Sequential');
  assert.deepEqual(artifacts.weightSpecs.map(({ name }) => name.replace(/_\d+\//, '/')), ['kernel', 'bias', 'gamma', 'beta', 'moving_mean', 'moving_variance', 'kernel', 'bias'].map((name, i) => `${i < 2 || i > 5 ? 'dense' : 'batch_normalization'}/${name}`));
  assert.equal(artifacts.weightData.byteLength, 4 * model.countParams());
  await same(et.loadModel({ load: async () => artifacts }));
  await same(et.loadModel({ load: () => ({ ...artifacts, weightData: [artifacts.weightData.slice(0, 8), artifacts.weightData.slice(8)] }) }));
  await same(et.loadModel({ load: () => ({ ...artifacts, weightData: new Float32Array(artifacts.weightData) }) }));
  await assertError(() => et.loadModel({ load: () => ({ ...artifacts, weightData: 'text' }) }), 'value', '"text" as weightData of the handler - expected an ArrayBuffer');
});

test('a model is loaded from the address of an object or of data', async () => {
  const model = trainedModel();
  model.build([-1, 6]);
  const bytes = await model.toBytes();
  const object = URL.createObjectURL(new Blob([bytes])), data = `data:;base64,${Buffer.from(bytes).toString('base64')}`;
  for (const address of [object, data, new URL(object)]) assert.deepEqual((await et.loadModel(address)).getWeights(), model.getWeights());
  URL.revokeObjectURL(object);
  await assertError(() => et.loadModel(object), 'io', '[loadModel] "blob:', 'cannot be read');
  await assertError(() => et.loadModel('data:wrong'), 'io', '"data:wrong" cannot be read');
});

test('when a file of weights fails, the others are no longer fetched, and onProgress is silent', async () => {
  let calls = 0, stopped;
  const manifest = { modelTopology: {}, weightsManifest: [{ paths: ['a.bin', 'b.bin'], weights: [] }] };
  const server = createServer(({ url }, response) => {
    if (url.endsWith('.json')) return response.end(JSON.stringify(manifest));
    response.writeHead(200, { 'content-length': 1e9 });
    const timer = setInterval(() => void response.write(new Uint8Array(1000)), 1);
    response.on('close', () => clearInterval(timer));
    if (url.endsWith('b.bin')) setTimeout(() => response.destroy(), 50);
    else stopped = new Promise((closed) => response.on('close', closed));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    const address = `http://127.0.0.1:${server.address().port}/model.json`;
    await assertError(() => et.loadModel(address, { onProgress: () => calls++ }), 'io', 'b.bin" cannot be read');
    const before = calls;
    await stopped;
    await new Promise((later) => setTimeout(later, 50));
    assert.equal(calls, before);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('a file: URL is the path of a file, as an object and as a string', async () => {
  const model = trainedModel();
  await model.fit(x, y, { epochs: 1, verbose: 0 });
  const same = (loaded) => assert.deepEqual(loaded.getWeights(), model.getWeights());
  for (const name of ['of a URL ü%.keras', 'of a URL']) {
    model.save(join(folder, name));
    const url = pathToFileURL(join(folder, name)), fractions = [];
    assert.match(url.href, /^file:\/\/\/.*of%20a%20URL/);
    same(await et.loadModel(url, { onProgress: (fraction) => fractions.push(fraction) }));
    assert.equal(fractions.at(-1), 1);
    same(et.loadModel(url.href));
  }
  model.saveWeights(join(folder, 'of a URL.safetensors'));
  const url = pathToFileURL(join(folder, 'of a URL.safetensors'));
  for (const source of [url, url.href]) {
    const other = trainedModel();
    other.build([-1, 6]);
    await other.loadWeights(source);
    same(other);
  }
  await assertError(() => et.loadModel(new URL('file:///nowhere/m.keras')), 'io', '"/nowhere/m.keras"');
  for (const source of [new URL('file:///a%2Fb.keras'), 'file:///a%2Fb.keras']) await assertError(() => et.loadModel(source), 'value', '[loadModel] "file:///a%2Fb.keras": ', 'expected the URL of a file on this machine');
});

test('weights in several files are loaded by their index, from an address and from Files', async (t) => {
  const make = (...layers) => {
    const model = et.sequential(layers);
    model.build([-1, 3]);
    return model;
  };
  const dense = () => et.layers.dense({ units: 3 }), normal = () => et.layers.batchNormalization({ gammaInitializer: 'random_normal' });
  const [first, last] = [make(dense()), make(normal())];
  const names = [['dense/kernel', 'dense/bias'], ['gamma', 'beta', 'moving_mean', 'moving_variance'].map((name) => `batch_normalization/${name}`)];
  const index = (files) => JSON.stringify({ metadata: {}, weight_map: Object.fromEntries(names.flatMap((some, i) => some.map((name) => [name, files[i]]))) });
  const shards = ['model 1.safetensors', 'model 2.safetensors'];
  const files = { 'm.safetensors.index.json': index(shards), [shards[0]]: await first.toBytes('safetensors'), [shards[1]]: await last.toBytes('safetensors') };
  const asked = fetchOf(t, files), address = 'https://example.org/m/m.safetensors.index.json';
  const same = (model) => assert.deepEqual(model.getWeights(), [...first.getWeights(), ...last.getWeights()]);

  const fractions = [], ofAddress = make(dense(), normal());
  await ofAddress.loadWeights(`${address}?key=1`, { onProgress: (fraction) => fractions.push(fraction) });
  same(ofAddress);
  assert.deepEqual(asked.splice(0).sort(), ['m.safetensors.index.json?key=1', 'model 1.safetensors?key=1', 'model 2.safetensors?key=1']);
  assert.deepEqual(fractions, [0.5, 1]);
  const ofFiles = make(dense(), normal());
  await ofFiles.loadWeights(Object.entries(files).map(([name, bytes]) => new File([bytes], name)));
  same(ofFiles);

  files['m.safetensors.index.json'] = index([shards[0], '../elsewhere.safetensors']);
  await assertError(() => ofAddress.loadWeights(address), 'data', 'which is no name in the folder of the index');
  assert.deepEqual(asked.splice(0).sort(), ['m.safetensors.index.json', 'model 1.safetensors']);
  files['m.safetensors.index.json'] = index([shards[0], 'model 3.safetensors']);
  await assertError(() => ofAddress.loadWeights(new URL(address)), 'io', 'model%203.safetensors" answered 404');
});

test('overwrite false keeps what has the same name, which is an Error, and a handler gets it', async () => {
  const model = trainedModel(), kept = { overwrite: false };
  await model.fit(x, y, { epochs: 1, verbose: 0 });
  for (const name of ['kept', 'kept.keras', 'kept_tfjs/model.json']) {
    model.save(join(folder, name), kept);
    await assertError(() => model.save(join(folder, name), kept), 'io', `${name}" exists - expected a new name, because overwrite is false`);
    model.save(join(folder, name));
  }
  const weights = join(folder, 'kept.safetensors');
  writeFileSync(weights, 'before');
  await assertError(() => model.saveWeights(weights, kept), 'io', 'exists');
  assert.equal(readFileSync(weights, 'utf8'), 'before');
  assert.equal(await model.save({ save: (_, { overwrite }) => overwrite }, kept), false);
  await assertError(() => model.save(weights, { overwrit: false }), 'value', 'unknown option "overwrit"');
});

test('onProgress reports how much of an address has arrived, up to 1', async () => {
  const model = trainedModel();
  model.build([-1, 6]);
  model.save(join(folder, 'progress/model.json'));
  model.saveWeights(join(folder, 'progress/w.safetensors'));
  const server = createServer(({ url }, response) => {
    const bytes = readFileSync(join(folder, 'progress', url)), half = bytes.length >> 1;
    response.writeHead(200, { 'content-length': bytes.length }).write(bytes.subarray(0, half));
    setTimeout(() => response.end(bytes.subarray(half)), 20);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  try {
    const address = `http://127.0.0.1:${server.address().port}`;
    for (const load of [(onProgress) => et.loadModel(`${address}/model.json`, { onProgress }), (onProgress) => model.loadWeights(`${address}/w.safetensors`, { onProgress })]) {
      const fractions = [];
      await load((fraction) => fractions.push(fraction));
      assert.ok(fractions[0] > 0 && fractions[0] < 1, `${fractions}`);
      assert.deepEqual(fractions, [...new Set(fractions)].sort((a, b) => a - b));
      assert.equal(fractions.at(-1), 1);
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await assertError(() => et.loadModel('m', { onProgress: 1 }), 'value', '1 as onProgress');
});

test('a model and its weights go to bytes, and are loaded from bytes and Blobs', async () => {
  const model = trainedModel();
  await model.fit(x, y, { epochs: 1, verbose: 0 });
  const keras = await model.toBytes();
  model.save(join(folder, 'bytes.keras'));
  assert.deepEqual(keras, new Uint8Array(readFileSync(join(folder, 'bytes.keras'))));
  for (const source of [keras, keras.buffer.slice(keras.byteOffset, keras.byteOffset + keras.length), new Blob([keras]), new File([keras], 'my.keras'), [new File([keras], 'my.keras')]]) {
    const loaded = await et.loadModel(source);
    assert.deepEqual(loaded.getWeights(), model.getWeights());
    assert.equal(loaded.optimizer.iterations, 2);
  }
  assert.equal((await et.loadModel(keras, { compile: false })).compiled, false);
  for (const format of ['safetensors', 'npz', 'weights.h5']) {
    const other = trainedModel();
    other.build([-1, 6]);
    assert.equal(await other.loadWeights(new Blob([await model.toBytes(format)])), undefined);
    assert.deepEqual(other.getWeights(), model.getWeights(), format);
  }
});

test('a source without a model is an Error that says what to pass', async () => {
  const model = trainedModel();
  model.build([-1, 6]);
  await assertError(() => et.loadModel(7), 'value', '7 - expected a path, an address, a File');
  await assertError(() => model.loadWeights(null), 'value', '[loadWeights] null');
  await assertError(() => et.loadModel([new File([], 'a.bin'), new File([], 'b.bin')]), 'value', '2 files, of which 0 end with .json');
  await assertError(() => et.loadModel(['model.json']), 'value', '"model.json" among files');
  await assertError(() => et.loadModel({ load: () => undefined }), 'value', 'undefined from load() of the handler');
  await assertError(() => et.loadModel(new Uint8Array(9)), 'value', 'is in a format that is not recognized');
  await assertError(() => et.loadModel(new File(['{"modelTopology": {}, "weightsManifest": []}'], 'model.json')), 'data', 'has no model as its "modelTopology"');
  await assertError(() => model.toBytes('onnx'), 'value', '"onnx" as format - expected one of "keras"');
  await assertError(() => model.save({}), 'value', 'expected a path, or a handler with save(artifacts)');
  await assertError(() => model.download(), 'state', 'no page - expected a page');
});

test('names of unsupported formats and places are an Error, and nothing is written', () => {
  const model = trainedModel();
  model.build([-1, 6]);
  for (const name of ['x.onnx', 'x.h5', 'localstorage://x', 'indexeddb://x', 'https://example.org/x']) {
    assert.throws(() => model.save(name), { name: 'EtudeError', kind: 'value', message: /expected the (name|path) of a f/ });
    if (!name.startsWith('https')) assert.throws(() => et.loadModel(name), { name: 'EtudeError', kind: name === 'x.h5' ? 'io' : 'value' }); // it would be read
    assert.throws(() => model.saveWeights(name), { name: 'EtudeError', kind: 'value' });
    assert.throws(() => et.callbacks.modelCheckpoint({ filepath: name }), { name: 'EtudeError', kind: 'value' });
    if (!name.includes('://')) continue;
    assert.throws(() => et.callbacks.backupAndRestore({ backupDir: name }), { name: 'EtudeError', kind: 'value' });
    assert.throws(() => et.callbacks.csvLogger({ filename: name }), { name: 'EtudeError', kind: 'value' });
    assert.throws(() => et.callbacks.tensorboard({ logDir: name }), { name: 'EtudeError', kind: 'value' });
  }
  assert.throws(() => model.saveWeights(join(folder, 'victim\0.safetensors')), { name: 'EtudeError', kind: 'io' });
  assert.ok(!readdirSync(folder).includes('victim'));
});

test('an unpaired surrogate in a name is an Error where the name is set', () => {
  for (const name of ['\ud800', 'a\udc00b', '\ud83ca'])
    assert.throws(() => et.layers.dense({ units: 1, name }), /expected a string of whole characters/);
  assert.equal(et.layers.dense({ units: 1, name: 'naïve 🎹' }).name, 'naïve 🎹');
});

test('models nested in themselves, and thousands deep, are an Error, and other models train on', async () => {
  const outer = et.sequential([et.layers.dense({ units: 1 })]);
  assert.throws(() => outer.add(outer), /is or contains this model/);
  assert.throws(() => outer.add(et.sequential([outer])), /is or contains this model/);
  const nest = (levels) => {
    let layer = et.layers.dense({ units: 1 });
    for (let i = 0; i < levels; i += 1) layer = et.sequential([layer]);
    return layer;
  };
  assert.throws(() => nest(2000), { name: 'EtudeError', message: /nested more than 100 deep/ });
  const deep = nest(100);
  deep.compile({ loss: 'mse' });
  await deep.fit(x, y, { epochs: 1, verbose: 0 });

  // Custom functions with endless recursion.
  const own = et.model({ layers: [], call: (value) => own.call(value) });
  assert.throws(() => own.predictOnBatch(x), /expected at most 100/);
  let end = et.input({ shape: [6] });
  const rescaling = et.layers.rescaling({ scale: 1 });
  for (let i = 0; i < 30000; i += 1) end = rescaling.apply(end);
  const model = trainedModel();
  await model.fit(x, y, { epochs: 1, verbose: 0 });
});
