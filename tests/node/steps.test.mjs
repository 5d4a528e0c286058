// Steps, models, losses and metrics written in JavaScript: traced once per shape, then replayed as compiled code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

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
async function trained(model, compile = {}, fit = {}) {
  model.compile({ optimizer: 'adam', loss: 'mse', metrics: ['accuracy'], ...compile });
  et.setRandomSeed(3);
  const { history } = await model.fit(x, y, { ...quiet, batchSize: 4, epochs: 3, ...fit });
  return { weights: weightsOf(model), history };
}

test('a custom trainStep is traced once per batch shape and trains like the default one', async () => {
  let calls = 0;
  const custom = twoDense({ trainStep(data) { calls += 1; return trainStep.call(this, data); } });
  assert.deepEqual(await trained(custom), await trained(twoDense()));
  assert.equal(calls, 2, 'batches of 4 and of 2');
  await custom.fit(x, y, { ...quiet, batchSize: 4, epochs: 5 });
  assert.equal(calls, 2, 'plans are kept between fits');
});

test('the loss and the gradient can be written in ops', async () => {
  const model = twoDense({
    trainStep({ x, y }) {
      const loss = ops.mean(ops.square(ops.subtract(this.call(x, true), y)));
      const variables = this.trainableVariables;
      et.gradients(loss, variables).forEach((gradient, i) => {
        variables[i].assign(ops.subtract(variables[i].read(), ops.multiply(gradient, 0.1)));
      });
      return { loss, twice: ops.multiply(2, loss) };
    },
  });
  model.compile({ optimizer: 'sgd' });
  const { history } = await model.fit(x, y, quiet);
  const usual = twoDense();
  usual.compile(mse());
  const expected = await usual.fit(x, y, quiet);
  assertClose(weightsOf(model), weightsOf(usual));
  assertClose([history.loss[0], history.twice[0]], [expected.history.loss[0], 2 * expected.history.loss[0]]);
});

test('computeLoss and computeMetrics can be replaced, and within them they are those of compile', async () => {
  const model = twoDense({
    computeLoss(data, yPred) {
      return ops.multiply(2, this.computeLoss(data, yPred));
    },
    computeMetrics(data, yPred, loss) {
      return { ...this.computeMetrics(data, yPred, loss), largest: ops.max(yPred) };
    },
  });
  const usual = twoDense();
  model.compile(mse(0.1));
  usual.compile(mse(0.2));
  const { history } = await model.fit(x, y, quiet);
  const expected = await usual.fit(x, y, quiet);
  assertClose(weightsOf(model), weightsOf(usual));
  assertClose(history.loss, expected.history.loss.map((loss) => 2 * loss));
  const { loss, largest } = await model.evaluate(x, y, { ...quiet, returnDict: true });
  assertClose([loss], [2 * (await usual.evaluate(x, y, quiet))]);
  assertClose([largest], [Math.max(...(await usual.predict(x, quiet)).data)]);
});

test('a step can have its own metrics, which are reset with each epoch', async () => {
  const size = et.metrics.mean({ name: 'size' });
  const all = et.metrics.sum({ name: 'all' });
  const model = summing({
    metrics: [size, all],
    trainStep({ x }) {
      size.update(x, undefined);
      all.update(x);
      return { size: size.result(), all: all.result() };
    },
  });
  model.compile(mse());
  const { history } = await model.fit([[1, 2], [3, 6]], [[0], [0]], { ...quiet, batchSize: 1, epochs: 2 });
  assert.deepEqual(history, { size: [3, 3], all: [12, 12] });
  await assertError(() => summing({ metrics: [1] }), 'value', 'metrics');
});

test('a step keeps state in its own variables', async () => {
  const steps = et.variable(et.tensor(new Float32Array(1), []), false, 'steps');
  const model = summing({
    trainStep({ x }) {
      steps.assign(ops.add(steps.read(), 1));
      return { steps: steps.read(), rows: ops.sum(ops.multiply(x, 0)) };
    },
  });
  model.compile(mse());
  const { history } = await model.fit([[1, 2], [3, 6]], [[0], [0]], { ...quiet, batchSize: 1, epochs: 2 });
  assert.deepEqual(history.steps, [2, 4]);
  assert.equal(steps.value().item(), 4);
  assert.deepEqual([steps.name, steps.shape, steps.dtype], ['steps', [], 'float32']);
});

test('gaussian noise, and constant tensors', async () => {
  const noise = et.layers.gaussianNoise({ stddev: 1, seed: 4 });
  const model = summing({
    predictStep({ x }) {
      const [batch] = x.shape;
      return [noise.call(ops.zeros([batch, 2]), true), ops.ones([batch, 1]), ops.full([batch, 1], 7, 'int32')];
    },
  });
  const [drawn, ones, sevens] = await model.predictOutputs(et.tensor(new Float32Array(2000), [1000, 2]), { ...quiet, batchSize: 1000 });
  const mean = drawn.data.reduce((sum, z) => sum + z, 0) / 2000;
  const variance = drawn.data.reduce((sum, z) => sum + z * z, 0) / 2000;
  assert.ok(Math.abs(mean) < 0.1 && Math.abs(variance - 1) < 0.15, `mean ${mean}, variance ${variance}`);
  assert.deepEqual([ones.data[9], sevens.data[9], sevens.dtype], [1, 7, 'int32']);
});

test('gradients of gradients', async () => {
  let slopes;
  const model = summing({
    predictStep({ x }) {
      const [kernel] = this.trainableVariables;
      const y = ops.power(this.call(x), 3);
      const [first] = et.gradients(ops.sum(y), [kernel]);
      const [second] = et.gradients(ops.sum(first), [kernel]);
      slopes = [first.shape, second.shape];
      return ops.reshape(second, [1, 2]);
    },
  });
  model.build([-1, 2]);
  const result = await model.predict([[1, 2]], quiet); // d²/dw² of (w·x)³, summed over the first index: 6 (w·x) x Σx
  assert.deepEqual(slopes, [[2, 1], [2, 1]]);
  assertClose([...result.data], [6 * 3 * 3 * 1, 6 * 3 * 3 * 2], 1e-3);
});

test('testStep and predictStep can be custom too', async () => {
  const model = summing({
    testStep: (data) => ({ rows: ops.sum(ops.multiply(0, data.x)), answer: ops.add(ops.multiply(0, ops.sum(data.x)), 42) }),
    predictStep(data) { return ops.negate(this.call(data.x)); },
  });
  model.compile(mse());
  assert.deepEqual(await model.evaluate([[1, 2]], [[0]], { ...quiet, returnDict: true }), { rows: 0, answer: 42 });
  assert.deepEqual((await model.predict([[1, 2]], quiet)).array(), [[-3]]);
});

test('et.model makes a model of a function and its layers', async () => {
  const build = () => {
    const seeded = (seed) => et.initializers.glorotUniform({ seed });
    const hidden = et.layers.dense({ units: 3, activation: 'tanh', kernelInitializer: seeded(1) });
    const out = et.layers.dense({ units: 1, kernelInitializer: seeded(2) });
    return et.model({ name: 'residual', layers: [hidden, out], call: (x, training) => out.call(ops.add(x, hidden.call(x, training))) });
  };
  const model = build();
  const { history, weights } = await trained(model);
  assert.ok(history.loss[2] < history.loss[0]);
  assert.equal(weights.length, 3 * 3 + 3 + 3 + 1);
  assert.deepEqual((await trained(build())).weights, weights);
  assert.deepEqual([model.name, model.layers.length, (await model.predict(x, quiet)).shape], ['residual', 2, [10, 1]]);
});

test('a number beside a condition gets the dtype of the values, as in Keras', async () => {
  const model = summing({ predictStep: ({ x }) => [ops.where(ops.greater(x, 1), x, 0.5), ops.where(ops.greater(x, 1), -1, x)] });
  const [low, high] = await model.predictOutputs([[1, 2]], quiet);
  assert.deepEqual([low.array(), low.dtype, high.array()], [[[0.5, 2]], 'float32', [[1, -1]]]);
});

test('ops that other ops compute', async () => {
  const model = summing({
    predictStep: ({ x }) => [
      ops.stack([x, ops.flip(x, 1)], 1), ops.pad(x, [[0, 0], [1, 2]], 7), ops.roll(x, 1, -1), ops.repeat(x, [2, 0], 1), ops.tile(x, [1, 2]), ops.unstack(x, 1)[1],
      ops.takeAlongAxis(x, ops.cast(ops.zerosLike(x), 'int32'), 1), ops.min(x, [1]), ops.std(x, [1], true), ops.normalize(x), ops.diff(x), ops.round(ops.add(x, 0.5)), ops.isNan(x),
      ops.floorDivide(x, 2), ops.swapaxes(ops.expandDims(x, 2), 1, 2), ops.tensordot(x, ops.eye(2), 1), ops.tensordot(x, ops.eye(2), [[1], [0]]), ops.expandDims(ops.arange(2, 4), 0),
      ops.reshape(ops.meshgrid([ops.arange(0, 2), ops.linspace(0, 1, 2)])[1], [1, 4]),
    ],
  });
  const results = await model.predictOutputs([[3, 4]], quiet);
  assertClose(results.map((each) => [...each.data].map(Number)).flat(), [
    ...[3, 4, 4, 3], ...[7, 3, 4, 7, 7], ...[4, 3], ...[3, 3], ...[3, 4, 3, 4], 4, ...[3, 3], 3, 0.5, ...[0.6, 0.8], 1, ...[4, 4], ...[0, 0], ...[1, 2], ...[3, 4], ...[3, 4], ...[3, 4], ...[2, 3], ...[0, 0, 1, 1],
  ]);
});

test('losses and metrics may be functions of Values', async () => {
  const model = summing();
  const halfSquare = (yTrue, yPred) => ops.multiply(0.5, ops.mean(ops.square(ops.subtract(yTrue, yPred)), [-1]));
  const largest = (yTrue, yPred) => ops.max(ops.absolute(ops.subtract(yTrue, yPred)), [-1]);
  model.compile({ optimizer: 'sgd', loss: halfSquare, metrics: [largest, 'mse'] });
  assert.deepEqual(await model.evaluate([[1, 2], [0, 1]], [[0], [0]], { ...quiet, returnDict: true }), { loss: 2.5, largest: 2, mse: 5 });
});

test('activations may be functions of a Value', async () => {
  const model = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'ones', activation: (x) => ops.multiply(x, x) })]);
  assert.deepEqual((await model.predict([[1, 2]], quiet)).array(), [[9]]);
});

test('runEagerly and stepsPerExecution give the same weights', async () => {
  const expected = await trained(twoDense());
  const eager = await trained(twoDense(), { runEagerly: true });
  assertClose(eager.weights, expected.weights);
  for (const stepsPerExecution of [2, 3, 100]) assert.deepEqual(await trained(twoDense(), { stepsPerExecution }), expected);
});

test('an eager step runs for each batch, and its Values can be read', async () => {
  const seen = [];
  const model = summing({ trainStep(data) { seen.push(et.inspect(data.x).array(), et.inspect(this.call(data.x)).item()); return trainStep.call(this, data); } });
  model.compile({ ...mse(0), runEagerly: true });
  await model.fit([[1, 2], [3, 4]], [[0], [0]], { ...quiet, batchSize: 1, shuffle: false });
  assert.deepEqual(seen, [[[1, 2]], 3, [[3, 4]], 7]);
});

test('a Value has a shape and a dtype', async () => {
  let seen;
  const model = summing({ predictStep(data) { seen = data.x; return this.call(data.x); } });
  await model.predict([[1, 2]], quiet);
  assert.ok(seen instanceof et.Value);
  assert.deepEqual([seen.shape, seen.dtype], [[1, 2], 'float32']);
});

// ---- Errors ----

const failing = (options) => {
  const model = summing(options);
  model.compile(mse());
  return model.fit([[1, 2]], [[0]], quiet);
};

test('a step that throws rejects fit with its own error; the model trains after a fix', async () => {
  const error = new RangeError('mine');
  let broken = true;
  const model = summing({ trainStep(data) { if (broken) throw error; return trainStep.call(this, data); } });
  model.compile(mse());
  await assert.rejects(model.fit([[1, 2]], [[0]], quiet), (thrown) => thrown === error);
  assert.deepEqual(weightsOf(model), [1, 1]);
  broken = false;
  await model.fit([[1, 2]], [[0]], quiet);
  assertClose(weightsOf(model), [0.4, -0.2]);
});

test('a step must be synchronous and return the documented results', async () => {
  await assertError(() => failing({ trainStep: async (data) => ({ loss: ops.sum(data.x) }) }), 'value', 'trainStep', 'a promise', 'synchronous');
  await assertError(() => failing({ call: async (x) => x }), 'value', 'call', 'a promise');
  await assertError(() => failing({ trainStep: () => {} }), 'value', 'trainStep', 'undefined', 'an object of scalars');
  await assertError(() => failing({ trainStep: (data) => ({ loss: 3 }) }), 'value', 'trainStep', 'loss', '3', 'a Value');
  await assertError(() => failing({ call: () => undefined }), 'value', 'call', 'undefined', 'a Value');
});

test('a Value is invalid after its trace', async () => {
  let kept;
  const model = summing({ predictStep(data) { const before = kept; kept = data.x; return before ? ops.add(before, 1) : this.call(data.x); } });
  await model.predict([[1, 2]], quiet);
  await assertError(() => ops.add(kept, 1), 'state', 'of another trace');
  await assertError(() => model.predict([[1, 2], [3, 4]], quiet), 'state', 'of another trace');
  await assertError(() => et.inspect(kept), 'state', '[Value] a Value ', 'of another trace');
});

test('a loop within a step is refused, and the step continues', async () => {
  let inner;
  const model = summing({ trainStep(data) { inner = this.fit([[1, 2]], [[0]], quiet).catch((error) => error); return trainStep.call(this, data); } });
  model.compile(mse());
  await model.fit([[1, 2]], [[0]], quiet);
  const error = await inner;
  await assertError(() => { throw error; }, 'state', '[fit]', 'inside a step');
  assertClose(weightsOf(model), [0.4, -0.2]);
});

test('ops check shapes, dtypes and arguments when they are traced', async () => {
  const within = (work) => failing({ call(x) { work(x); return x; } });
  await assertError(() => within((x) => ops.matmul(x, x)), 'shape', 'MatMul', '[1, 2]');
  await assertError(() => within((x) => ops.reshape(x, [3])), 'shape', 'Reshape');
  await assertError(() => within((x) => ops.cast(x, 'float7')), 'dtype', 'float7');
  await assertError(() => within((x) => ops.add(x)), 'value', 'ops.add', 'b = undefined');
  await assertError(() => within((x) => ops.add(x, 'three')), 'value', 'ops.add', 'b = "three"');
  await assertError(() => within(() => ops.add(1, 2)), 'value', 'ops.add', 'a = 1', 'a Value');
  await assertError(() => within((x) => ops.add(x, et.variable([1]))), 'value', 'ops.add', 'b = ', 'read() of a Variable');
  await assertError(() => within((x) => ops.clip(x, NaN, 1)), 'value', 'ops.clip', 'low = NaN');
  await assertError(() => within((x) => et.gradients(x, [3])), 'value', 'gradients', 'a Variable');
  await assertError(() => ops.add([1], 2), 'value', 'ops.add');
});
