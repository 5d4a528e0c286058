import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude';

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

test('a model that was saved and loaded goes on as if nothing had happened, to the last bit', async () => {
  const model = trainedModel();
  await model.fit(x, y, { epochs: 2, batchSize: 16, verbose: 0 });
  model.save(join(folder, 'model'));
  const loaded = et.loadModel(join(folder, 'model'));
  const more = { initialEpoch: 2, epochs: 4, batchSize: 16, verbose: 0 };
  assert.deepEqual(await loaded.fit(x, y, more), await model.fit(x, y, more));
  assert.deepEqual(loaded.getWeights(), model.getWeights());
  assert.equal(et.loadModel(join(folder, 'model'), { compile: false }).compiled, false);
});

test('weights are saved and loaded as safetensors, by where layers stand', () => {
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

test('a model is described as JSON, and made again', () => {
  const input = et.input({ shape: [6] });
  const model = et.model({ inputs: [input], outputs: [et.layers.dense({ units: 3, activation: 'tanh' }).apply(input)] });
  const twin = et.modelFromJson(model.toJson());
  assert.equal(twin.toJson(), model.toJson());
  twin.setWeights(model.getWeights());
  assert.deepEqual(twin.predictOnBatch(x), model.predictOnBatch(x));
});

test('damage, and what is no model, is an Error that says so', () => {
  assert.throws(() => et.loadModel(join(folder, 'nowhere')), /holds no model - expected a folder that Model::save wrote/);
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
  const checkpoint = et.callbacks.modelCheckpoint({ filepath, monitor: 'loss', saveBestOnly: true, saveWeightsOnly: true });
  await model.fit(x, y, { epochs: 2, verbose: 0, callbacks: [checkpoint] });
  assert.ok(readdirSync(join(folder, 'best')).includes('epoch-01.safetensors'));
});
