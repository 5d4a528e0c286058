// Classes that extend et.Layer and are registered: models with their layers are saved, loaded, described and cloned.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, waves, weightsOf } from './support.mjs';

const { ops } = et;
const folder = mkdtempSync(join(tmpdir(), 'etude-classes-'));
after(() => rmSync(folder, { recursive: true }));
const x = waves([8, 3]), y = signsOf(x);

/** x times a number, and times a weight for each feature. */
class Gain extends et.Layer {
  constructor({ factor = 1, ...options } = {}) {
    super(options);
    this.factor = factor;
  }
  build(inputShape) {
    this.weights = this.addWeight({ name: 'weights', shape: [inputShape.at(-1)], initializer: 'ones' });
  }
  call(x) {
    return ops.multiply(x, ops.multiply(this.weights.read(), this.factor));
  }
  getConfig() {
    return { ...super.getConfig(), factor: this.factor };
  }
}
et.registerClass(Gain, { package: 'my_package' });

/** Layers that its constructor makes, one of a custom class. */
class Mlp extends et.Layer {
  first = et.layers.dense({ units: 3, activation: 'tanh' });
  rest = [new Gain({ factor: 0.5 }), et.layers.dense({ units: 3 })];
  call(x) {
    return this.rest.reduce((value, layer) => layer.call(value), this.first.call(x));
  }
}
et.registerClass(Mlp, { package: 'my_package' });

/** x + layer(x), for a layer that it is given. */
class Residual extends et.Layer {
  constructor({ layer, ...options }) {
    super(options);
    this.layer = layer;
  }
  call(x, training) {
    return ops.add(x, this.layer.call(x, training));
  }
  getConfig() {
    return { ...super.getConfig(), layer: et.layers.serialize(this.layer) };
  }
  static fromConfig({ layer, ...options }) {
    return new Residual({ layer: et.layers.deserialize(layer), ...options });
  }
}
et.registerClass(Residual, { package: 'my_package' });

/** A class that is not registered. */
class Unknown extends Gain {}

const built = (...layers) => {
  const model = et.sequential(layers);
  model.build([-1, 3]);
  return model;
};
const again = (model, options) => et.modelFromJson(model.toJson(), options);
const configOf = (layer) => JSON.parse(built(layer).toJson()).config.layers[0];

// As Keras 3.15.1 writes such a class after build((None, 3)); Keras writes the dtype as a DTypePolicy.
test('a layer of a registered class is written in the form of Keras', () => {
  assert.equal(
    JSON.stringify(configOf(new Gain({ factor: 3, name: 'louder' }))),
    '{"module":null,"class_name":"Gain","config":{"name":"louder","trainable":true,"dtype":"float32","factor":3},"registered_name":"my_package>Gain","build_config":{"input_shape":[null,3]}}',
  );
});

test('a layer of a registered class is read from the form of Keras', () => {
  const policy = { module: 'keras', class_name: 'DTypePolicy', config: { name: 'mixed_float16' }, registered_name: null };
  const layer = { module: null, class_name: 'Gain', config: { name: 'louder', trainable: false, dtype: policy, factor: 3 }, registered_name: 'my_package>Gain', build_config: { input_shape: [null, 3] } };
  const model = et.modelFromJson(JSON.stringify({ class_name: 'Sequential', config: { layers: [layer], build_input_shape: [null, 3] } }));
  const [gain] = model.layers;
  assert.ok(gain instanceof Gain);
  assert.deepEqual(gain.getConfig(), { name: 'louder', trainable: false, dtype: 'mixed_float16', factor: 3 });
  assert.deepEqual([model.trainableVariables.length, model.variables.length], [0, 1]);
});

test('a saved and loaded model with two layers of a class continues training with the same bits', async () => {
  const model = et.sequential([new Gain({ factor: 2 }), new Mlp(), new Gain({ factor: 0.5 }), et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.01 }), loss: 'mse' });
  const begun = { batchSize: 4, verbose: 0, epochs: 2 }, more = { ...begun, initialEpoch: 2, epochs: 4 };
  await model.fit(x, y, begun);
  model.save(join(folder, 'model'));
  const loaded = et.loadModel(join(folder, 'model'));
  assert.deepEqual(loaded.layers.slice(0, 3).map((layer) => [layer.constructor, layer.name, layer.factor]), model.layers.slice(0, 3).map((layer) => [layer.constructor, layer.name, layer.factor]));
  assert.deepEqual(await loaded.predict(x, { verbose: 0 }), await model.predict(x, { verbose: 0 }));
  assert.deepEqual(await loaded.fit(x, y, more), await model.fit(x, y, more));
  assert.deepEqual(weightsOf(loaded), weightsOf(model));
});

test('a Functional model that calls a custom layer twice is described and cloned', () => {
  const input = et.input({ shape: [3] });
  const shared = new Gain({ factor: 2 });
  const model = et.model({ inputs: [input], outputs: [new Mlp().apply(shared.apply(et.layers.dense({ units: 3 }).apply(shared.apply(input))))] });
  for (const other of [again(model), et.cloneModel(model)]) {
    assert.equal(other.toJson(), model.toJson());
    assert.notEqual(other.getLayer(shared.name), shared);
    assert.equal(other.getLayer(shared.name).factor, 2);
    other.setWeights(model.getWeights());
    assert.deepEqual(other.predictOnBatch(x), model.predictOnBatch(x));
  }
});

test('custom layers are saved inside models, wrappers and other custom layers', () => {
  const inner = et.sequential([new Gain({ factor: 2 }), new Residual({ layer: new Residual({ layer: new Gain({ factor: 4 }) }) })]);
  const model = built(inner, new Residual({ layer: et.layers.dense({ units: 3 }) }), new Residual({ layer: et.sequential([new Gain({ factor: 3 })]) }));
  const other = again(model);
  assert.equal(other.toJson(), model.toJson());
  assert.equal(other.countParams(), 3 + 3 + 12 + 3);
  other.setWeights(model.getWeights());
  assert.deepEqual(other.predictOnBatch(x), model.predictOnBatch(x));

  const steps = et.sequential([et.layers.timeDistributed({ layer: new Gain({ factor: 5 }) })]);
  assertClose([...again((steps.build([-1, 2, 1]), steps)).predictOnBatch([[[1], [2]]]).data], [5, 10]);
});

test('a custom cell is saved with the layer that runs it', () => {
  class Sum extends et.RnnCell {
    constructor({ units = 1, ...options } = {}) {
      super(options);
      this.stateSize = units;
    }
    build(inputShape) {
      this.kernel = this.addWeight({ name: 'kernel', shape: [inputShape.at(-1), this.stateSize] });
    }
    call(x, [state]) {
      const output = ops.add(ops.matmul(x, this.kernel.read()), state);
      return [output, [output]];
    }
    getConfig() {
      return { ...super.getConfig(), units: this.stateSize };
    }
  }
  const model = et.sequential([et.layers.rnn({ cell: new Sum({ units: 2 }) })]);
  model.build([-1, 4, 3]);
  assert.throws(() => model.toJson(), /of the class Sum, which is not registered/);
  et.registerClass(Sum);
  const other = again(model), steps = waves([2, 4, 3]);
  other.setWeights(model.getWeights());
  assert.equal(other.toJson(), model.toJson());
  assert.deepEqual(other.predictOnBatch(steps), model.predictOnBatch(steps));
});

test('modelCheckpoint saves models with custom layers', async () => {
  const model = et.sequential([new Gain({ factor: 2 }), et.layers.dense({ units: 1 })]);
  model.compile(mse(0.01));
  await model.fit(x, y, { verbose: 0, callbacks: [et.callbacks.modelCheckpoint({ filepath: join(folder, 'checkpoint') })] });
  assert.deepEqual(weightsOf(et.loadModel(join(folder, 'checkpoint'))), weightsOf(model));
});

test('frozen custom layers stay frozen', () => {
  const other = again(built(new Gain({ trainable: false }), new Gain()));
  assert.deepEqual(other.layers.map((layer) => layer.trainable), [false, true]);
  assert.equal(other.trainableVariables.length, 1);
});

test('a class has a package, a name and a name for minifiers of its own', () => {
  class A extends et.Layer {
    static className = 'Shown';
    call(x) {
      return x;
    }
  }
  assert.equal(et.registerClass(A), A);
  const { class_name, registered_name } = configOf(new A());
  assert.deepEqual([class_name, registered_name], ['Shown', 'Custom>Shown']);
  et.registerClass(A, { package: 'theirs', name: 'Renamed' });
  const model = built(new A()), text = model.toJson();
  assert.match(text, /"class_name":"Shown",.*"registered_name":"theirs>Renamed"/);
  for (const each of [text, text.replace('theirs>Renamed', 'Custom>Shown')]) assert.ok(et.modelFromJson(each).layers[0] instanceof A);
});

test('customObjects are classes for one load, by their names or registered names', async () => {
  const text = built(new Gain({ factor: 7 })).toJson(), unregistered = text.replaceAll('my_package>Gain', 'Other');
  assert.equal(et.modelFromJson(text, { customObjects: { 'my_package>Gain': Unknown } }).layers[0].constructor, Unknown);
  const theirs = text.replace('my_package', 'theirs');
  assert.equal(et.modelFromJson(theirs, { customObjects: { Gain: Unknown } }).layers[0].factor, 7);
  await assertError(() => et.modelFromJson(theirs), 'value', 'the layer "theirs>Gain", whose class is not registered', 'call et.registerClass(Gain, { package: "theirs" }) first');
  // As Keras writes a class that is not registered.
  assert.equal(et.modelFromJson(unregistered, { customObjects: { Gain: Unknown } }).layers[0].factor, 7);
  await assertError(() => et.modelFromJson(unregistered), 'value', '[layer] class "Gain" - expected one of: ');
  await assertError(() => et.modelFromJson(text, { customObjects: { Gain: {} } }), 'value', '[customObjects] an object');

  class Same extends Gain {
    static className = 'Gain'; // of which the names of weights are made
  }
  const model = built(new Gain({ factor: 7 }));
  model.save(join(folder, 'given'));
  assert.equal(et.loadModel(join(folder, 'given'), { compile: false, customObjects: { 'my_package>Gain': Same } }).layers[0].constructor, Same);
  // A bare name does not replace a registered class.
  assert.equal(et.loadModel(join(folder, 'given'), { compile: false, customObjects: { Gain: Same } }).layers[0].constructor, Gain);
  await assertError(() => et.modelFromJson(text.replace('"factor"', '"__proto__":{},"factor"')), 'value', '[fromJson] a member "__proto__"');
});

test('names of members that all objects have are no classes', async () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    const layer = { class_name: name, config: { name: 'a' }, registered_name: name };
    const text = JSON.stringify({ class_name: 'Sequential', config: { layers: [layer] } });
    await assertError(() => et.modelFromJson(text, { customObjects: { Gain } }), 'value', `[layer] class "${name}" - expected one of: `);
  }
});

test('registerClass refuses values that are no classes, wrong names and a second class of a name', async () => {
  class Again extends et.Layer {
    static className = 'Gain';
  }
  await assertError(() => et.registerClass(Gain, { package: 'my_package', nmae: 'x' }), 'value', 'unknown option "nmae"');
  for (const wrong of [class {}, new Gain(), et.Layer, undefined]) await assertError(() => et.registerClass(wrong), 'value', '[registerClass]', 'expected a class that extends et.Layer, et.RnnCell, ');
  for (const wrong of ['', 'a>b', 3]) {
    await assertError(() => et.registerClass(Gain, { package: wrong }), 'value', '[registerClass]', 'expected strings');
    await assertError(() => et.registerClass(Gain, { name: wrong }), 'value', '[registerClass]', 'expected strings');
  }
  await assertError(() => et.registerClass(class extends et.Layer {}), 'value', '[registerClass]', 'expected strings');
  await assertError(() => et.registerClass(Again, { package: 'my_package' }), 'value', 'a second class of the name "my_package>Gain"');
  assert.equal(et.registerClass(Gain, { package: 'my_package' }), Gain);
});

test('a layer whose class is not registered, or whose config is not that of the layer, is not saved', async () => {
  await assertError(() => built(new Unknown()).toJson(), 'value', '"unknown', 'of the class Unknown, which is not registered', 'call et.registerClass(Unknown) first');
  await assertError(() => et.cloneModel(built(new Unknown())), 'value', 'which is not registered');
  const given = new Gain();
  const refused = async (config, ...texts) => {
    given.getConfig = () => config;
    await assertError(() => built(given).toJson(), 'value', '[getConfig]', ...texts);
  };
  const { name } = given;
  await refused({ factor: 1 }, `"${name}" whose name is undefined`, 'super.getConfig()');
  await refused(null, 'null of the class Gain', 'super.getConfig()');
  await refused({ name, factor: et.tensor([1]) }, 'config.factor = a Tensor', 'convert it');
  await refused({ name, list: [1, { of: NaN }] }, 'config.list.1.of = NaN');
  await refused({ name, layer: new Gain() }, 'config.layer = a Gain');
  await refused({ name, rate: () => 1 }, 'config.rate = a function');
  given.getConfig = () => {
    throw new TypeError('no config');
  };
  assert.throws(() => built(given).toJson(), new TypeError('no config'));
});

test('fromConfig returns the layer of its config', async () => {
  class Returns extends et.Layer {
    static make = (config) => new Returns(config);
    static fromConfig(config) {
      return Returns.make(config);
    }
    call(x) {
      return x;
    }
  }
  et.registerClass(Returns);
  const text = built(new Returns({ name: 'first' })).toJson();
  assert.ok(et.modelFromJson(text).layers[0] instanceof Returns);
  Returns.make = () => 3;
  await assertError(() => et.modelFromJson(text), 'value', '[fromConfig] 3 of the class Returns - expected a layer');
  Returns.make = () => new Returns();
  await assertError(() => et.modelFromJson(text), 'value', '[fromConfig] a layer "returns', 'for the config of "first"');
  Returns.make = () => {
    throw new TypeError('no layer');
  };
  assert.throws(() => et.modelFromJson(text), new TypeError('no layer'));
});
