// Layers of classes that extend et.Layer, and objects to which only a model refers.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, collect, mse, signsOf, waves, weightsOf } from './support.mjs';

const { ops } = et;
const x = waves([8, 3]);
const y = signsOf(x);
const quiet = { verbose: 0, shuffle: false };

class Gain extends et.Layer {
  build(inputShape) {
    this.shape = inputShape;
    this.factors = this.addWeight({ name: 'factors', shape: [inputShape.at(-1)], initializer: 'ones' });
  }
  call(x) {
    return ops.multiply(x, this.factors.read());
  }
}
/** Two layers, one of which is in an array. */
class Mlp extends et.Layer {
  constructor(options) {
    super(options);
    this.first = et.layers.dense({ units: 4, activation: 'tanh' });
    this.others = [new Gain(), et.layers.dense({ units: 3 })];
  }
  call(x) {
    return this.others.reduce((value, layer) => layer.call(value), this.first.call(x));
  }
}
/** The same as Gain: a function with a variable. */
function gain() {
  const factors = et.variable(et.tensor(new Float32Array(3).fill(1)), true, 'factors');
  return et.model({ layers: [], call: (x) => ops.multiply(x, factors.read()) });
}

async function trained(layer) {
  et.setRandomSeed(5);
  const model = et.sequential([layer, et.layers.dense({ units: 1 })]);
  model.compile(mse());
  await model.fit(x, y, { ...quiet, epochs: 4, batchSize: 4 });
  return model;
}

test("a custom layer's weights are created for its inputs, trained and counted", async () => {
  const own = new Gain({ name: 'louder' });
  const model = await trained(own);
  assert.deepEqual(own.shape.slice(1), [3]);
  assert.equal(own.name, 'louder');
  assert.equal(own.built, true);
  assert.equal(own.countParams(), 3);
  assert.equal(model.countParams(), 3 + 4);
  assert.deepEqual(weightsOf(model), weightsOf(await trained(gain())));
  assert.notDeepEqual(weightsOf(own), [1, 1, 1]);
});

test('layers in properties and arrays of a custom layer are part of it', async () => {
  const own = new Mlp();
  const model = await trained(own);
  assert.equal(own.countParams(), 4 * 4 + 4 + 5 * 3);
  assert.equal(model.trainableVariables.length, 5 + 2);
  own.trainable = false;
  assert.equal(model.trainableVariables.length, 2);
});

test('a custom layer is called on data, and describes models', () => {
  const own = new Gain();
  assertClose([...own.call([[1, 2, 3]]).data], [1, 2, 3]);
  own.setWeights([[2, 3, 4]]);
  assertClose([...own.call([[1, 2, 3]]).data], [2, 6, 12]);
  const input = et.input({ shape: [3] });
  const model = et.model({ inputs: [input], outputs: [own.apply(et.layers.activation({ activation: 'relu' }).apply(input))] });
  assertClose([...model.call([[1, -2, 3]]).data], [2, 0, 12]);
});

test('a layer with several inputs is built for a list of shapes', () => {
  class Weighted extends et.Layer {
    build(inputShapes) {
      this.shapes = inputShapes;
    }
    call([a, b], training) {
      this.training = training;
      return ops.add(a, ops.multiply(b, 2));
    }
  }
  const own = new Weighted();
  const inputs = [et.input({ shape: [2] }), et.input({ shape: [2] })];
  const model = et.model({ inputs, outputs: [own.apply(inputs)] });
  assert.deepEqual(own.shapes, [[1, 2], [1, 2]]);
  assert.equal(own.training, false);
  assertClose([...model.call([et.tensor([[1, 2]]), et.tensor([[3, 4]])]).data], [7, 10]);
});

test('weights have initializers, regularizers and constraints', async () => {
  class Own extends et.Layer {
    build() {
      this.kept = this.addWeight({ name: 'kept', initializer: et.initializers.constant({ value: 3 }), trainable: false });
      this.positive = this.addWeight({ name: 'positive', shape: [3], initializer: 'ones', regularizer: 'l2', constraint: 'non_neg' });
    }
    call(x) {
      return ops.multiply(x, ops.multiply(this.positive.read(), this.kept.read()));
    }
  }
  const own = new Own();
  // The loss is mean(3x)² and 0.01 · 3, the penalty on three ones.
  const one = et.sequential([own]);
  one.compile({ optimizer: et.optimizers.sgd({ learningRate: 0 }), loss: 'mse' });
  assertClose([await one.evaluate([[1, 1, 1]], [[3, 3, 3]], { verbose: 0 })], [0.03]);

  const model = et.sequential([own, et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: et.optimizers.sgd({ learningRate: 5 }), loss: 'mse' });
  await model.fit(x, y, { ...quiet, epochs: 3 });
  assert.deepEqual([...own.kept.value().data], [3]);
  const numbers = [...own.positive.value().data];
  assert.ok(numbers.every((number) => number >= 0) && numbers.some((number) => number === 0), `${numbers}`);
});

test('a model keeps the layers and models whose functions it calls', async () => {
  const models = [et.sequential([new Gain()]), et.sequential([gain()]), et.model({ layers: [], call: (x) => x })];
  const input = et.input({ shape: [3] });
  for (const make of [() => new Gain(), gain]) {
    const hidden = et.layers.activation({ activation: 'relu' }).apply(make().apply(input));
    await collect();
    models.push(et.model({ inputs: [input], outputs: [hidden] }));
  }
  const added = et.sequential();
  added.add(new Mlp());
  models.push(added, et.sequential([et.layers.timeDistributed({ layer: gain() })]));
  await collect();
  for (const model of models.slice(0, -1)) assert.deepEqual(model.call([[1, 2, 3]]).shape, [1, 3]);
  assert.deepEqual(models.at(-1).call([[[1, 2, 3]]]).shape, [1, 1, 3]);
});

test('a layer, its object and its weights are collected with the model that has them', async () => {
  const registry = [];
  const make = () => {
    const own = new Gain();
    registry.push(new WeakRef(own));
    et.sequential([own, gain()]).call(new et.Tensor(new Float32Array(3 * 1000), [1000, 3]));
  };
  for (let i = 0; i < 20; ++i) make();
  await collect();
  const before = et.memory().usedBytes;
  for (let i = 0; i < 200; ++i) make();
  await collect();
  assert.ok(registry.filter((each) => each.deref()).length < 10, 'objects remain');
  assert.ok(et.memory().usedBytes < before + 100_000, `${et.memory().usedBytes - before} bytes more`);
});

test('within its call, a layer of mixed precision reads its weights in the dtype of computation', () => {
  let read;
  class Half extends Gain {
    call(x) {
      read = [x.dtype, this.factors.read().dtype];
      return super.call(x);
    }
  }
  const half = new Half({ dtype: 'mixed_float16' });
  assertClose([...half.call([[1, 2, 3]]).data], [1, 2, 3]);
  assert.deepEqual(read, ['float16', 'float16']);
  assert.equal(half.factors.dtype, 'float32');
  // A model of Values within it is not affected.
  class Outer extends et.Layer {
    inner = et.model({ layers: [], call: (x) => ops.multiply(ops.cast(x, 'float32'), this.scale.read()) });
    scale = et.variable(et.tensor(new Float32Array([2])), false);
    call(x) {
      return this.inner.call(x);
    }
  }
  assertClose([...new Outer({ dtype: 'mixed_float16' }).call([[1, 2]]).data], [2, 4]);
});

test('getLayer, layers and cloneModel give the objects of custom layers and models', async () => {
  const own = new Gain({ name: 'gain' }), function_ = gain();
  const model = et.sequential([own, function_, et.layers.dense({ units: 1 })]);
  assert.equal(model.getLayer('gain'), own);
  assert.deepEqual(model.layers.slice(0, 2), [own, function_]);
  assert.deepEqual([own.className, own.outputShape], ['Gain', null]);

  const input = et.input({ shape: [3] });
  const inner = et.layers.activation({ activation: 'relu' }).apply(input);
  const described = et.model({ inputs: [input], outputs: [new Gain({ name: 'gain' }).apply(inner)] });
  const models = [et.cloneModel(described, (layer) => (layer instanceof Gain ? new Gain() : layer)), et.model({ inputs: [inner], outputs: [new Gain().apply(inner)] })];
  const again = et.input({ shape: [3] });
  models.push(et.model({ inputs: [again], outputs: [described.getLayer('gain').apply(again)] }));
  await collect();
  for (const each of models) assert.deepEqual(each.call([[1, 2, 3]]).shape, [1, 3]);
});

test('weights of custom layers are saved and loaded by their class and names', async () => {
  class Renamed extends Gain {
    static className = 'Gain';
  }
  const make = () => {
    const model = et.sequential([new Renamed(), et.layers.dense({ units: 1 })]);
    model.build([-1, 3]);
    return model;
  };
  const model = make(), again = make();
  model.setWeights([[2, 3, 4], ...model.getWeights().slice(1)]);
  const folder = mkdtempSync(join(tmpdir(), 'etude-custom-'));
  try {
    model.saveWeights(join(folder, 'model.safetensors'));
    assert.match(readFileSync(join(folder, 'model.safetensors'), 'latin1'), /"gain\/factors"/);
    again.loadWeights(join(folder, 'model.safetensors'));
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.deepEqual(weightsOf(again), weightsOf(model));
});

test('a layer may return several outputs, and be called by a function in a property', () => {
  class Both extends et.Layer {
    call = (x) => [x, ops.multiply(x, 2)];
  }
  const input = et.input({ shape: [2] });
  const [same, twice] = new Both().applyAll(input);
  const model = et.model({ inputs: [input], outputs: [same, twice] });
  assert.deepEqual(model.call([[1, 2]]).map((y) => [...y.data]), [[1, 2], [2, 4]]);
});

test('a layer of a function computes it, of one or of several inputs, and has no config', async () => {
  const model = et.sequential([et.layers.lambda((v) => ops.square(v)), et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
  const squares = await model.predict(x, { verbose: 0 });
  assertClose([...squares.data], Array.from({ length: 8 }, (_, row) => x.data.slice(3 * row, 3 * row + 3).reduce((sum, v) => sum + v * v, 0)), 1e-5);
  const a = et.input({ shape: [3] }), b = et.input({ shape: [3] });
  const layer = et.layers.lambda(([p, q], training) => (training ? p : ops.subtract(p, q)), { name: 'difference' });
  const difference = et.model({ inputs: [a, b], outputs: layer.apply([a, b]) });
  assert.ok((await difference.predict([x, x], { verbose: 0 })).data.every((v) => v === 0));
  assert.equal(layer.className, 'Lambda');
  assert.throws(() => difference.toJson(), /"difference" of the class Lambda.*not registered/);
  await assertError(() => et.layers.lambda(3), 'value', 'expected a function of Values');
});

test('gradients by null are an error', async () => {
  const model = et.sequential([et.layers.dense({ units: 1 })], {
    trainStep({ x }) {
      et.gradients(ops.mean(this.call(x, true)), [x, null]);
      return {};
    },
  });
  model.compile({ loss: 'mse' });
  await assertError(() => model.trainOnBatch(x, y), 'value', '[gradients] sources[1] = null - expected a Value');
});

test('misuse of a custom layer is an error', async () => {
  class Later extends et.Layer {
    async call(x) {
      return x;
    }
  }
  class Fails extends et.Layer {
    build() {
      this.addWeight({ shape: [2] });
      throw new TypeError('no build');
    }
    call(x) {
      return x;
    }
  }
  await assertError(() => new Later().call([[1]]), 'value', 'a promise was returned', 'make the function synchronous');
  const fails = new Fails();
  assert.throws(() => fails.call([[1]]), TypeError);
  assert.equal(fails.countParams(), 0);
  assert.throws(() => new (class Idle extends et.Layer {})().call([[1]]), { kind: 'value', message: '[call] a layer of the class Idle without the function - expected one - define call().' });
  class Built extends et.Layer {
    async build() {}
    call(x) {
      return x;
    }
  }
  await assertError(() => new Built().call([[1]]), 'value', '[build] a promise was returned');
  class Circle extends et.Layer {
    constructor() {
      super();
      this.self = et.sequential([this]);
    }
    call(x) {
      return x;
    }
  }
  await assertError(() => new Circle().call([[1]]), 'value', 'is or contains this model');
  await assertError(() => new Gain({ units: 3 }), 'value', 'unknown option "units"');
  await assertError(() => new Gain().addWeight({ shape: [2], initializer: 'none' }), 'value', 'none');
  await assertError(() => et.sequential([{}]), 'value', 'a layer');
  const model = await trained(new Gain());
  await assertError(() => model.toJson(), 'value', 'the class Gain, which is not registered');
});
