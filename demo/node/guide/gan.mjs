// Customizing fit, 5: two networks and two optimizers in one step. The discriminator learns to distinguish images of
// Fashion-MNIST from generated ones; the generator learns to deceive it.
import * as et from 'etude-ml';
import { images, report } from './samples.mjs';

const { layers, ops } = et;
const latent = 32;

et.setRandomSeed(5);
const noise = layers.gaussianNoise({ stddev: 1 });
const discriminator = et.sequential([layers.dense({ units: 128, activation: 'leaky_relu' }), layers.dropout({ rate: 0.3 }), layers.dense({ units: 1 })]);
const generator = et.sequential([layers.dense({ units: 128, activation: 'leaky_relu' }), layers.dense({ units: 784, activation: 'sigmoid' })]);
generator.build([-1, latent]);
const generatorOptimizer = et.optimizers.adam({ learningRate: 0.0003 });
const dLoss = et.metrics.mean({ name: 'd_loss' });
const gLoss = et.metrics.mean({ name: 'g_loss' });

const lossOf = (labels, logits) => ops.mean(ops.sigmoidCrossentropy(logits, labels));
const generate = (batch) => generator.call(noise.call(ops.zeros([batch, latent]), true), true);

const gan = et.model({
  layers: [discriminator, generator, noise],
  metrics: [dLoss, gLoss],
  /** The logits of images being real: the output of predict(). */
  call: (x, training) => discriminator.call(x, training),
  trainStep({ x: real }) {
    const [batch] = real.shape;
    const yes = ops.ones([batch, 1]);
    const no = ops.zeros([batch, 1]);

    const verdicts = discriminator.call(ops.concatenate([real, generate(batch)], 0), true);
    const discriminatorLoss = lossOf(ops.concatenate([yes, no], 0), verdicts);
    this.optimizer.apply(et.gradients(discriminatorLoss, discriminator.trainableVariables), discriminator.trainableVariables);

    // The updated discriminator classifies new images; only the generator's weights change.
    const generatorLoss = lossOf(yes, discriminator.call(generate(batch), true));
    generatorOptimizer.apply(et.gradients(generatorLoss, generator.trainableVariables), generator.trainableVariables);

    dLoss.update(discriminatorLoss);
    gLoss.update(generatorLoss);
    return { d_loss: dLoss.result(), g_loss: gLoss.result() };
  },
});
gan.compile({ optimizer: et.optimizers.adam({ learningRate: 0.0003 }), checkTrace: true });
report('gan', await gan.fit(await images(4096), undefined, { batchSize: 64, epochs: 3, verbose: 2 }));
