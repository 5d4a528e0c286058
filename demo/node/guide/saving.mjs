// Saving: a whole model, its weights, its description, a model with a custom class; checkpoints during training, and a
// fit that continues after an interruption. In a page, await et.openFiles(name) first: it stores the files in the browser.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const [x, y] = samples(1000);
const folder = mkdtempSync(join(tmpdir(), 'etude-guide-saving-'));
const twoLayers = () => {
  et.setRandomSeed(7);
  return et.sequential([et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })]);
};

const model = twoLayers();
model.compile({ optimizer: 'adam', loss: 'mse' });
await model.fit(x, y, { epochs: 2, verbose: 2 });

// The model, its compile options, and the state of its optimizer. Steps written in JavaScript are not saved.
model.save(join(folder, 'model'));
const loaded = et.loadModel(join(folder, 'model'));
report('loaded', await loaded.fit(x, y, { epochs: 4, verbose: 2, initialEpoch: 2 }));

// The same in one file, which Keras 3 loads; loadModel also loads files that Keras saved.
model.save(join(folder, 'model.keras'));
const ofFile = et.loadModel(join(folder, 'model.keras'));
console.log(`file: loss=${(await ofFile.evaluate(x, y, { verbose: 0 })).toFixed(5)}`);

// The same as bytes: a page uploads or downloads them. loadModel also takes a File, an address, and others.
const ofBytes = await et.loadModel(await model.toBytes());
console.log(`bytes: loss=${(await ofBytes.evaluate(x, y, { verbose: 0 })).toFixed(5)}`);

// The layers and the weights, for TensorFlow.js.
model.save(join(folder, 'tfjs/model.json'));
const ofTfjs = et.loadModel(join(folder, 'tfjs/model.json'));
console.log(`tfjs: parameters=${ofTfjs.countParams()}`);

// Only the weights.
model.saveWeights(join(folder, 'weights.safetensors'));
const same = twoLayers();
same.build([-1, 8]);
same.loadWeights(join(folder, 'weights.safetensors'));
same.compile({ loss: 'mse' });
console.log(`weights: loss=${(await same.evaluate(x, y, { verbose: 0 })).toFixed(5)}`);

// The layers without weights, in Keras's format.
const described = et.modelFromJson(model.toJson());
console.log(`described: parameters=${described.countParams()}`);

// A model with a layer of a custom class, which has a name in the folder.
class Scale extends et.Layer {
  constructor({ factor = 1, ...options } = {}) {
    super(options);
    this.factor = factor;
  }
  getConfig() {
    return { ...super.getConfig(), factor: this.factor };
  }
  call(x) {
    return et.ops.multiply(x, this.factor);
  }
}
et.registerClass(Scale, { package: 'guide' });
et.setRandomSeed(9);
const scaled = et.sequential([new Scale({ factor: 0.5 }), et.layers.dense({ units: 1 })]);
scaled.compile({ loss: 'mse' });
scaled.build([-1, 8]);
scaled.save(join(folder, 'scaled'));
console.log(`custom: loss=${(await et.loadModel(join(folder, 'scaled')).evaluate(x, y, { verbose: 0 })).toFixed(5)}`);

// The best weights during training.
const checkpoint = et.callbacks.modelCheckpoint({
  filepath: join(folder, 'best.safetensors'),
  monitor: 'loss',
  saveBestOnly: true,
  saveWeightsOnly: true,
});
await model.fit(x, y, { epochs: 2, verbose: 2, callbacks: [checkpoint] });

// The same program, started again, continues from there to the same bits.
const backup = et.callbacks.backupAndRestore({ backupDir: join(folder, 'backup') });
const interruption = {
  onEpochBegin(epoch) {
    if (epoch === 3) throw new Error('interrupted');
  },
};
const interrupted = twoLayers();
interrupted.compile({ optimizer: 'adam', loss: 'mse' });
try {
  await interrupted.fit(x, y, { epochs: 5, verbose: 2, callbacks: [interruption, backup] });
} catch (error) {
  console.log(error.message);
}
const again = twoLayers();
again.compile({ optimizer: 'adam', loss: 'mse' });
report('resumed', await again.fit(x, y, { epochs: 5, verbose: 2, callbacks: [backup] }));
rmSync(folder, { recursive: true });
