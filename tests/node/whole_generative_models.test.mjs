// Models with steps of their own, and losses that compare samples or sequences, learn synthetic tasks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { waves } from './support.mjs';
import { adam, draws, epochs, ring } from './whole_samples.mjs';

const { layers, ops } = et;
const hidden = (units) => layers.dense({ units, activation: 'tanh' });
const linear = (units) => layers.dense({ units });
const mean = (name) => et.metrics.mean({ name });
const squaredMean = (x) => ops.mean(ops.square(x));
/** Random numbers of the normal distribution, in the shape of `like`. */
const drawn = (noise, like) => noise.call(ops.multiply(like, 0), true);

/** One step of an optimizer. */
function minimize(optimizer, loss, variables) {
  optimizer.apply(et.gradients(loss, variables), variables);
}

test('a variational autoencoder restores points, and its codes stay near the normal distribution', async () => {
  et.setRandomSeed(1);
  const encoder = et.sequential([hidden(16), linear(4)]), decoder = et.sequential([hidden(16), linear(2)]);
  const noise = layers.gaussianNoise({ stddev: 1 });
  const restoredMean = mean('restored'), divergenceMean = mean('divergence');
  const model = et.model({
    layers: [encoder, decoder, noise],
    metrics: [restoredMean, divergenceMean],
    call: (x, training) => decoder.call(ops.slice(encoder.call(x, training), -1, 0, 2), training),
    trainStep({ x }) {
      const code = encoder.call(x, true);
      const [center, logVariance] = ops.split(code, 2, -1);
      const draw = ops.add(center, ops.multiply(ops.exp(ops.multiply(0.5, logVariance)), drawn(noise, center)));
      const restored = squaredMean(ops.subtract(decoder.call(draw, true), x));
      const terms = ops.subtract(ops.add(ops.square(center), ops.exp(logVariance)), ops.add(logVariance, 1));
      const divergence = ops.mean(ops.multiply(0.5, terms));
      minimize(this.optimizer, ops.add(restored, ops.multiply(0.02, divergence)), this.trainableVariables);
      restoredMean.update(restored);
      divergenceMean.update(divergence);
      return { restored: restoredMean.result(), divergence: divergenceMean.result() };
    },
  });
  model.compile({ optimizer: adam(0.02) });
  const { history } = await model.fit(ring(256), undefined, epochs(60));
  assert.ok(history.restored.at(-1) < 0.2 * history.restored[0], `${history.restored.at(-1)} after ${history.restored[0]}`);
  assert.ok(history.divergence.at(-1) < 5);
});

test("a Wasserstein GAN with gradient penalty keeps the critic's slope near 1, and approaches the data", async () => {
  et.setRandomSeed(2);
  const critic = et.sequential([hidden(32), hidden(32), linear(1)]), generator = et.sequential([hidden(32), linear(2)]);
  generator.build([-1, 2]);
  const noise = layers.gaussianNoise({ stddev: 1 });
  const generatorOptimizer = adam(0.002);
  const slopeMean = mean('slope'), distanceMean = mean('distance');
  const generate = (like) => generator.call(drawn(noise, like), true);
  const model = et.model({
    layers: [critic, generator, noise],
    metrics: [slopeMean, distanceMean],
    call: (x, training) => critic.call(x, training),
    trainStep({ x: real }) {
      const made = ops.stopGradient(generate(real));
      const between = ops.multiply(0.5, ops.add(real, made));
      const [byInput] = et.gradients(ops.sum(critic.call(between, true)), [between]);
      const slope = ops.sqrt(ops.add(ops.sum(ops.square(byInput), [-1]), 1e-12));
      const distance = ops.subtract(ops.mean(critic.call(real, true)), ops.mean(critic.call(made, true)));
      const penalty = squaredMean(ops.subtract(slope, 1));
      minimize(this.optimizer, ops.subtract(ops.multiply(10, penalty), distance), critic.trainableVariables);
      minimize(generatorOptimizer, ops.negate(ops.mean(critic.call(generate(real), true))), generator.trainableVariables);
      slopeMean.update(slope);
      distanceMean.update(distance);
      return { slope: slopeMean.result(), distance: distanceMean.result() };
    },
  });
  model.compile({ optimizer: adam(0.005) });
  const { history } = await model.fit(ring(256), undefined, epochs(60));
  assert.ok(history.slope[0] < 0.95);
  assert.ok(history.slope.at(-1) > 0.8 && history.slope.at(-1) < 1.2, `slope ${history.slope.at(-1)}`);
  assert.ok(history.distance.at(-1) < 0.6 * Math.max(...history.distance));
});

test('a convolutional GAN learns which half of its images is bright', async () => {
  et.setRandomSeed(6);
  const convolution = { filters: 8, kernelSize: 3, strides: 2, padding: 'same', activation: 'leaky_relu' };
  const discriminator = et.sequential([layers.conv2d(convolution), layers.flatten(), linear(1)]);
  const generator = et.sequential([
    layers.dense({ units: 4 * 4 * 8, activation: 'leaky_relu' }),
    layers.reshape({ targetShape: [4, 4, 8] }),
    layers.conv2dTranspose(convolution),
    layers.conv2d({ filters: 1, kernelSize: 3, padding: 'same', activation: 'sigmoid' }),
  ]);
  generator.build([-1, 8]);
  const noise = layers.gaussianNoise({ stddev: 1 });
  const generatorOptimizer = adam(0.004, { beta1: 0.5 });
  const errorMean = mean('error');
  const model = et.model({
    layers: [discriminator, generator, noise],
    metrics: [errorMean],
    call: (x, training) => discriminator.call(x, training),
    trainStep({ x: real }) {
      const made = () => generator.call(drawn(noise, ops.zeros([real.shape[0], 8])), true);
      const loss = (images, label) => {
        const logits = discriminator.call(images, true);
        return ops.mean(ops.sigmoidCrossentropy(logits, ops.add(ops.multiply(logits, 0), label)));
      };
      const error = ops.multiply(0.5, ops.add(loss(real, 0.9), loss(ops.stopGradient(made()), 0)));
      minimize(this.optimizer, error, discriminator.trainableVariables);
      minimize(generatorOptimizer, loss(made(), 1), generator.trainableVariables);
      errorMean.update(error);
      return { error: errorMean.result() };
    },
  });
  model.compile({ optimizer: adam(0.002, { beta1: 0.5 }) });
  // The left half is dark, the right half is bright.
  const images = Float32Array.from({ length: 128 * 64 }, (_, i) => (i % 8 < 4 ? 0.1 : 0.8) + 0.1 * Math.sin(i));
  await model.fit(et.tensor(images, [128, 8, 8, 1]), undefined, epochs(60));
  const made = (await generator.predict(waves([32, 8]), { verbose: 0 })).data;
  const brightness = (isHalf) => made.reduce((sum, value, i) => sum + (isHalf(i % 8) ? value : 0), 0) / (made.length / 2);
  assert.ok(brightness((column) => column < 4) < 0.35);
  assert.ok(brightness((column) => column >= 4) > 0.6);
});

test('a network trained by Circle draws samples of one class together', async () => {
  et.setRandomSeed(3);
  const samples = 128;
  // Four noisy directions of eight numbers.
  const numbers = waves([samples, 8], 3).data;
  for (let i = 0; i < samples; ++i) numbers[8 * i + (i % 4)] += 1.5;
  const x = et.tensor(numbers, [samples, 8]), labels = et.tensor(Int32Array.from({ length: samples }, (_, i) => i % 4));
  const model = et.sequential([layers.dense({ units: 16, activation: 'relu' }), linear(4), layers.unitNormalization()]);
  model.compile({ optimizer: adam(0.01), loss: et.losses.circle({ gamma: 10 }) });
  await model.fit(x, labels, epochs(40));
  const codes = (await model.predict(x, { verbose: 0 })).array();
  const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const nearest = (i) => codes.reduce((best, code, j) => (j !== i && (best < 0 || cosine(code, codes[i]) > cosine(codes[best], codes[i])) ? j : best), -1);
  const right = codes.filter((_, i) => nearest(i) % 4 === i % 4).length;
  assert.ok(right > 0.95 * samples, `${right} of ${samples}`);
});

test('a GRU trained by CTC reads sequences of symbols without their positions', async () => {
  et.setRandomSeed(4);
  const samples = 96, steps = 12, symbols = 3, below = draws(9);
  const x = new Float32Array(samples * steps * symbols), labels = new Int32Array(samples * 3);
  for (let i = 0; i < samples; ++i) {
    let step = below(2);
    for (let j = 0; j < 3; ++j) {
      const symbol = below(symbols);
      labels[3 * i + j] = symbol + 1;
      // A symbol is shown for two steps.
      for (const end = step + 2; step < end; ++step) x[(i * steps + step) * symbols + symbol] = 1;
      step += 1 + below(2);
    }
  }
  const model = et.sequential([layers.gru({ units: 24, returnSequences: true }), linear(symbols + 1)]);
  model.compile({ optimizer: adam(0.02), loss: 'ctc' });
  const { history } = await model.fit(et.tensor(x, [samples, steps, symbols]), et.tensor(labels, [samples, 3]), epochs(60));
  assert.ok(history.loss.at(-1) < 0.1 * history.loss[0], `${history.loss.at(-1)} after ${history.loss[0]}`);
});
