// Files of Keras: the tests in C++ compare all of them; this is the way through JavaScript and the parts of the module.
import assert from 'node:assert/strict';
import { mkdtempSync, openAsBlob, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as et from 'etude-ml';
import { assertClose, assertError, fetchOf } from './support.mjs';

const golden = join(process.env.ETUDE_ROOT, 'tests/golden');
const { keras3, keras2 } = JSON.parse(readFileSync(join(golden, 'keras_files.json')));
const modelOf = ({ models }, file) => models.find(({ files }) => files.includes(file));
const tensorOf = (rows) => et.tensor(rows.flat(), [rows.length, rows[0].length]);
const folder = mkdtempSync(join(tmpdir(), 'etude-keras-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

test('a .keras file that Keras saved is loaded, and its training continues with the same losses', async () => {
  const { inputs, targets, y, losses } = modelOf(keras3, 'keras/adam.keras');
  const model = et.loadModel(join(golden, 'keras/adam.keras'));
  const x = tensorOf(inputs[0]);
  assertClose((await model.predict(x, { verbose: 0 })).data, y.flat(), 1e-5);
  for (const loss of losses) assertClose([(await model.trainOnBatch(x, tensorOf(targets)))[0]], [loss], 1e-4);
});

test('a model is saved to a .keras file, and loaded with the same weights; so are weights alone', async () => {
  const model = et.sequential([et.input({ shape: [4] }), et.layers.dense({ units: 3, activation: 'relu' }), et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'adam', loss: 'mse' });
  await model.fit([[1, 2, 3, 4]], [[1]], { epochs: 2, verbose: 0 });
  const weights = (of) => of.getWeights().map(({ data }) => [...data]);
  model.save(join(folder, 'm.keras'));
  const loaded = et.loadModel(join(folder, 'm.keras'));
  assert.deepEqual(weights(loaded), weights(model));
  assert.equal(loaded.optimizer.iterations, 2);
  model.saveWeights(join(folder, 'm.weights.h5'));
  const other = et.modelFromJson(model.toJson());
  other.loadWeights(join(folder, 'm.weights.h5'));
  assert.deepEqual(weights(other), weights(model));
});

test('a model of Keras that begins with strings is loaded without its layer of strings, which is loaded alone', async () => {
  const states = JSON.parse(readFileSync(join(golden, 'keras_states.json')));
  const { texts, vocabulary, y } = modelOf(states.texts, 'keras/texts.keras');
  const { text_vectorization: vectorize } = et.loadStringLayers(join(golden, 'keras/texts.keras'));
  assert.deepEqual(vectorize.getVocabulary(), vocabulary);
  const model = et.loadModel(join(golden, 'keras/texts.keras'));
  assertClose((await model.predict(vectorize.call(texts), { verbose: 0 })).data, y.flat(), 1e-5);
});

test('layers of strings are loaded from what loadModel takes', async (t) => {
  const path = join(golden, 'keras/texts.keras'), bytes = readFileSync(path);
  const vocabularies = (layers) => Object.entries(layers).map(([name, layer]) => [name, layer.getVocabulary()]);
  const expected = vocabularies(et.loadStringLayers(path));
  assert.equal(expected.length, 1);
  fetchOf(t, { 'texts.keras': bytes });
  const sources = [new Uint8Array(bytes), await openAsBlob(path), [new File([bytes], 'a.keras')], pathToFileURL(path), 'https://example.org/texts.keras', new URL('https://example.org/texts.keras')];
  for (const source of sources) assert.deepEqual(vocabularies(await et.loadStringLayers(source)), expected);
  assert.deepEqual(vocabularies(et.loadStringLayers(pathToFileURL(path).href)), expected);
  await assertError(() => et.loadStringLayers(7), 'value', '[loadStringLayers] 7 - expected a path, an address, a File');
  await assertError(() => et.loadStringLayers(new Uint8Array(9)), 'data', 'expected a whole ZIP archive');
});

test('weights that Keras saved in several files are loaded by their index, from an address and from Files', async (t) => {
  const make = () => {
    const model = et.sequential([et.layers.dense({ units: 3 }), et.layers.batchNormalization(), et.layers.dense({ units: 2 })]);
    model.build([-1, 4]);
    return model;
  };
  const names = ['shards.weights.json', 'shards_00000.weights.h5', 'shards_00001.weights.h5'];
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(golden, 'keras', name))]));
  const [expected, ofAddress, ofFiles] = [make(), make(), make()];
  expected.loadWeights(join(golden, 'keras', names[0]));
  const asked = fetchOf(t, files);
  await ofAddress.loadWeights(new URL(`https://example.org/${names[0]}`));
  assert.deepEqual(asked.sort(), [...names].sort());
  await ofFiles.loadWeights(names.map((name) => new File([files[name]], name)));
  for (const each of [ofAddress, ofFiles]) assert.deepEqual(each.getWeights(), expected.getWeights());
});

test('an .h5 file of Keras 2 is loaded', async () => {
  const { inputs, y } = modelOf(keras2, 'keras/sequential2.h5');
  const model = et.loadModel(join(golden, 'keras/sequential2.h5'), { compile: false });
  assertClose((await model.predict(tensorOf(inputs[0]), { verbose: 0 })).data, y.flat(), 1e-5);
});
