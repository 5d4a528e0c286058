// Optimizers of classes that extend et.Optimizer.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, collect, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const { ops } = et;
const x = waves([8, 3]);
const y = signsOf(x);
const quiet = { verbose: 0, shuffle: false };

class Momentum extends et.Optimizer {
  build(variables) {
    for (const variable of variables) this.addVariableFromReference(variable, 'momentum');
  }
  updateStep(gradient, variable, learningRate) {
    const momentum = this.getSlot(variable, 'momentum');
    momentum.assign(ops.subtract(ops.multiply(momentum.read(), 0.9), ops.multiply(learningRate, gradient)));
    variable.assign(ops.add(variable.read(), momentum.read()));
  }
}
/** Adam without its protection against cancellation. */
class Moments extends et.Optimizer {
  build(variables) {
    for (const variable of variables) for (const name of ['first', 'second']) this.addVariableFromReference(variable, name);
  }
  updateStep(gradient, variable, learningRate) {
    const t = this.stepNumber();
    const moment = (name, beta, value) => {
      const slot = this.getSlot(variable, name);
      slot.assign(ops.add(ops.multiply(slot.read(), beta), ops.multiply(value, 1 - beta)));
      return ops.divide(slot.read(), ops.subtract(1, ops.power(ops.scalar(beta, t), t)));
    };
    const first = moment('first', 0.9, gradient), second = moment('second', 0.999, ops.square(gradient));
    variable.assign(ops.subtract(variable.read(), ops.divide(ops.multiply(learningRate, first), ops.add(ops.sqrt(second), 1e-7))));
  }
}
const sgd = (options) => et.optimizers.sgd({ momentum: 0.9, ...options });

async function trained(optimizer, make = twoDense, given = {}) {
  const model = make();
  model.compile({ optimizer, loss: 'mse' });
  const { history } = await model.fit(x, y, { ...quiet, epochs: 4, batchSize: 4, ...given });
  return { model, loss: history.loss, weights: weightsOf(model) };
}

test('a custom optimizer updates as the built-in optimizer of the same formula', async () => {
  const [own, builtIn] = [await trained(new Momentum({ learningRate: 0.1 })), await trained(sgd({ learningRate: 0.1 }))];
  assertClose(own.loss, builtIn.loss);
  assertClose(own.weights, builtIn.weights);
  assert.notDeepEqual(own.weights, (await trained(et.optimizers.sgd({ learningRate: 0.1 }))).weights);
  assertClose((await trained(new Moments({ learningRate: 0.01 }))).weights, (await trained(et.optimizers.adam({ learningRate: 0.01 }))).weights, 1e-5);
});

test('schedules, clipping, decay, averages, accumulation and the scale of the loss apply to custom optimizers', async () => {
  const each = [
    { learningRate: et.schedules.exponentialDecay({ initialLearningRate: 0.2, decaySteps: 3, decayRate: 0.5 }) },
    { clipnorm: 0.05 },
    { clipvalue: 0.01 },
    { globalClipnorm: 0.05 },
    { weightDecay: 0.5 },
    { useEma: true, emaMomentum: 0.5 },
    { gradientAccumulationSteps: 2 },
    { lossScaleFactor: 16 },
  ];
  const plain = await trained(new Momentum({ learningRate: 0.1 }));
  for (const options of each) {
    const [own, builtIn] = [await trained(new Momentum({ learningRate: 0.1, ...options })), await trained(sgd({ learningRate: 0.1, ...options }))];
    assertClose(own.weights, builtIn.weights);
    if (!options.lossScaleFactor) assert.notDeepEqual(own.weights, plain.weights, JSON.stringify(options));
  }
  const constrained = () => et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'ones', kernelConstraint: 'non_neg' })]);
  assertClose((await trained(new Momentum({ learningRate: 2 }), constrained)).weights, (await trained(sgd({ learningRate: 2 }), constrained)).weights);
  const scaled = (inner) => et.optimizers.lossScaleOptimizer({ innerOptimizer: inner, initialScale: 8 });
  assertClose((await trained(scaled(new Momentum({ learningRate: 0.1 })))).weights, plain.weights, 1e-5);
});

test('the model gives the object of a custom optimizer, which has the properties of all optimizers', async () => {
  const optimizer = new Momentum({ learningRate: 0.25 });
  assert.deepEqual([optimizer.name, optimizer.className, optimizer.learningRate, optimizer.iterations], ['momentum', 'Momentum', 0.25, 0]);
  assert.equal(new Momentum({ name: 'mine' }).name, 'mine');
  const { model } = await trained(optimizer);
  assert.equal(model.optimizer, optimizer);
  assert.equal(optimizer.iterations, 8);
  const slots = model.trainableVariables.map((variable) => `momentum/${variable.name}_momentum`);
  assert.deepEqual(optimizer.variables.map((variable) => variable.name), ['momentum/iterations', 'momentum/learning_rate', ...slots]);
  assert.deepEqual(optimizer.variables.slice(2).map((variable) => variable.shape), model.trainableVariables.map((variable) => variable.shape));
  assert.deepEqual(optimizer.getSlot(model.trainableVariables[0], 'momentum').value().data, optimizer.variables[2].value().data);
  // A new rate takes effect without a trace.
  const before = weightsOf(model);
  optimizer.learningRate = 0;
  optimizer.variables.slice(2).forEach((slot) => slot.assign(new et.Tensor(new Float32Array(slot.value().size), slot.shape)));
  await model.fit(x, y, quiet);
  assert.deepEqual(weightsOf(model), before);
});

test('a custom optimizer updates within a custom step, and among several', async () => {
  const step = (optimizer) => () =>
    twoDense({
      trainStep(data) {
        const yPred = this.call(data.x, true), loss = this.computeLoss(data, yPred);
        optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
        return { loss };
      },
    });
  const own = new Momentum({ learningRate: 0.1 }), builtIn = sgd({ learningRate: 0.1 });
  assertClose((await trained('sgd', step(own))).weights, (await trained('sgd', step(builtIn))).weights);
  const several = (make) => et.optimizers.multiOptimizer({ defaultOptimizer: 'sgd', optimizerMap: { bias: make({ learningRate: 0.1 }) } });
  assertClose((await trained(several((options) => new Momentum(options)))).weights, (await trained(several(sgd))).weights);
});

test('build has new variables once, and each update is traced once', async () => {
  const built = [];
  let updates = 0;
  class Counted extends Momentum {
    build(variables) {
      built.push(variables.map((variable) => variable.shape));
      super.build(variables);
    }
    updateStep(...given) {
      ++updates;
      super.updateStep(...given);
    }
  }
  const { model } = await trained(new Counted());
  await model.fit(x, y, { ...quiet, batchSize: 4, epochs: 3 });
  assert.deepEqual(built, [[[3, 4], [4], [4, 1], [1]]]);
  assert.equal(updates, 4);
});

test('slots may start at other values', async () => {
  class Started extends Momentum {
    build(variables) {
      for (const variable of variables) this.addVariableFromReference(variable, 'momentum', et.initializers.constant({ value: 0.5 }));
    }
  }
  const model = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'zeros', useBias: false })]);
  model.compile({ optimizer: new Started({ learningRate: 0 }), loss: 'mse' });
  model.trainOnBatch(x, y);
  assertClose(weightsOf(model), [0.45, 0.45, 0.45]);
});

test('a fit with a custom optimizer continues after an interruption to the same bits', async () => {
  const whole = await trained(new Momentum(), twoDense, { epochs: 4 });
  const folder = mkdtempSync(join(tmpdir(), 'etude-custom-'));
  try {
    const callbacks = () => [et.callbacks.backupAndRestore({ backupDir: join(folder, 'backup'), deleteCheckpoint: false })];
    await trained(new Momentum(), twoDense, { epochs: 2, callbacks: callbacks() });
    const epochs = [];
    const again = await trained(new Momentum(), twoDense, { epochs: 4, callbacks: [...callbacks(), { onEpochBegin: (epoch) => epochs.push(epoch) }] });
    assert.deepEqual(epochs, [2, 3]);
    assert.deepEqual(again.weights, whole.weights);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('misuse of a custom optimizer is an error', async () => {
  const error = new RangeError('mine');
  class Failing extends Momentum {
    updateStep() {
      throw error;
    }
  }
  await assert.rejects(() => trained(new Failing()), (thrown) => thrown === error);
  class Unbuilt extends Momentum {
    build() {
      throw error;
    }
  }
  await assert.rejects(() => trained(new Unbuilt()), (thrown) => thrown === error);
  class Slotless extends Momentum {
    build() {}
  }
  await assertError(() => trained(new Slotless()), 'state', '[getSlot] no "momentum" of "', 'call addVariableFromReference() there');
  class Later extends Momentum {
    async updateStep() {}
  }
  await assertError(() => trained(new Later()), 'value', '[updateStep] a promise was returned');
  await assertError(() => new Momentum({ momentum: 0.9 }), 'value', 'unknown option "momentum"');
  await assertError(() => new Momentum({ clipnorm: 1, clipvalue: 1 }), 'value', '2 ways of clipping');
  for (const optimizer of [new Momentum(), et.optimizers.lossScaleOptimizer({ innerOptimizer: new Momentum() })]) {
    const { model } = await trained(optimizer);
    await assertError(() => model.save('unused'), 'value', 'an optimizer of the class Momentum, which is not registered', 'call et.registerClass(Momentum)');
  }
});

test('a build that failed is repeated, and makes each slot once', async () => {
  let fails = true;
  class Unsteady extends Momentum {
    build(variables) {
      super.build(variables);
      if (fails) throw new Error('once');
    }
  }
  const model = twoDense(), optimizer = new Unsteady({ learningRate: 0.1 });
  model.compile({ optimizer, loss: 'mse' });
  assert.throws(() => model.trainOnBatch(x, y), /once/);
  fails = false;
  for (let i = 0; i < 3; ++i) model.trainOnBatch(x, y);
  assert.equal(optimizer.variables.length, 2 + 4);
  const builtIn = twoDense();
  builtIn.compile({ optimizer: sgd({ learningRate: 0.1 }), loss: 'mse' });
  for (let i = 0; i < 3; ++i) builtIn.trainOnBatch(x, y);
  assertClose(weightsOf(model), weightsOf(builtIn));
});

test('a custom optimizer, its object and its slots are collected with the model', async () => {
  const registry = [];
  const make = () => {
    const optimizer = new Momentum();
    registry.push(new WeakRef(optimizer));
    const model = et.sequential([et.layers.dense({ units: 1000 }), et.layers.dense({ units: 1 })]);
    model.compile({ optimizer, loss: 'mse' });
    return model;
  };
  const kept = make();
  await collect();
  assert.ok(kept.optimizer instanceof Momentum);
  await kept.fit(x, y, quiet);
  for (let i = 0; i < 10; ++i) await make().fit(x, y, quiet);
  await collect();
  const before = et.memory().usedBytes;
  for (let i = 0; i < 50; ++i) await make().fit(x, y, quiet);
  await collect();
  assert.ok(registry.filter((each) => each.deref()).length < 10, 'objects remain');
  assert.ok(et.memory().usedBytes < before + 100_000, `${et.memory().usedBytes - before} bytes more`);
});
