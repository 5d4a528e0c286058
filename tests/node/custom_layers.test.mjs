// Layers of classes that extend et.Layer, and objects that only a model refers to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, waves, weightsOf } from './support.mjs';

const { ops } = et;
const x = waves([8, 3]);
const y = signsOf(x);
const quiet = { verbose: 0, shuffle: false };
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
async function collect() {
  for (let i = 0; i < 5; ++i) {
    gc();
    await turn();
  }
}

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
    return this.others.reduce((value, layer) => (layer instanceof et.Layer ? layer.apply(value) : layer.call(value)), this.first.call(x));
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

test("an own layer's weights are created for its inputs, trained and counted", async () => {
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

test('layers in properties and arrays of an own layer are part of it', async () => {
  const own = new Mlp();
  const model = await trained(own);
  assert.equal(own.countParams(), 4 * 4 + 4 + 5 * 3);
  assert.equal(model.trainableVariables.length, 5 + 2);
  own.trainable = false;
  assert.equal(model.trainableVariables.length, 2);
});

test('an own layer is called on data, and describes models', () => {
  const own = new Gain();
  assertClose([...own.apply([[1, 2, 3]]).data], [1, 2, 3]);
  own.setWeights([[2, 3, 4]]);
  assertClose([...own.apply([[1, 2, 3]]).data], [2, 6, 12]);
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
  const model = et.sequential([own, et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: et.optimizers.sgd({ learningRate: 5 }), loss: 'mse' });
  await model.fit(x, y, { ...quiet, epochs: 3 });
  assert.deepEqual([...own.kept.value().data], [3]);
  assert.ok(own.positive.value().data.every((number) => number >= 0));
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

test('what an own layer cannot do is an error', async () => {
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
  await assertError(() => new Later().apply([[1]]), 'value', 'a promise was returned', 'make the function synchronous');
  const fails = new Fails();
  assert.throws(() => fails.apply([[1]]), TypeError);
  assert.equal(fails.countParams(), 0);
  assert.throws(() => et.sequential([new (class extends et.Layer {})()]).call([[1]]));
  await assertError(() => new Gain({ units: 3 }), 'value', 'unknown option "units"');
  await assertError(() => new Gain().addWeight({ shape: [2], initializer: 'none' }), 'value', 'none');
  await assertError(() => et.sequential([{}]), 'value', 'a layer');
  const model = await trained(new Gain());
  await assertError(() => model.toJson(), 'value', "not one of Étude's");
});
