// Customizing fit, 3: sample weights in a custom step. data.sampleWeight holds the sample weights of fit, the class weights of
// the targets, or their product; it is undefined without either.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const [x, y] = samples(1000);

et.setRandomSeed(3);
const lossTracker = et.metrics.mean({ name: 'loss' });
const model = et.sequential([et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })], {
  metrics: [lossTracker],
  trainStep({ x, y, sampleWeight }) {
    const yPred = this.call(x, true);
    let errors = ops.mean(ops.square(ops.subtract(y, yPred)), [-1]);
    if (sampleWeight) errors = ops.multiply(errors, sampleWeight);
    const loss = ops.mean(errors);
    this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
    lossTracker.update(loss);
    return { loss: lossTracker.result() };
  },
});
model.compile({ optimizer: 'adam', checkTrace: true });
// Positive targets count three times.
const sampleWeight = y.data.map((target) => (target > 0 ? 3 : 1));
report('weighted', await model.fit(x, y, { sampleWeight, epochs: 3, verbose: 2 }));
report('unweighted', await model.fit(x, y, { epochs: 1, verbose: 2 }));
