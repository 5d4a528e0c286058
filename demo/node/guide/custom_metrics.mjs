// Customizing fit, 2: custom metrics. For a mean over the samples, a function of targets and predictions suffices; a step
// may log further values.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const [x, y] = samples(1000);

/** The fraction of predictions with an error below 0.1: a mean of zeros and ones. */
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
