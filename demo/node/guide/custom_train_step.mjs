// Customizing fit, 1: a custom step. It replaces the computation for one batch; fit still runs the loop, callbacks, data and
// progress bar. The first model uses the options of compile(); the second computes its loss and metrics itself.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const twoLayers = () => [et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })];
const [x, y] = samples(1000);

et.setRandomSeed(1);
const custom = et.sequential(twoLayers(), {
  trainStep(data) {
    const yPred = this.call(data.x, true);
    const loss = this.computeLoss(data, yPred);
    this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
    return this.computeMetrics(data, yPred, loss);
  },
});
custom.compile({ optimizer: 'adam', loss: 'mse', metrics: ['mae'], checkTrace: true });
report('default loss', await custom.fit(x, y, { epochs: 3, verbose: 2 }));

et.setRandomSeed(1);
const lossTracker = et.metrics.mean({ name: 'loss' });
const errorTracker = et.metrics.mean({ name: 'mae' });
const lower = et.sequential(twoLayers(), {
  // These metrics are reset in each epoch, and in each evaluate().
  metrics: [lossTracker, errorTracker],
  trainStep(data) {
    const yPred = this.call(data.x, true);
    const loss = ops.mean(ops.square(ops.subtract(data.y, yPred)));
    this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
    lossTracker.update(loss);
    errorTracker.update(ops.absolute(ops.subtract(data.y, yPred)));
    return { loss: lossTracker.result(), mae: errorTracker.result() };
  },
});
lower.compile({ optimizer: 'adam', checkTrace: true });
report('own loss', await lower.fit(x, y, { epochs: 3, verbose: 2 }));
