// Customizing fit, 2: custom metrics. For a mean over the samples, a function of targets and predictions suffices; a
// class can have variables; a step may log further values.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const [x, y] = samples(1000);

/** The fraction of predictions with an error below 0.1: a mean of zeros and ones. */
const within_a_tenth = (yTrue, yPred) => ops.cast(ops.less(ops.absolute(ops.subtract(yTrue, yPred)), 0.1), 'float32');

/** The largest error of the epoch. */
class LargestError extends et.Metric {
  largest = this.addVariable({ name: 'largest' });

  updateState(yTrue, yPred) {
    const error = ops.max(ops.absolute(ops.subtract(yTrue, yPred)));
    this.largest.assign(ops.maximum(this.largest.read(), error));
  }
  result() {
    return this.largest.read();
  }
}

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
model.compile({ optimizer: 'adam', loss: 'mse', metrics: [within_a_tenth, new LargestError()], checkTrace: true });
report('metrics', await model.fit(x, y, { epochs: 3, verbose: 2 }));
