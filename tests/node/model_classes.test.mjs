// Classes that extend et.Model: their layers and steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const { ops } = et;
const x = waves([10, 3]);
const y = signsOf(x);
/** The default step, written as a custom one. */
function trainStep(data) {
  const yPred = this.call(data.x, true);
  const loss = this.computeLoss(data, yPred);
  this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
  return this.computeMetrics(data, yPred, loss);
}
/** Weights and history after three epochs in batches of 4, 4 and 2. */
async function trained(model) {
  model.compile({ optimizer: 'adam', loss: 'mse', metrics: ['accuracy'] });
  et.setRandomSeed(3);
  const { history } = await model.fit(x, y, { ...quiet, batchSize: 4, epochs: 3 });
  return { weights: weightsOf(model), history };
}

/** The model of twoDense as a class. */
class TwoDense extends et.Model {
  constructor(options) {
    super(options);
    const [first, second] = twoDense().layers;
    this.hidden = first;
    this.rest = [second];
  }
  call(x, training) {
    return this.rest[0].call(this.hidden.call(x, training), training);
  }
}

test('a class that extends et.Model trains the layers in its properties, with the steps of fit or its own', async () => {
  const expected = await trained(twoDense());
  assert.deepEqual(await trained(new TwoDense({ name: 'two' })), expected);
  class Steps extends TwoDense {
    trainStep(data) {
      return trainStep.call(this, data);
    }
  }
  assert.deepEqual(await trained(new Steps()), expected);
  const model = new TwoDense({ name: 'two' });
  assert.equal(model.name, 'two');
  assert.deepEqual(model.layers.map(({ name }) => name), [model.hidden.name, model.rest[0].name]);
  // Its call builds the layers, for data too.
  assert.deepEqual(model.call(x).shape, [10, 1]);
  assert.equal(model.countParams(), 4 * 3 + 4 + 4 + 1);
  const again = new TwoDense();
  again.build([-1, 3]);
  again.setWeights(model.getWeights());
  assert.deepEqual((await again.predict(x, quiet)).array(), model.call(x).array());
  class Nested extends TwoDense {
    constructor() {
      super();
      const { hidden, rest: [second] } = this;
      Object.assign(this, { hidden: undefined, rest: undefined, parts: [{ first: hidden }, new Map([['second', second]])] });
      this.parts.push(this.parts);
    }
    call(x, training) {
      const [{ first }, others] = this.parts;
      return others.get('second').call(first.call(x, training), training);
    }
  }
  assert.deepEqual(await trained(new Nested()), expected);
  // It is a layer of others.
  const outer = et.sequential([model, et.layers.dense({ units: 2 })]);
  assert.deepEqual(outer.call(x).shape, [10, 2]);
});

test('a class that extends et.Model replaces computeLoss, the other steps and metrics, and super is that of compile', async () => {
  const mean = et.metrics.mean({ name: 'own' });
  class Doubled extends TwoDense {
    metrics = [mean];
    computeLoss(data, yPred) {
      return ops.multiply(2, super.computeLoss(data, yPred));
    }
    testStep({ x }) {
      mean.update(ops.mean(this.call(x)));
      return { own: mean.result() };
    }
    predictStep({ x }) {
      return ops.multiply(0, this.call(x));
    }
  }
  class Both extends Doubled {
    trainStep(data) {
      return trainStep.call(this, data);
    }
  }
  const single = new TwoDense();
  single.compile({ optimizer: 'sgd', loss: 'mse' });
  const loss = single.trainOnBatch(x, y);
  for (const model of [new Doubled(), new Both()]) {
    model.compile({ optimizer: 'sgd', loss: 'mse' });
    const { history } = await model.fit(x, y, { ...quiet, batchSize: 10 });
    assertClose(history.loss, [2 * loss]);
    assert.deepEqual(Object.keys(await model.evaluate(x, y, { ...quiet, returnDict: true })), ['own']);
    assert.ok((await model.predict(x, quiet)).data.every((value) => value === 0));
  }
});

test('a class that extends et.Model without call, and et.Model itself, are errors that say what to do', async () => {
  class Empty extends et.Model {}
  await assertError(() => new Empty().compile({}), 'value', 'a model of the class Empty without the function');
  await assertError(() => new et.Model(), 'value', 'use et.sequential or et.model, or extend et.Model');
  await assertError(() => new TwoDense({ units: 3 }).compile({}), 'value', 'unknown option "units"');
});
