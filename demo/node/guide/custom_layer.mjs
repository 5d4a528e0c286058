// Customizing models: a custom layer, loss and callback.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const [x, y] = samples(1000);
et.setRandomSeed(8);

/** x times a number for each feature: [.., n] -> [.., n]. */
class Gain extends et.Layer {
  build(inputShape) {
    this.factors = this.addWeight({ name: 'gain', shape: [inputShape.at(-1)], initializer: 'ones' });
  }
  call(x) {
    return ops.multiply(x, this.factors.read());
  }
}

/** Errors to the power of 1.5: one number for each sample, [batch]. */
function between(yTrue, yPred) {
  const error = ops.absolute(ops.subtract(yTrue, yPred));
  return ops.mean(ops.multiply(error, ops.sqrt(ops.add(error, 1e-7))), [-1]);
}

/** Stops training at a loss below 0.03. Hooks may be asynchronous. */
const goodEnough = {
  onEpochEnd(epoch, logs) {
    if (logs.loss >= 0.03) return;
    console.log(`epoch ${epoch + 1} is good enough`);
    this.model.stopTraining = true;
  },
};

const model = et.sequential([et.layers.dense({ units: 32, activation: 'relu' }), new Gain(), et.layers.dense({ units: 1 })]);
model.compile({ optimizer: 'adam', loss: between, checkTrace: true });
report('own layer', await model.fit(x, y, { epochs: 20, verbose: 2, callbacks: [goodEnough] }));
console.log(`parameters: count=${model.countParams()}`);
