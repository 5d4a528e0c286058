// Losses, metrics, initializers, regularizers, constraints and schedules of classes that a user wrote.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, collect, mse, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const { ops } = et;
const x = waves([8, 3]);
const y = signsOf(x);
const sampleWeight = et.tensor([1, 0, 2, 0.5, 1, 1, 3, 0.25]);
const quiet = { verbose: 0, shuffle: false };
const sgd = () => et.optimizers.sgd({ learningRate: 0.1 });

class SquaredError extends et.Loss {
  call(yTrue, yPred) {
    return ops.mean(ops.square(ops.subtract(yPred, yTrue)), [-1]);
  }
}
class AbsoluteError extends et.Metric {
  constructor(options) {
    super(options);
    this.total = this.addVariable({ name: 'total' });
    this.count = this.addVariable({ name: 'count' });
  }
  updateState(yTrue, yPred, sampleWeight) {
    const errors = ops.mean(ops.absolute(ops.subtract(yTrue, yPred)), [-1]);
    const weights = sampleWeight ?? ops.ones(errors.shape);
    this.total.assign(ops.add(this.total.read(), ops.sum(ops.multiply(errors, weights))));
    this.count.assign(ops.add(this.count.read(), ops.sum(weights)));
  }
  result() {
    return ops.divide(this.total.read(), this.count.read());
  }
  copy() {
    return new AbsoluteError({ name: this.name });
  }
}
class SumOfSquares extends et.Regularizer {
  constructor(factor) {
    super();
    this.factor = factor;
  }
  call(x) {
    return ops.multiply(ops.sum(ops.square(x)), this.factor);
  }
}
class Unit extends et.Constraint {
  call(weight) {
    return ops.divide(weight, ops.add(ops.sqrt(ops.sum(ops.square(weight), [0], true)), 1e-7));
  }
}
class Alternating extends et.Initializer {
  call(shape, dtype) {
    this.asked = [shape, dtype];
    return Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, (_, i) => (i % 2 ? -0.5 : 0.25));
  }
}
class Halving extends et.LearningRateSchedule {
  call(step) {
    return ops.multiply(ops.power(ops.scalar(0.5, step), step), 0.4);
  }
}

/** The history and the weights of a short fit with these options of compile. */
async function trained(options, make = twoDense, given = {}) {
  const model = make();
  model.compile({ optimizer: sgd(), loss: 'mse', ...options });
  const { history } = await model.fit(x, y, { ...quiet, epochs: 4, batchSize: 3, ...given });
  return { history, weights: weightsOf(model) };
}
/** Steps of different lengths: zeros pad them, and are masked. */
const padded = () => et.sequential([et.layers.masking(), et.layers.simpleRnn({ units: 2, returnSequences: true, kernelInitializer: et.initializers.heNormal({ seed: 3 }), recurrentInitializer: et.initializers.orthogonal({ seed: 4 }) })]);
const steps = et.tensor(waves([4, 5, 3]).array().map((row, i) => row.map((step, t) => (t > i ? [0, 0, 0] : step))));
const following = waves([4, 5, 2], 1);

test("a custom loss trains as the built-in loss of the same formula, with sample weights", async () => {
  const own = await trained({ loss: new SquaredError() }, twoDense, { sampleWeight });
  const builtIn = await trained({ loss: 'mse' }, twoDense, { sampleWeight });
  assertClose(own.history.loss, builtIn.history.loss);
  assertClose(own.weights, builtIn.weights);
  const summed = await trained({ loss: new SquaredError({ reduction: 'sum' }) });
  assertClose(summed.history.loss, (await trained({ loss: et.losses.meanSquaredError({ reduction: 'sum' }) })).history.loss);
});

test('masks of predictions apply to custom losses and metrics', async () => {
  const run = async (loss, metric) => {
    const model = padded();
    model.compile({ optimizer: sgd(), loss, metrics: [metric] });
    return (await model.fit(steps, following, { ...quiet, epochs: 3 })).history;
  };
  const own = await run(new SquaredError(), new AbsoluteError({ name: 'mae' }));
  const builtIn = await run('mse', 'mae');
  assertClose(own.loss, builtIn.loss);
  assertClose(own.mae, builtIn.mae);
});

test("a custom metric equals the built-in metric, also with sample weights, and in each epoch", async () => {
  const given = { sampleWeight, validationData: [waves([5, 3], 2), signsOf(waves([5, 3], 2))] };
  const own = await trained({ metrics: [new AbsoluteError()], weightedMetrics: [new AbsoluteError({ name: 'weighted' })] }, twoDense, given);
  const builtIn = await trained({ metrics: ['mae'], weightedMetrics: [et.metrics.meanAbsoluteError({ name: 'weighted' })] }, twoDense, given);
  assertClose(own.history.absolute_error, builtIn.history.mae);
  assertClose(own.history.val_absolute_error, builtIn.history.val_mae);
  assertClose(own.history.weighted, builtIn.history.weighted);
  assert.deepEqual(own.weights, builtIn.weights);
});

test('a custom class is traced once for each shape of batch', async () => {
  let calls = 0, updates = 0;
  class Counted extends SquaredError {
    call(...given) {
      ++calls;
      return super.call(...given);
    }
  }
  class Updated extends AbsoluteError {
    updateState(...given) {
      ++updates;
      super.updateState(...given);
    }
  }
  const model = twoDense();
  model.compile({ optimizer: sgd(), loss: new Counted(), metrics: [new Updated()] });
  await model.fit(x, y, { ...quiet, epochs: 2, batchSize: 4 });
  const traced = [calls, updates];
  await model.fit(x, y, { ...quiet, epochs: 5, batchSize: 4 });
  assert.deepEqual([calls, updates], traced);
});

test('each of several outputs has a custom loss and a metric, by lists and by names', async () => {
  const input = et.input({ shape: [3] });
  const outputs = ['a', 'b'].map((name, i) => et.layers.dense({ units: 1, name, kernelInitializer: et.initializers.heNormal({ seed: i }) }).apply(input));
  const run = async (loss, metrics) => {
    const model = et.model({ inputs: [input], outputs });
    model.compile({ optimizer: et.optimizers.sgd({ learningRate: 0 }), loss, metrics });
    return model.evaluate(x, [y, y], { verbose: 0, returnDict: true });
  };
  const builtIn = await run('mse', { a: ['mae'], b: ['mae'] });
  const own = () => new AbsoluteError({ name: 'mae' });
  for (const metrics of [[[own()], [own()]], { a: own(), b: [own()] }, [own()]])
    for (const loss of [[new SquaredError(), 'mse'], { a: 'mse', b: new SquaredError() }, new SquaredError()]) {
      const figures = await run(loss, metrics);
      assert.deepEqual(Object.keys(figures), Object.keys(builtIn));
      assertClose(Object.values(figures), Object.values(builtIn));
    }
  class Single extends AbsoluteError {
    copy = et.Metric.prototype.copy;
  }
  await assertError(() => run('mse', [new Single()]), 'value', 'one metric "single" for several outputs', 'define copy()');
});

test('a custom step calls custom losses, metrics and regularizers', async () => {
  const loss = new SquaredError(), metric = new AbsoluteError(), penalty = new SumOfSquares(0.5);
  let shape;
  const model = et.sequential([et.layers.dense({ units: 1, useBias: false, kernelInitializer: 'ones' })], {
    metrics: [metric],
    testStep(data) {
      const yPred = this.call(data.x, false);
      const value = loss.call(data.y, yPred, data.sampleWeight);
      shape = value.shape;
      metric.updateState(data.y, yPred, data.sampleWeight);
      return { loss: value, penalty: penalty.call(this.trainableVariables[0].read()), error: metric.result() };
    },
  });
  model.compile({ optimizer: sgd() });
  const figures = await model.evaluate([[1, 2, 3], [1, 1, 1]], [[4], [3]], { verbose: 0, sampleWeight: [1, 1], returnDict: true });
  assert.deepEqual(shape, []);
  assertClose([figures.loss, figures.penalty, figures.error], [2, 1.5, 1]);
});

test('variables of a custom metric start at, and are reset to, their initial values', async () => {
  class Least extends et.Metric {
    least = this.addVariable({ shape: [2], initializer: et.initializers.constant({ value: [7, 100] }), name: 'least' });
    count = this.addVariable({ dtype: 'int32' });
    updateState(_, yPred) {
      this.least.assign(ops.minimum(this.least.read(), ops.negate(ops.max(ops.negate(yPred)))));
      this.count.assign(ops.add(this.count.read(), 1));
    }
    result() {
      return ops.max(this.least.read());
    }
  }
  const least = new Least();
  assert.deepEqual([least.name, least.variables.map((each) => [each.name, each.dtype])], ['least', [['least/least', 'float32'], ['least/variable', 'int32']]]);
  const model = et.sequential([et.layers.activation({ activation: 'relu' })]);
  model.compile({ loss: 'mse', metrics: [least] });
  const run = (data) => model.evaluate(data, data, { verbose: 0, returnDict: true });
  assertClose([(await run([[3], [5]])).least], [3]);
  assert.deepEqual([...least.count.value().data], [1]);
  assertClose([(await run([[50], [60]])).least], [50]);
  least.resetState();
  assert.deepEqual([...least.least.value().data, ...least.count.value().data], [7, 100, 0]);
});

test('custom regularizers and constraints equal the built-in ones of the same formula', async () => {
  const dense = (options) => () => et.sequential([et.layers.dense({ units: 4, kernelInitializer: et.initializers.heNormal({ seed: 1 }), ...options }), et.layers.dense({ units: 1, kernelInitializer: et.initializers.heNormal({ seed: 2 }) })]);
  const l2 = et.regularizers.l2({ l2: 0.1 });
  const pairs = [
    [{ kernelRegularizer: new SumOfSquares(0.1) }, { kernelRegularizer: l2 }],
    [{ activityRegularizer: new SumOfSquares(0.1) }, { activityRegularizer: l2 }],
    [{ kernelConstraint: new Unit() }, { kernelConstraint: 'unit_norm' }],
  ];
  const plain = await trained({}, dense({}));
  for (const [own, builtIn] of pairs) {
    const [a, b] = [await trained({}, dense(own)), await trained({}, dense(builtIn))];
    assertClose(a.history.loss, b.history.loss);
    assertClose(a.weights, b.weights);
    assert.notDeepEqual(a.weights, plain.weights);
  }
});

test('a custom initializer gives a variable its first values', () => {
  const initializer = new Alternating();
  const layer = et.layers.dense({ units: 2, kernelInitializer: initializer, biasInitializer: new (class extends et.Initializer {
    call = () => et.tensor([1, 2]);
  })() });
  layer.call([[1, 1, 1]]);
  assert.deepEqual(initializer.asked, [[3, 2], 'float32']);
  assert.deepEqual(layer.getWeights().map((weight) => weight.array()), [[[0.25, -0.5], [0.25, -0.5], [0.25, -0.5]], [1, 2]]);
  class Own extends et.Layer {
    build() {
      this.w = this.addWeight({ shape: [2], initializer: new Alternating(), regularizer: new SumOfSquares(1), constraint: new Unit() });
    }
    call(x) {
      return ops.multiply(x, this.w.read());
    }
  }
  const own = new Own();
  own.call([[1, 1]]);
  assert.deepEqual([...own.w.value().data], [0.25, -0.5]);
});

test('a custom schedule is the learning rate of each step', async () => {
  const schedule = new Halving();
  assertClose([0, 1, 3].map((step) => schedule.at(step)), [0.4, 0.2, 0.05]);
  const builtIn = et.schedules.exponentialDecay({ initialLearningRate: 0.4, decaySteps: 1, decayRate: 0.5 });
  const run = (learningRate) => trained({ optimizer: et.optimizers.sgd({ learningRate }) });
  assertClose((await run(schedule)).weights, (await run(builtIn)).weights);
});

test('an error of a custom class reaches the caller as the same object', async () => {
  const error = new RangeError('mine');
  const fails = () => {
    throw error;
  };
  const make = (Base, name) => new (class Failing extends Base {
    call = fails;
    updateState = fails;
    result = fails;
    [name] = fails;
  })();
  const dense = (options) => et.sequential([et.layers.dense({ units: 1, ...options })]);
  const fit = (model, options) => (model.compile({ ...mse(), ...options }), model.fit(x, y, quiet));
  const same = (promise) => assert.rejects(promise, (thrown) => thrown === error);
  await same(fit(dense(), { loss: make(et.Loss) }));
  await same(fit(dense(), { metrics: [make(et.Metric)] }));
  await same(fit(dense({ kernelRegularizer: make(et.Regularizer) })));
  await same(fit(dense({ kernelConstraint: make(et.Constraint) })));
  await same(fit(dense(), { optimizer: et.optimizers.sgd({ learningRate: make(et.LearningRateSchedule) }) }));
  assert.throws(() => dense({ kernelInitializer: make(et.Initializer) }).build([1, 3]), (thrown) => thrown === error);
  class Unresettable extends AbsoluteError {
    resetState = fails;
  }
  await same(fit(dense(), { metrics: [new Unresettable()] }));
});

test('a class without a needed function is an error when it is passed', async () => {
  class Idle extends et.Loss {}
  class Half extends et.Metric {
    updateState() {}
  }
  const model = twoDense();
  assert.throws(() => model.compile({ loss: new Idle() }), { kind: 'value', message: '[call] a loss of the class Idle without the function - expected one - define call().' });
  await assertError(() => model.compile({ metrics: [new Half()] }), 'value', '[result] a metric of the class Half', 'define result()');
  await assertError(() => model.compile({ optimizer: new (class extends et.Optimizer {})() }), 'value', 'an optimizer of the class optimizer', 'define updateStep()');
  for (const [option, Base] of [['kernelInitializer', et.Initializer], ['kernelRegularizer', et.Regularizer], ['kernelConstraint', et.Constraint]])
    await assertError(() => et.layers.dense({ units: 1, [option]: new (class Empty extends Base {})() }), 'value', 'of the class Empty', 'define call()');
  await assertError(() => et.optimizers.sgd({ learningRate: new (class Empty extends et.LearningRateSchedule {})() }), 'value', 'a schedule of the class Empty', 'define call()');
  await assertError(() => et.layers.dense({ units: 1, kernelInitializer: new SquaredError() }), 'value', 'a SquaredError');
  await assertError(() => model.compile({ loss: new Unit() }), 'value', 'a Unit');
  await assertError(() => new SquaredError({ reduction: 'average' }), 'value', '"average"');
  await assertError(() => new AbsoluteError({ dtype: 'int32' }), 'dtype', 'dtype "int32"', 'choose one');
});

test('promises and results of wrong shapes are errors', async () => {
  class Later extends et.Loss {
    async call(_, yPred) {
      return yPred;
    }
  }
  class Vector extends et.Regularizer {
    call = (x) => x;
  }
  class Short extends et.Initializer {
    call = () => [1, 2];
  }
  class Scalar extends et.Constraint {
    call = (x) => ops.sum(x);
  }
  const fit = (options, compile = {}) => {
    const model = et.sequential([et.layers.dense({ units: 1, ...options })]);
    model.compile({ ...mse(), ...compile });
    return model.fit(x, y, quiet);
  };
  await assertError(() => fit({}, { loss: new Later() }), 'value', '[call] a promise was returned');
  await assertError(() => fit({ kernelRegularizer: new Vector() }), 'shape', 'a result of shape [3, 1] - expected []');
  await assertError(() => fit({ kernelConstraint: new Scalar() }), 'shape', 'a result of shape [] - expected [3, 1]');
  await assertError(() => fit({ kernelInitializer: new Short() }), 'shape', 'initial values of shape [2] - expected [3, 1]');
});

test('a model with functions, or with classes that are not registered, saves its weights, but not the whole', async () => {
  const model = twoDense();
  model.compile({ ...mse(), loss: new SquaredError() });
  await model.fit(x, y, quiet);
  await assertError(() => model.save('unused'), 'value', 'a loss of the class SquaredError, which is not registered', "save only the model's weights");
  model.compile({ ...mse(), metrics: [(yTrue, yPred) => ops.subtract(yTrue, yPred)] });
  await assertError(() => model.save('unused'), 'value', "not one of Étude's", "save the model's weights instead");
  const regularized = et.sequential([et.layers.dense({ units: 1, kernelRegularizer: new SumOfSquares(1) })]);
  await assertError(() => regularized.toJson(), 'value', 'a regularizer of the class SumOfSquares, which is not registered');
});

test('the owner of a custom object keeps it alive, and is collected with it', async () => {
  const registry = [];
  const make = () => {
    const own = { loss: new SquaredError(), metrics: [new AbsoluteError()] };
    const options = { kernelInitializer: new Alternating(), kernelRegularizer: new SumOfSquares(0.1), kernelConstraint: new Unit() };
    const model = et.sequential([et.layers.dense({ units: 1000, ...options }), et.layers.dense({ units: 1 })]);
    model.compile({ ...mse(), ...own });
    registry.push(...[own.loss, ...own.metrics, ...Object.values(options)].map((each) => new WeakRef(each)));
    return model;
  };
  const kept = make();
  await collect();
  assert.ok(registry.every((each) => each.deref()), 'an object was collected although a model has it');
  await kept.fit(x, y, quiet);
  for (let i = 0; i < 10; ++i) await make().fit(x, y, quiet);
  await collect();
  const before = et.memory().usedBytes;
  for (let i = 0; i < 50; ++i) await make().fit(x, y, quiet);
  await collect();
  assert.ok(registry.filter((each) => each.deref()).length < 20, 'objects remain');
  assert.ok(et.memory().usedBytes < before + 100_000, `${et.memory().usedBytes - before} bytes more`);
});
