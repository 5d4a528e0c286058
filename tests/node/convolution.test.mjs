// Conv2D and MaxPooling2D from JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';

const image = [[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]]; // [1, 3, 3, 1]

test('a window is one number or two', () => {
  const summing = (options) => et.layers.conv2d({ filters: 1, kernelInitializer: 'ones', ...options }).call(image);
  assert.deepEqual(summing({ kernelSize: 2 }).array(), [[[[12], [16]], [[24], [28]]]]);
  assert.deepEqual(summing({ kernelSize: [1, 3] }).array(), [[[[6]], [[15]], [[24]]]]);
  assert.deepEqual(summing({ kernelSize: 2, strides: [1, 2], padding: 'same' }).shape, [1, 3, 2, 1]);
  assert.deepEqual(summing({ kernelSize: 2, dilationRate: 2 }).array(), [[[[1 + 3 + 7 + 9]]]]);
});

test('pooling returns the maximum of each window', () => {
  assert.deepEqual(et.layers.maxPooling2d({ poolSize: 2, strides: 1 }).call(image).array(), [[[[5], [6]], [[8], [9]]]]);
  assert.deepEqual(et.layers.maxPooling2d({ padding: 'same' }).call(image).array(), [[[[5], [6]], [[8], [9]]]]);
  assert.deepEqual(et.layers.maxPooling2d({ poolSize: [3, 1] }).call(image).array(), [[[[7], [8], [9]]]]);
  assert.deepEqual(et.layers.maxPooling2d().call(image).array(), [[[[5]]]]);
});

test('errors of convolutions are spelled in JavaScript', () => {
  assert.throws(() => et.layers.conv2d({ filters: 1, kernelSize: [1, 2, 3] }), { message: /kernelSize.*each of 2/s });
  assert.throws(() => et.layers.conv2d({ filters: 1, kernelSize: 'large' }), { message: /kernelSize/ });
  assert.throws(() => et.layers.conv2d({ filters: 1, kernelSize: 3 }).call(image[0]), { message: /\[3, 3, 1\].*reshape/ });
  assert.throws(() => et.layers.maxPooling2d({ poolSize: 4 }).call(image), { message: /4 x 4.*3 x 3/ });
});

test('a model of convolutions learns which half is brighter', async () => {
  const pixels = Array.from({ length: 16 }, (_, n) => Array.from({ length: 8 }, (_, i) =>
    Array.from({ length: 8 }, (_, j) => [Math.sin(n + 3 * i + 5 * j) + ((i < 4) === (n % 2 === 0) ? 2 : 0)])));
  const classes = pixels.map((_, n) => n % 2);
  et.setRandomSeed(2);
  const model = et.sequential([
    et.layers.conv2d({ filters: 4, kernelSize: 3, activation: 'relu' }), et.layers.maxPooling2d(),
    et.layers.flatten(), et.layers.dense({ units: 2, activation: 'softmax' }),
  ]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.02 }), loss: 'sparse_categorical_crossentropy' });
  const { history } = await model.fit(pixels, classes, { epochs: 20, batchSize: 8, verbose: 0 });
  assert.ok(history.loss.at(-1) < 0.3 * history.loss[0], String(history.loss));
});
