// Optimizers and schedules from JavaScript; the C++ tests check their values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([8, 3]);
const y = signsOf(x);

/** Weights after some epochs of one step each. */
async function trained(optimizer, options, epochs = 4) {
  const model = twoDense(options);
  model.compile({ optimizer, loss: 'mse' });
  const { history } = await model.fit(x, y, { ...quiet, epochs });
  return { model, weights: weightsOf(model), history };
}

test('every optimizer trains, by name and by function', async () => {
  for (const [name, make] of Object.entries(et.optimizers)) {
    // These are none without another.
    if (make === et.optimizers.lossScaleOptimizer || make === et.optimizers.multiOptimizer) continue;
    const { weights, history } = await trained(make({ learningRate: 0.01 }), {}, 40);
    assert.ok(history.loss[39] < history.loss[0], name);
    assert.deepEqual((await trained(name)).weights, (await trained(make())).weights, name);
    assert.ok(weights.every(Number.isFinite), name);
  }
});

test('multiOptimizer trains each variable by the optimizer of its name', async () => {
  const optimizer = et.optimizers.multiOptimizer({ defaultOptimizer: et.optimizers.sgd({ learningRate: 0 }), optimizerMap: { '.*bias': 'adam' } });
  const model = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
  model.compile({ optimizer, loss: 'mse' });
  await model.fit([[1], [2]], [[3], [5]], { ...quiet, epochs: 3 });
  const [kernel, bias] = model.getWeights();
  assert.equal(kernel.data[0], 1);
  assert.ok(bias.data[0] > 0);
});

test('a schedule returns its rate at any step, and is read once per step, from 0', async () => {
  const schedule = et.schedules.exponentialDecay({ initialLearningRate: 0.25, decaySteps: 1, decayRate: 0.5 });
  assert.deepEqual([0, 1, 2].map((step) => schedule.at(step)), [0.25, 0.125, 0.0625]);
  const model = summing();
  const optimizer = et.optimizers.sgd({ learningRate: schedule });
  model.compile({ optimizer, loss: 'mse' });
  assert.equal(optimizer.learningRate, 0.25);
  await model.fit([[1]], [[0]], { ...quiet, epochs: 2 });
  assertClose(weightsOf(model), [(1 - 2 * 0.25) * (1 - 2 * 0.125)]);
  assert.equal(optimizer.learningRate, 0.0625);
  await assertError(() => { optimizer.learningRate = 1; }, 'state', 'learningRate = 1', 'LearningRateSchedule');
});

test('all schedules, with their options in camelCase', () => {
  const { schedules } = et;
  const cases = [
    [schedules.piecewiseConstantDecay({ boundaries: [1, 3], values: [1, 0.5, 0.25] }), [1, 1, 0.5, 0.5, 0.25]],
    [schedules.polynomialDecay({ initialLearningRate: 1, decaySteps: 4, endLearningRate: 0 }), [1, 0.75, 0.5, 0.25, 0]],
    [schedules.inverseTimeDecay({ initialLearningRate: 1, decaySteps: 1, decayRate: 1 }), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]],
    [schedules.cosineDecay({ initialLearningRate: 0, decaySteps: 2, warmupTarget: 1, warmupSteps: 2 }), [0, 0.5, 1, 0.5, 0]],
    [schedules.cosineDecayRestarts({ initialLearningRate: 1, firstDecaySteps: 2, tMul: 1, mMul: 0.5 }), [1, 0.5, 0.5, 0.25, 0.25]],
  ];
  for (const [schedule, rates] of cases) assertClose(rates.map((_, step) => schedule.at(step)), rates);
});

test('averages replace the weights when fit ends', async () => {
  const model = summing();
  model.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.1, useEma: true, emaMomentum: 0.9 }), loss: 'mse' });
  await model.fit([[1]], [[0]], { ...quiet, epochs: 2 });
  assertClose(weightsOf(model), [0.9 * 0.8 + 0.1 * 0.64]);
  model.optimizer.finalizeVariableValues(model.trainableVariables);
  assertClose(weightsOf(model), [0.9 * 0.8 + 0.1 * 0.64]);
});

test('weight decay excludes the listed variables', async () => {
  const decayed = async (exclude) => {
    const model = summing();
    const optimizer = et.optimizers.sgd({ learningRate: 0.1, weightDecay: 0.5 });
    model.build([-1, 1]);
    exclude(optimizer, model);
    model.compile({ optimizer, loss: 'mse' });
    await model.fit([[1]], [[1]], quiet);
    return weightsOf(model);
  };
  // The gradient is 0 before the decay, where it is computed.
  assertClose(await decayed(() => {}), [0.95]);
  assertClose(await decayed((optimizer) => optimizer.excludeFromWeightDecay([], ['kern.l$'])), [1]);
  assertClose(await decayed((optimizer, model) => optimizer.excludeFromWeightDecay(model.trainableVariables)), [1]);
});

test('a custom step scales the loss', async () => {
  const scaled = {
    trainStep(data) {
      const yPred = this.call(data.x, true);
      const loss = this.computeLoss(data, yPred);
      this.optimizer.apply(et.gradients(this.optimizer.scaleLoss(loss), this.trainableVariables), this.trainableVariables);
      return this.computeMetrics(data, yPred, loss);
    },
  };
  const { weights } = await trained(et.optimizers.adam({ lossScaleFactor: 256 }), scaled);
  assertClose(weights, (await trained('adam')).weights);
});

test('options out of range are errors', async () => {
  await assertError(() => et.optimizers.adam({ clipnorm: 1, clipvalue: 1 }), 'value', '`clipnorm`, `clipvalue`');
  await assertError(() => et.optimizers.adam({ gradientAccumulationSteps: 1 }), 'value', 'gradientAccumulationSteps = 1');
  await assertError(() => et.optimizers.adam({ learningRate: 'fast' }), 'value', 'learningRate', 'LearningRateSchedule', 'et.schedules');
  await assertError(() => et.schedules.cosineDecay({ initialLearningRate: 1 }), 'value', 'decaySteps = 0');
  await assertError(() => et.optimizers.sgd().excludeFromWeightDecay([], ['(bias']), 'value', 'excludeFromWeightDecay of "(bias"', 'a regular expression', 'brackets');
});
