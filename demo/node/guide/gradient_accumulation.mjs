// Customizing fit, 4: gradients accumulated over several batches, and applied once. Optimizers have the option
// gradientAccumulationSteps for this; here it shows state in a step: variables, and selection without branches.
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const { ops } = et;
const steps = 4;
const rate = 0.1;
const twoLayers = () => {
  et.setRandomSeed(4);
  return [et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })];
};
const [x, y] = samples(960);

const zeros = (shape) => et.tensor(new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
const seen = et.variable(zeros([]), false, 'seen');
let sums;
const own = et.sequential(twoLayers(), {
  trainStep(data) {
    const yPred = this.call(data.x, true);
    const loss = this.computeLoss(data, yPred);
    const variables = this.trainableVariables;
    sums ??= variables.map(({ name, shape }) => et.variable(zeros(shape), false, `${name}/sum`));

    const count = ops.add(seen.read(), 1);
    const due = ops.equal(count, steps);
    et.gradients(loss, variables).forEach((gradient, i) => {
      const sum = ops.add(sums[i].read(), gradient);
      const weight = variables[i].read();
      variables[i].assign(ops.where(due, ops.subtract(weight, ops.multiply(sum, rate / steps)), weight));
      sums[i].assign(ops.where(due, ops.multiply(sum, 0), sum));
    });
    seen.assign(ops.where(due, ops.multiply(count, 0), count));
    return this.computeMetrics(data, yPred, loss);
  },
});
own.compile({ loss: 'mse', checkTrace: true });
report('written out', await own.fit(x, y, { epochs: 3, verbose: 2, shuffle: false }));

const builtIn = et.sequential(twoLayers());
builtIn.compile({ optimizer: et.optimizers.sgd({ learningRate: rate, gradientAccumulationSteps: steps }), loss: 'mse', checkTrace: true });
report('by the optimizer', await builtIn.fit(x, y, { epochs: 3, verbose: 2, shuffle: false }));
