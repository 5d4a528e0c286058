// Customizing fit, 2: metrics of your own. A function of targets and predictions is enough where a mean over the samples is
// wanted; a step may report a value besides.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const [x, y] = samples(1000);

/** How often the prediction is nearer than 0.1: a mean of zeros and ones. */
const within_a_tenth = (yTrue, yPred) => ops.cast(ops.less(ops.absolute(ops.subtract(yTrue, yPred)), 0.1), 'float32');

et.setRandomSeed(2);
const model = et.sequential([et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })], {
  trainStep(data) {
    const yPred = this.call(data.x, true);
    this.addMetric(ops.mean(yPred), 'mean_prediction');
    const loss = this.computeLoss(data, yPred);
    this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
    return this.computeMetrics(data, yPred, loss);
  },
});
model.compile({ optimizer: 'adam', loss: 'mse', metrics: [within_a_tenth], checkTrace: true });
report('metrics', await model.fit(x, y, { epochs: 3, verbose: 2 }));
