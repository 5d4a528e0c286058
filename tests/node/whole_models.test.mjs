// Small versions of known architectures learn synthetic tasks: each promise is a loss or an accuracy.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { waves } from './support.mjs';
import { adam, classifier, draws, epochs, figure, lossRatio, squares } from './whole_samples.mjs';

const { layers, ops } = et;

const convolved = (x, filters, strides = 1) =>
  layers.batchNormalization().apply(layers.conv2d({ filters, kernelSize: 3, strides, padding: 'same', useBias: false }).apply(x));
const relu = (x) => layers.activation({ activation: 'relu' }).apply(x);
const dense = (units, activation) => layers.dense({ units, activation });

async function classifies(model, { x, corner }) {
  model.compile(classifier());
  await model.fit(x, corner, epochs(12));
  const accuracy = await figure(model, [x, corner], 'accuracy');
  assert.ok(accuracy > 0.95, `accuracy ${accuracy}`);
}

test('a residual network of three stages learns to classify images', async () => {
  et.setRandomSeed(1);
  const input = et.input({ shape: [12, 12, 1] });
  let x = relu(convolved(input, 8));
  for (const filters of [8, 16, 32]) {
    const strides = filters === 8 ? 1 : 2;
    const inner = convolved(relu(convolved(x, filters, strides)), filters);
    const shortcut = strides === 1 ? x : layers.conv2d({ filters, kernelSize: 1, strides: 2 }).apply(x);
    x = relu(layers.add().apply([inner, shortcut]));
  }
  await classifies(et.model({ inputs: [input], outputs: [dense(4).apply(layers.globalAveragePooling2d().apply(x))] }), squares(160));
});

test('a network of depthwise and pointwise convolutions learns to classify images', async () => {
  et.setRandomSeed(2);
  const blocks = [16, 32].flatMap((filters) => [
    layers.depthwiseConv2d({ kernelSize: 3, strides: 2, padding: 'same' }),
    layers.batchNormalization(),
    layers.relu({ maxValue: 6 }),
    layers.conv2d({ filters, kernelSize: 1, activation: 'relu6' }),
  ]);
  await classifies(et.sequential([layers.conv2d({ filters: 8, kernelSize: 3, padding: 'same' }), ...blocks, layers.flatten(), dense(4)]), squares(160));
});

test('a U-Net with connections across learns to segment images', async () => {
  et.setRandomSeed(3);
  const data = squares(96);
  const input = et.input({ shape: [12, 12, 1] });
  const wide = relu(convolved(input, 8));
  const low = relu(convolved(layers.maxPooling2d().apply(wide), 16));
  const up = layers.conv2dTranspose({ filters: 8, kernelSize: 3, strides: 2, padding: 'same' }).apply(low);
  const both = relu(convolved(layers.concatenate().apply([wide, up]), 8));
  const model = et.model({ inputs: [input], outputs: [layers.conv2d({ filters: 1, kernelSize: 1, activation: 'sigmoid' }).apply(both)] });
  model.compile({ optimizer: adam(0.01), loss: 'binary_crossentropy', metrics: [et.metrics.binaryIoU({ name: 'iou' })] });
  await model.fit(data.x, data.mask, epochs(12));
  const iou = await figure(model, [data.x, data.mask], 'iou');
  assert.ok(iou > 0.9, `IoU ${iou}`);
});

test('a bidirectional LSTM over masked words learns a sentiment', async () => {
  et.setRandomSeed(4);
  const samples = 192, words = 10, below = draws(11);
  const x = new Int32Array(samples * words), y = new Float32Array(samples);
  for (let i = 0; i < samples; ++i) {
    // Words up to 10 are bad, those above are good; 0 is padding at the end.
    const length = 4 + below(words - 3);
    let balance = 0;
    for (let j = 0; j < length; ++j) {
      const word = (x[i * words + j] = 1 + below(20));
      balance += word > 10 ? 1 : -1;
    }
    y[i] = Number(balance > 0);
  }
  const data = [et.tensor(x, [samples, words]), et.tensor(y, [samples, 1])];
  const model = et.sequential([layers.embedding({ inputDim: 21, outputDim: 8, maskZero: true }), layers.bidirectional({ layer: layers.lstm({ units: 8 }) }), dense(1, 'sigmoid')]);
  model.compile({ optimizer: adam(0.02), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  await model.fit(...data, epochs(25));
  const accuracy = await figure(model, data, 'accuracy');
  assert.ok(accuracy > 0.95, `accuracy ${accuracy}`);
});

/** A transformer block with causal self-attention. */
class Block extends et.Layer {
  constructor(width) {
    super();
    this.attention = layers.multiHeadAttention({ numHeads: 2, keyDim: width / 2 });
    this.norms = [layers.layerNormalization(), layers.layerNormalization()];
    this.network = [dense(2 * width, 'gelu'), dense(width)];
  }
  call(x, training) {
    const normal = this.norms[0].call(x);
    const attended = ops.add(x, this.attention.attend({ query: normal, value: normal, useCausalMask: true, training }).output);
    return ops.add(attended, this.network[1].call(this.network[0].call(this.norms[1].call(attended))));
  }
}

test('a causal transformer of characters learns a text', async () => {
  et.setRandomSeed(5);
  const text = 'the cat sat on the mat and the dog sat on the log; ';
  const count = text.length, length = 16, width = 16;
  const letters = (first) => Int32Array.from({ length: count * length }, (_, at) => text.charCodeAt((Math.floor(at / length) + (at % length) + first) % count) - 32);
  const x = et.tensor(letters(0), [count, length]), y = et.tensor(letters(1), [count, length]);
  const model = et.sequential([layers.embedding({ inputDim: 96, outputDim: width }), new Block(width), new Block(width), layers.layerNormalization(), dense(96)]);
  model.compile(classifier());
  const ratio = await lossRatio(model, x, y, 60);
  assert.ok(ratio < 0.15, `loss ratio ${ratio}`);

  // A later character changes no earlier prediction.
  const before = await model.predict(x, { verbose: 0 });
  const changed = letters(0);
  changed[length - 1] = 0;
  const after = await model.predict(et.tensor(changed, [count, length]), { verbose: 0 });
  const earlier = (length - 1) * 96;
  assert.deepEqual(after.data.slice(0, earlier), before.data.slice(0, earlier));
});

test('a transformer over vectorized texts learns who does what, and is saved with its vocabulary', async (t) => {
  et.setRandomSeed(7);
  await et.ready({ parts: ['preprocessing', 'saving'] });
  // The class is the order of two words: both classes have the same words, equally often.
  const samples = 160, length = 8, width = 16, below = draws(12);
  const oneOf = (words) => words[below(3)];
  const sentence = (a, verb, b, end) => `The ${a} ${verb} the ${b}${end}`;
  const labels = new Float32Array(samples);
  const texts = Array.from(labels, (_, i) => {
    labels[i] = below(2);
    const animal = oneOf(['dog', 'cat', 'cow']), human = oneOf(['man', 'boy', 'girl']), verb = oneOf(['sees', 'follows', 'likes']), end = oneOf(['.', ' today.', ' in the park!']);
    return labels[i] ? sentence(animal, verb, human, end) : sentence(human, verb, animal, end);
  });
  const vectorize = layers.textVectorization({ outputSequenceLength: length });
  await vectorize.adapt(texts);

  // Positions count from 1 on; that of padding is 0. So both embeddings have the mask, which attention and pooling use.
  const embedded = (inputDim, indices) => layers.embedding({ inputDim, outputDim: width, maskZero: true }).apply(indices);
  const places = et.tensor(Int32Array.from({ length }, (_, i) => i + 1));
  const input = et.input({ shape: [length], dtype: 'int32' });
  const positions = ops.multiply(ops.minimum(input, 1), places);
  const x = layers.add().apply([embedded(vectorize.vocabularySize(), input), embedded(length + 1, positions)]);
  const attended = layers.multiHeadAttention({ numHeads: 2, keyDim: width / 2 }).apply([x, x]);
  const normal = layers.layerNormalization().apply(layers.add().apply([x, attended]));
  const hidden = dense(width, 'relu').apply(layers.globalAveragePooling1d().apply(normal));
  const model = et.model({ inputs: [input], outputs: [dense(1, 'sigmoid').apply(hidden)] });
  model.compile({ optimizer: adam(0.01), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  const data = [vectorize.call(texts), et.tensor(labels, [samples, 1])];
  await model.fit(...data, epochs(20));
  const accuracy = await figure(model, data, 'accuracy');
  assert.ok(accuracy > 0.95, `accuracy ${accuracy}`);

  const questions = ['the cow likes the man', 'the man likes the cow', 'The COW follows a girl'];
  const answers = await model.predict(vectorize.call(questions), { verbose: 0 });
  assert.ok(answers.data[0] > 0.5 && answers.data[1] < 0.5, `answers ${answers.data}`);
  const folder = mkdtempSync(join(tmpdir(), 'etude-whole-'));
  t.after(() => rmSync(folder, { recursive: true }));
  model.save(join(folder, 'who.keras'));
  const vectorizeAgain = layers.deserialize(layers.serialize(vectorize));
  assert.deepEqual(vectorizeAgain.getVocabulary(), vectorize.getVocabulary());
  const again = await et.loadModel(join(folder, 'who.keras')).predict(vectorizeAgain.call(questions), { verbose: 0 });
  assert.deepEqual(again.data, answers.data);
});

test('a convolutional autoencoder learns to restore images', async () => {
  et.setRandomSeed(6);
  const data = squares(96);
  const model = et.sequential([
    layers.conv2d({ filters: 8, kernelSize: 3, strides: 2, padding: 'same', activation: 'relu' }),
    layers.flatten(),
    dense(24, 'relu'),
    dense(6 * 6 * 8, 'relu'),
    layers.reshape({ targetShape: [6, 6, 8] }),
    layers.upSampling2d(),
    layers.conv2d({ filters: 1, kernelSize: 3, padding: 'same', activation: 'sigmoid' }),
  ]);
  model.compile({ optimizer: adam(0.01), loss: 'binary_crossentropy' });
  const ratio = await lossRatio(model, data.x, data.mask, 40);
  assert.ok(ratio < 0.35, `loss ratio ${ratio}`);
});

test('a wide and deep model learns from looked up integers and numbers', async () => {
  et.setRandomSeed(5);
  await et.ready({ parts: ['preprocessing'] });
  const samples = 256, price = waves([samples, 2], 1);
  const shops = Array.from({ length: samples }, (_, i) => (i * 7) % 5);
  const shop = et.tensor(Int32Array.from(shops, (which) => 1000 + 13 * which), [samples, 1]);
  const bought = et.tensor(Float32Array.from(shops, (which, i) => Number(price.data[2 * i] + (which < 2 ? 0.5 : -0.5) > 0)), [samples, 1]);
  const ofShop = et.input({ shape: [1], dtype: 'int32' }), ofPrice = et.input({ shape: [2] });
  const known = layers.integerLookup({ vocabulary: [1000, 1013, 1026, 1039, 1052] }).apply(ofShop);
  const code = layers.flatten().apply(layers.embedding({ inputDim: 6, outputDim: 4 }).apply(known));
  const deep = dense(16, 'tanh').apply(layers.concatenate().apply([code, ofPrice]));
  const out = layers.add().apply([dense(1).apply(deep), dense(1).apply(ofPrice)]);
  const model = et.model({ inputs: [ofShop, ofPrice], outputs: [layers.activation({ activation: 'sigmoid' }).apply(out)] });
  model.compile({ optimizer: adam(0.02), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  await model.fit([shop, price], bought, epochs(40));
  const accuracy = await figure(model, [[shop, price], bought], 'accuracy');
  assert.ok(accuracy > 0.97, `accuracy ${accuracy}`);
});
