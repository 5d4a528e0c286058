// Half precision from JavaScript; the C++ tests check its values.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, signsOf, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([8, 3]);
const y = signsOf(x);

afterEach(() => et.setDtypePolicy(''));

/** Whether a number has no more than the 8 digits of bfloat16. */
const isBfloat16 = (number) => (new Uint32Array(Float32Array.of(number).buffer)[0] & 0xffff) === 0;

async function trained(optimizer) {
  et.setRandomSeed(3);
  const model = et.sequential([et.layers.dense({ units: 4, activation: 'tanh' }), et.layers.dense({ units: 1, dtype: 'float32' })]);
  model.compile({ optimizer, loss: 'mse' });
  const { history } = await model.fit(x, y, { ...quiet, epochs: 20 });
  return { weights: weightsOf(model), history };
}

test('layers made under a mixed policy compute in half precision, and predictions are float32', async () => {
  assert.equal(et.dtypePolicy(), 'float32');
  et.setDtypePolicy('mixed_bfloat16');
  assert.equal(et.dtypePolicy(), 'mixed_bfloat16');
  const model = et.sequential([et.layers.dense({ units: 4 })]);
  const predictions = await model.predict(x, quiet);
  assert.equal(predictions.dtype, 'float32');
  assert.ok(predictions.data.every(isBfloat16));
  assert.ok(weightsOf(model).some((weight) => !isBfloat16(weight)));
});

test('a layer can have its own policy', async () => {
  const predictions = async (dtype) => (await et.sequential([et.layers.dense({ units: 4, dtype })]).predict(x, quiet)).data;
  assert.ok((await predictions('mixed_bfloat16')).every(isBfloat16));
  assert.ok(!(await predictions('float32')).every(isBfloat16));
});

test('a model trains in either half precision', async () => {
  for (const policy of ['mixed_bfloat16', 'mixed_float16']) {
    et.setDtypePolicy('');
    const full = await trained('adam');
    et.setDtypePolicy(policy);
    const mixed = await trained('adam');
    assert.ok(mixed.history.loss[19] < mixed.history.loss[0], policy);
    assert.notDeepEqual(mixed.weights, full.weights, policy);
    assert.ok(Math.abs(mixed.history.loss[19] - full.history.loss[19]) < 0.01, policy);
  }
});

test('a loss is scaled by the optimizer\'s option, and by a custom step', async () => {
  et.setDtypePolicy('mixed_float16');
  const optimizer = () => et.optimizers.lossScaleOptimizer({ innerOptimizer: et.optimizers.sgd({ learningRate: 0.1 }), initialScale: 8, dynamicGrowthSteps: 2 });
  const { history } = await trained(optimizer());
  assert.ok(history.loss[19] < history.loss[0]);

  const stepping = (scaled) => {
    const model = et.sequential([et.layers.dense({ units: 1 })], {
      trainStep(data) {
        const yPred = this.call(data.x, true);
        const loss = this.computeLoss(data, yPred);
        this.optimizer.apply(et.gradients(scaled ? this.optimizer.scaleLoss(loss) : loss, this.trainableVariables), this.trainableVariables);
        return this.computeMetrics(data, yPred, loss);
      },
    });
    model.compile({ optimizer: 'sgd', loss: 'mse' });
    return model;
  };
  await stepping(true).trainOnBatch(x, y);
  await assertError(() => stepping(false).trainOnBatch(x, y), 'state', 'scaleLoss');
});

test('an unknown policy, and a missing inner optimizer, are errors', async () => {
  await assertError(() => et.setDtypePolicy('half'), 'dtype', '"half"', 'mixed_bfloat16');
  await assertError(() => et.setDtypePolicy('float64'), 'dtype', 'float32 only');
  await assertError(() => et.optimizers.lossScaleOptimizer({}), 'value', 'no innerOptimizer');
});
