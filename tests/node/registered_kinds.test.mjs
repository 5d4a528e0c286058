// Classes that extend et.Loss, et.Metric, et.Optimizer, … and are registered: models with their objects are saved, loaded,
// described and cloned.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, waves, weightsOf } from './support.mjs';

const { ops } = et;
const folder = mkdtempSync(join(tmpdir(), 'etude-kinds-'));
after(() => rmSync(folder, { recursive: true }));
const x = waves([8, 3]), y = signsOf(x);
const quiet = { verbose: 0, shuffle: false, batchSize: 4 };

/** What some classes below have in common: a number, which their objects are made with. */
const withNumber = (Base) =>
  class extends Base {
    constructor({ number = 1, ...options } = {}) {
      super(options);
      this.number = number;
    }
    getConfig() {
      return { ...super.getConfig(), number: this.number };
    }
  };
/** The same for base classes that do not have a config. */
const withConfig = (Base) =>
  class extends Base {
    constructor({ number } = {}) {
      super();
      this.number = number;
    }
    getConfig() {
      return { number: this.number };
    }
  };

class SquaredError extends et.Loss {
  constructor({ factor = 1, ...options } = {}) {
    super(options);
    this.factor = factor;
  }
  call(yTrue, yPred) {
    return ops.multiply(ops.mean(ops.square(ops.subtract(yTrue, yPred)), [-1]), this.factor);
  }
  getConfig() {
    return { ...super.getConfig(), factor: this.factor };
  }
}
class LargestError extends withNumber(et.Metric) {
  largest = this.addVariable({ name: 'largest' });
  updateState(yTrue, yPred) {
    const error = ops.max(ops.absolute(ops.subtract(yTrue, yPred)));
    this.largest.assign(ops.maximum(this.largest.read(), ops.multiply(error, this.number)));
  }
  result() {
    return this.largest.read();
  }
}
/** SGD with a momentum of `number`. */
class Momentum extends withNumber(et.Optimizer) {
  build(variables) {
    for (const variable of variables) this.addVariableFromReference(variable, 'momentum');
  }
  updateStep(gradient, variable, learningRate) {
    const momentum = this.getSlot(variable, 'momentum');
    momentum.assign(ops.subtract(ops.multiply(momentum.read(), this.number), ops.multiply(learningRate, gradient)));
    variable.assign(ops.add(variable.read(), momentum.read()));
  }
}
/** number / (step + 1). */
class Slowing extends withConfig(et.LearningRateSchedule) {
  call(step) {
    return ops.divide(ops.scalar(this.number, step), ops.add(step, 1));
  }
}
class Alternating extends withConfig(et.Initializer) {
  call(shape) {
    return Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, (_, i) => (i % 2 ? -this.number : this.number));
  }
}
class SumOfSquares extends withConfig(et.Regularizer) {
  call(x) {
    return ops.multiply(ops.sum(ops.square(x)), this.number);
  }
}
class AtMost extends withConfig(et.Constraint) {
  call(weight) {
    return ops.minimum(weight, ops.scalar(this.number, weight));
  }
}
/** x times weights, with an initializer that it is given. */
class Gain extends et.Layer {
  constructor({ initializer = 'ones', ...options } = {}) {
    super(options);
    this.initializer = initializer;
  }
  build(inputShape) {
    this.weights = this.addWeight({ name: 'weights', shape: [inputShape.at(-1)], initializer: this.initializer });
  }
  call(x) {
    return ops.multiply(x, this.weights.read());
  }
  getConfig() {
    return { ...super.getConfig(), initializer: et.initializers.serialize(this.initializer) };
  }
  static fromConfig({ initializer, ...options }) {
    return new Gain({ initializer: et.initializers.deserialize(initializer), ...options });
  }
}
/** x + layer(x). */
class Residual extends et.Wrapper {
  call(x, training) {
    return ops.add(x, this.layer.call(x, training));
  }
}
const all = { SquaredError, LargestError, Momentum, Slowing, Alternating, SumOfSquares, AtMost, Gain, Residual };
for (const each of Object.values(all)) et.registerClass(each, { package: 'my_package' });

/** Classes that are not registered, one of each kind but layers. */
const unknown = [
  [et.losses, class UnknownLoss extends SquaredError {}, 'a loss'],
  [et.metrics, class UnknownMetric extends LargestError {}, 'a metric'],
  [et.optimizers, class UnknownOptimizer extends Momentum {}, 'an optimizer'],
  [et.schedules, class UnknownSchedule extends Slowing {}, 'a schedule'],
  [et.initializers, class UnknownInitializer extends Alternating {}, 'an initializer'],
  [et.regularizers, class UnknownRegularizer extends SumOfSquares {}, 'a regularizer'],
  [et.constraints, class UnknownConstraint extends AtMost {}, 'a constraint'],
];

const network = () => {
  const options = { kernelInitializer: new Alternating({ number: 0.25 }), kernelRegularizer: new SumOfSquares({ number: 0.01 }), kernelConstraint: new AtMost({ number: 0.25 }) };
  return et.sequential([et.layers.dense({ units: 4, activation: 'tanh', ...options }), new Gain({ initializer: new Alternating({ number: 0.5 }) }), et.layers.dense({ units: 1, kernelInitializer: new Alternating({ number: 0.125 }) })]);
};
const compiled = (options) => {
  const model = network();
  const optimizer = new Momentum({ learningRate: new Slowing({ number: 0.1 }), number: 0.8, globalClipnorm: 2 });
  model.compile({ optimizer, loss: new SquaredError({ factor: 2 }), metrics: [new LargestError({ name: 'twice', number: 2 })], ...options });
  return model;
};
const valuesOf = (variables) => variables.map((variable) => [...variable.value().data]);

// Keras 3.15.1 writes Python classes of these names and options in this form; JavaScript's optimizer leaves out what it was not given.
const forms = {
  loss: '{"module":null,"class_name":"SquaredError","config":{"name":"squared_error","reduction":"sum_over_batch_size","factor":2},"registered_name":"my_package>SquaredError"}',
  metric: '{"module":null,"class_name":"LargestError","config":{"name":"twice","dtype":"float32","number":2},"registered_name":"my_package>LargestError"}',
  schedule: '{"module":null,"class_name":"Slowing","config":{"number":0.25},"registered_name":"my_package>Slowing"}',
  optimizer:
    '{"module":null,"class_name":"Momentum","config":{"name":"momentum","learning_rate":{"module":null,"class_name":"Slowing","config":{"number":0.25},"registered_name":"my_package>Slowing"},"weight_decay":null,"clipnorm":1.0,"global_clipnorm":null,"clipvalue":null,"use_ema":false,"ema_momentum":0.99,"ema_overwrite_frequency":null,"loss_scale_factor":null,"gradient_accumulation_steps":null,"number":0.5},"registered_name":"my_package>Momentum"}',
};

test('a saved and loaded model with objects of every kind continues training with the same bits', async () => {
  const model = compiled();
  await model.fit(x, y, { ...quiet, epochs: 2 });
  const path = join(folder, 'model');
  model.save(path);
  const others = Object.fromEntries(Object.entries(all).map(([name, Class]) => [`my_package>${name}`, Object.assign(class extends Class {}, { className: name })]));
  others['my_package>Gain'] = Gain; // its fromConfig makes a Gain
  const copies = [et.loadModel(path), et.loadModel(path, { customObjects: others })];
  assert.deepEqual(copies.map(({ optimizer }) => optimizer.constructor), [Momentum, others['my_package>Momentum']]);
  const more = { ...quiet, initialEpoch: 2, epochs: 4 }, { history } = await model.fit(x, y, more);
  assert.deepEqual(Object.keys(history), ['loss', 'twice']);
  for (const copy of copies) {
    assert.equal(copy.optimizer.iterations, 4);
    assert.deepEqual((await copy.fit(x, y, more)).history, history);
    assert.deepEqual(weightsOf(copy), weightsOf(model));
    assert.deepEqual(valuesOf(copy.optimizer.variables), valuesOf(model.optimizer.variables));
    assert.ok(Math.max(...copy.getWeights()[0].data) <= 0.25, 'the constraint was lost');
  }
  // Only a registered class is saved again.
  copies[0].save(path);
  assert.deepEqual(weightsOf(et.loadModel(path)), weightsOf(model));
  await assertError(() => copies[1].save(path), 'value', '[toJson]', 'which is not registered');
});

test('objects by names of outputs, and within other objects, are saved', async () => {
  const input = et.input({ shape: [3] });
  const outputs = ['a', 'b'].map((name) => et.layers.dense({ units: 1, name, kernelInitializer: new Alternating({ number: 0.5 }) }).apply(input));
  const model = et.model({ inputs: [input], outputs });
  const optimizer = et.optimizers.lossScaleOptimizer({ innerOptimizer: new Momentum({ learningRate: 0.1 }), initialScale: 8 });
  model.compile({ optimizer, loss: { a: new SquaredError({ factor: 3 }), b: 'mse' }, metrics: { b: [new LargestError(), 'mae'] } });
  await model.fit(x, [y, y], quiet);
  model.save(join(folder, 'outputs'));
  const loaded = et.loadModel(join(folder, 'outputs'));
  assert.deepEqual(await loaded.fit(x, [y, y], quiet), await model.fit(x, [y, y], quiet));
  assert.deepEqual(loaded.metricsNames, ['loss', 'a_loss', 'b_loss', 'b_largest_error', 'b_mae']);
  assert.deepEqual(valuesOf(loaded.optimizer.variables), valuesOf(model.optimizer.variables));
});

test('modelCheckpoint saves models with objects of registered classes', async () => {
  const model = compiled(), path = join(folder, 'checkpoint');
  await model.fit(x, y, { ...quiet, callbacks: [et.callbacks.modelCheckpoint({ filepath: path })] });
  assert.deepEqual(valuesOf(et.loadModel(path).optimizer.variables), valuesOf(model.optimizer.variables));
});

test('a described and a cloned model have new objects with the same options', () => {
  const model = network();
  model.build([-1, 3]);
  for (const other of [et.modelFromJson(model.toJson()), et.cloneModel(model)]) {
    assert.equal(other.toJson(), model.toJson());
    assert.ok(other.layers[1].initializer instanceof Alternating && other.layers[1].initializer !== model.layers[1].initializer);
    assert.equal(other.layers[1].initializer.number, 0.5);
    assert.deepEqual(weightsOf(other), weightsOf(model), 'the initial weights are those of the initializers');
  }
  const theirs = model.toJson().replaceAll('my_package', 'theirs');
  assert.deepEqual(weightsOf(et.modelFromJson(theirs, { customObjects: { Alternating, SumOfSquares, AtMost, Gain } })), weightsOf(model));
});

test('objects are written and read in the form of Keras', () => {
  const loss = JSON.parse(forms.loss), metric = JSON.parse(forms.metric), schedule = JSON.parse(forms.schedule), optimizer = JSON.parse(forms.optimizer);
  assert.deepEqual(et.losses.serialize(new SquaredError({ factor: 2 })), loss);
  assert.deepEqual(et.losses.deserialize(loss).getConfig(), loss.config);
  const { dtype, ...options } = metric.config;
  assert.equal(dtype, 'float32');
  assert.deepEqual(et.metrics.serialize(new LargestError({ name: 'twice', number: 2 })), { ...metric, config: options });
  assert.deepEqual(et.metrics.deserialize(metric).getConfig(), options);
  assert.deepEqual(et.schedules.serialize(new Slowing({ number: 0.25 })), schedule);
  const given = { name: 'momentum', learning_rate: schedule, clipnorm: 1, number: 0.5 };
  assert.deepEqual(et.optimizers.serialize(new Momentum({ learningRate: new Slowing({ number: 0.25 }), clipnorm: 1, number: 0.5 })), { ...optimizer, config: given });
  const read = et.optimizers.deserialize(optimizer);
  assert.deepEqual([read.constructor, read.name, read.number, read.learningRate, read.getConfig().clipnorm], [Momentum, 'momentum', 0.5, 0.25, 1]);
  for (const [family, made] of [[et.initializers, new Alternating({ number: 3 })], [et.regularizers, new SumOfSquares({ number: 3 })], [et.constraints, new AtMost({ number: 3 })]]) {
    const config = family.serialize(made), { name } = made.constructor;
    assert.deepEqual(config, { module: null, class_name: name, config: { number: 3 }, registered_name: `my_package>${name}` });
    assert.equal(family.deserialize(config).number, 3);
  }
});

test('an optimizer is written with its options and its current learning rate', () => {
  const optimizer = new Momentum({ learningRate: 0.5, weightDecay: 0.125, useEma: true, emaMomentum: 0.5, gradientAccumulationSteps: 2, name: 'mine' });
  optimizer.learningRate = 0.25;
  const config = { name: 'mine', learning_rate: 0.25, weight_decay: 0.125, use_ema: true, ema_momentum: 0.5, gradient_accumulation_steps: 2, number: 1 };
  assert.deepEqual(et.optimizers.serialize(optimizer).config, config);
  assert.deepEqual(et.optimizers.deserialize(et.optimizers.serialize(optimizer)).getConfig(), optimizer.getConfig());
});

test("serialize and deserialize also accept Étude's objects, and leave names, numbers and nothing as they are", async () => {
  const text = et.regularizers.serialize(et.regularizers.l2({ l2: 0.5 }));
  assert.deepEqual([text.class_name, text.config], ['L2', { l2: 0.5 }]);
  const dense = et.layers.dense({ units: 1, kernelRegularizer: et.regularizers.deserialize(text) });
  assert.deepEqual(et.layers.serialize(dense).config.kernel_regularizer, text);
  for (const plain of ['ones', null, undefined]) assert.deepEqual([et.initializers.serialize(plain), et.initializers.deserialize(plain)], [plain, plain]);
  assert.equal(et.schedules.serialize(0.1), 0.1);
  await assertError(() => et.losses.serialize(new AtMost({ number: 1 })), 'value', '[serialize] object = a AtMost');
  assert.ok(!Object.keys(et.losses).includes('serialize'), 'the names of a family are those of its factories');
});

test('an object whose class is not registered is not saved, and the error says what to call', async () => {
  for (const [family, Class, kind] of unknown) {
    await assertError(() => family.serialize(new Class()), 'value', `[toJson] ${kind} of the class ${Class.name}, which is not registered`, `call et.registerClass(${Class.name}) first`);
    const { name } = Object.getPrototypeOf(Class), config = { class_name: name, config: {}, registered_name: `theirs>${name}` };
    const text = `the ${kind.split(' ')[1]} "theirs>${name}", whose class is not registered`;
    await assertError(() => family.deserialize(config), 'value', `[fromJson] ${text}`, `call et.registerClass(${name}, { package: "theirs" }) first`);
  }
  const [, UnknownInitializer] = unknown[4];
  const dense = et.sequential([et.layers.dense({ units: 1, kernelInitializer: new UnknownInitializer() })]);
  dense.build([-1, 3]);
  await assertError(() => et.cloneModel(dense), 'value', 'an initializer of the class UnknownInitializer, which is not registered');
  const gain = { class_name: 'Gain', config: {}, registered_name: 'my_package>Gain' };
  await assertError(() => et.losses.deserialize(gain), 'value', '[fromJson] the loss "my_package>Gain", which is the name of a layer');
});

test('a getConfig that fails loses nothing: the folder keeps its model, and training continues', async () => {
  const loss = new SquaredError(), model = compiled({ loss }), path = join(folder, 'kept');
  await model.fit(x, y, quiet);
  model.save(path);
  const saved = weightsOf(model);
  await model.fit(x, y, quiet);
  const error = new TypeError('no config'), { name } = loss;
  const refused = async (config, ...texts) => {
    loss.getConfig = () => config;
    await assertError(() => model.save(path), 'value', '[getConfig]', ...texts);
  };
  await refused(undefined, 'undefined of the class SquaredError', 'return { ...super.getConfig(), … }');
  await refused([1], 'an array of 1 of the class SquaredError');
  await refused('name', '"name" of the class SquaredError');
  await refused(Promise.resolve({ name }), 'config = a Promise');
  await refused({ name, factor: NaN }, 'config.factor = NaN');
  await refused({ name, weigh: () => 1 }, 'config.weigh = a function');
  await refused({ name, constraint: new AtMost({ number: 1 }) }, 'config.constraint = a AtMost');
  await refused({ factor: 1 }, 'a config of "squared_error" whose name is undefined - expected that of the loss');
  loss.getConfig = () => {
    throw error;
  };
  assert.throws(() => model.save(path), (thrown) => thrown === error);
  assert.deepEqual(weightsOf(et.loadModel(path)), saved);
  await model.fit(x, y, quiet);
  delete loss.getConfig;
  model.save(path);
  assert.deepEqual(weightsOf(et.loadModel(path)), weightsOf(model));
});

test('a regularizer or a schedule that is saved defines getConfig', async () => {
  class Bare extends et.Regularizer {
    call = ops.sum;
  }
  class Steady extends et.LearningRateSchedule {
    call = (step) => ops.multiply(step, 0);
  }
  for (const each of [Bare, Steady]) et.registerClass(each);
  await assertError(() => et.regularizers.serialize(new Bare()), 'value', '[getConfig] a regularizer of the class Bare without the function', 'define getConfig()');
  await assertError(() => et.schedules.serialize(new Steady()), 'value', '[getConfig] a schedule of the class Steady without the function');
});

test('fromConfig returns an object of its kind and name', async () => {
  class Returns extends SquaredError {
    static make = (config) => new Returns(config);
    static fromConfig(config) {
      return Returns.make(config);
    }
  }
  et.registerClass(Returns);
  const config = et.losses.serialize(new Returns({ name: 'first', factor: 2 }));
  assert.ok(et.losses.deserialize(config) instanceof Returns);
  Returns.make = () => new AtMost({ number: 1 });
  await assertError(() => et.losses.deserialize(config), 'value', '[fromConfig] a AtMost of the class Returns - expected a loss');
  Returns.make = () => new Returns();
  await assertError(() => et.losses.deserialize(config), 'value', '[fromConfig] a loss "returns" for the config of "first"');
});

test('the base classes are not registered', async () => {
  for (const base of [et.Loss, et.Metric, et.Optimizer, et.LearningRateSchedule, et.Initializer, et.Regularizer, et.Constraint, et.Wrapper, class extends et.Callback {}])
    await assertError(() => et.registerClass(base), 'value', '[registerClass] the class', 'expected a class that extends et.Layer, et.RnnCell, et.Loss');
});

test('a Wrapper has a layer, which is trained and saved with it', async () => {
  const layer = et.layers.dense({ units: 3 });
  const model = et.sequential([new Residual({ layer, name: 'outer' }), new Residual({ layer: new Residual({ layer: new Gain() }) }), et.layers.dense({ units: 1 })]);
  model.compile(mse());
  await model.fit(x, y, quiet);
  assert.deepEqual([model.layers[0].layer, model.countParams()], [layer, 12 + 3 + 4]);
  model.save(join(folder, 'wrapper'));
  const loaded = et.loadModel(join(folder, 'wrapper')), [outer, inner] = loaded.layers;
  assert.deepEqual([outer.name, inner.layer.constructor, inner.layer.layer.constructor], ['outer', Residual, Gain]);
  assert.deepEqual(await loaded.fit(x, y, quiet), await model.fit(x, y, quiet));
  for (const wrong of [undefined, {}, { layer: 3 }, { layer: new AtMost({ number: 1 }) }]) await assertError(() => new Residual(wrong), 'value', '[Residual] layer = ', 'expected a layer - set layer');
});
