// Losses, metrics and activations in JavaScript. The C++ tests check their values.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, signsOf, waves } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([8, 3]);
const y = signsOf(x);
/** A probability for each row. */
const probabilities = () => et.sequential([et.layers.dense({ units: 1, activation: 'sigmoid' })]);
/** Names whose targets are class indices, or lists of them. */
const ofClasses = /^(sparse|categoricalGeneralized|ctc)/;

/** Without an example: those outside the table of classes, those that need a function, and RemoteMonitor, which needs HTTP. */
const withoutExample = { layers: ['inputLayer', 'lambda'], callbacks: ['learningRateScheduler', 'remoteMonitor', 'lambda'] };

test('every class is created by its documented example, and again from its config', () => {
  const declarations = readFileSync(new URL(import.meta.resolve('etude-ml/dist/options.d.mts')), 'utf8');
  const factories = {};
  for (const [, call, family, factory] of declarations.matchAll(/ \* @example (et\.(\w+)\.(\w+)\(.*\))\n/g)) {
    (factories[family] ??= new Set()).add(factory);
    const object = new Function('et', `return ${call}`)(et);
    if (family === 'callbacks') continue; // they have no config
    const { serialize, deserialize } = et[family];
    assert.deepEqual(serialize(deserialize(serialize(object))), serialize(object), call);
  }
  for (const family of ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'regularizers', 'constraints', 'callbacks']) {
    const without = Object.keys(et[family]).filter((factory) => !factories[family].has(factory));
    assert.deepEqual(without, withoutExample[family] ?? [], family);
  }
});

test('every loss trains, by name and by function', async () => {
  for (const [name, make] of Object.entries(et.losses)) {
    if (ofClasses.test(name)) continue;
    for (const loss of [name, make()]) {
      const model = probabilities();
      model.compile({ optimizer: 'sgd', loss });
      const { history } = await model.fit(x, y, { ...quiet, epochs: 1 });
      assert.ok(Number.isFinite(history.loss[0]), name);
    }
  }
});

test('rescaling has a scale and an offset for each channel', async () => {
  const model = et.sequential([et.input({ shape: [2] }), et.layers.rescaling({ scale: [2, 0.5], offset: [1, 0] })]);
  assertClose([...(await model.predict([[1, 2], [3, 4]], quiet)).data], [3, 1, 7, 2]);
});

test('a weighted metric with ignoreClass divides by the weights of the classes that count', async () => {
  const model = et.sequential([et.layers.rescaling({ scale: 1 })]);
  const metric = () => et.metrics.sparseCategoricalCrossentropy({ ignoreClass: 0 });
  model.compile({ loss: (yTrue, yPred) => et.ops.mean(yPred), metrics: [metric()], weightedMetrics: [metric()] });
  const yPred = [[0.8, 0.1, 0.1], [0.05, 0.95, 0], [0.1, 0.8, 0.1]];
  const [, plain, weighted] = await model.evaluate(yPred, et.tensor(Int32Array.of(0, 1, 2)), { ...quiet, sampleWeight: [0.5, 1.5, 2] });
  // Keras 3.15.1; with weights Keras 2.12.1 gives the same. Dividing by all weights gives 1.1705.
  assertClose([plain, weighted], [0.7846261859, 1.3377457857]);
});

/** The options that a metric requires. */
const required = {
  sensitivityAtSpecificity: { specificity: 0.5 }, specificityAtSensitivity: { sensitivity: 0.5 },
  precisionAtRecall: { recall: 0.5 }, recallAtPrecision: { precision: 0.5 },
  ioU: { numClasses: 2, targetClassIds: [0] }, meanIoU: { numClasses: 2 },
  oneHotIoU: { numClasses: 2, targetClassIds: [0] }, oneHotMeanIoU: { numClasses: 2 },
  meanRelativeError: { normalizer: 2 },
};

test('every metric has a value, by function', async () => {
  for (const [name, make] of Object.entries(et.metrics)) {
    if (/^(sparse|mean$|sum$|pearson)/.test(name)) continue; // a single column has no correlation: NaN, as in Keras
    const model = probabilities();
    const metric = make(required[name]);
    model.compile({ optimizer: 'sgd', loss: 'mse', metrics: [metric] });
    const { history } = await model.fit(x, y, { ...quiet, epochs: 1 });
    const figures = Object.keys(history).filter((log) => log.startsWith(metric.name));
    assert.ok(figures.length > 0 && figures.every((log) => Number.isFinite(history[log][0])), name);
  }
});

test('a metric with the state of another one has the value of the rows of both', async () => {
  const [whole, first, second] = [0, 1, 2].map(() => et.metrics.meanSquaredError());
  const evaluate = (metric, from, to) => {
    const model = et.sequential([et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
    model.compile({ loss: 'mse', metrics: [metric] });
    return model.evaluate(x.slice(from, to), y.slice(from, to), { ...quiet, returnDict: true });
  };
  const expected = (await evaluate(whole, 0, 8)).mean_squared_error;
  await evaluate(first, 0, 3);
  await evaluate(second, 3, 8);
  first.mergeState([second]);
  const numbers = first.variables.map((variable) => variable.value().data[0]);
  assert.ok(Math.abs(numbers[0] / numbers[1] - expected) < 1e-6, `${numbers} ${expected}`);
});

test('every activation is found by its name, and accepts options as a function', async () => {
  for (const name of Object.keys(et.activations)) {
    if (name === 'glu') continue;
    const model = et.sequential([et.layers.dense({ units: 1, activation: name })]);
    assert.ok((await model.predict(x, quiet)).data.every(Number.isFinite), name);
  }
  const layer = et.layers.dense({
    units: 2,
    activation: (v) => et.activations.leakyRelu(v, { negativeSlope: 0.5 }),
    kernelInitializer: et.initializers.constant({ value: -2 }),
  });
  assert.deepEqual([...(await et.sequential([layer]).predict([[1]], quiet)).data], [-1, -1]);
});

test('the initializer Constant broadcasts an array to the weight, and the model saves it', async () => {
  const kernel = et.tensor([[1, 2], [3, 4], [5, 6]]);
  const model = et.sequential([
    et.layers.dense({ units: 2, kernelInitializer: et.initializers.constant({ value: kernel }), biasInitializer: et.initializers.constant({ value: [7, 8] }) }),
  ]);
  assert.deepEqual([...(await model.predict([[1, 1, 1]], quiet)).data], [16, 20]);
  const twin = et.modelFromJson(model.toJson());
  assert.deepEqual([...(await twin.predict([[1, 1, 1]], quiet)).data], [16, 20]);
  const wrong = et.layers.dense({ units: 2, kernelInitializer: et.initializers.constant({ value: [1, 2, 3] }) });
  assert.throws(() => wrong.call([[1]]), { kind: 'shape', message: /^\[Constant\] / });
});

test('weights satisfy their constraints after each update, and a loaded model has them', async () => {
  const model = et.sequential([
    et.layers.dense({ units: 2, kernelConstraint: et.constraints.maxNorm({ maxValue: 0.25 }), biasConstraint: 'non_neg' }),
  ]);
  for (const each of [model, et.modelFromJson(model.toJson())]) {
    each.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.5 }), loss: 'mse' });
    await each.fit(x, waves([8, 2]), { ...quiet, epochs: 3 });
    const [kernel, bias] = each.getWeights();
    for (const column of [0, 1]) assert.ok(Math.hypot(...[0, 1, 2].map((row) => kernel.data[2 * row + column])) < 0.25 + 1e-6);
    assert.ok(bias.data.every((number) => number >= 0));
  }
  assert.throws(() => et.layers.dense({ units: 2, kernelConstraint: 'positive' }).call([[1]]), { message: /^\[constraint\] "positive" - expected one of: / });
});

test('several optimizers update the variables whose names they have', async () => {
  const model = et.sequential([et.layers.dense({ units: 4, name: 'first' }), et.layers.dense({ units: 1 })]);
  model.compile({
    optimizer: et.optimizers.multiOptimizer({ defaultOptimizer: et.optimizers.sgd({ learningRate: 0 }), optimizerMap: { 'first/.*': 'adam' } }),
    loss: 'mse',
  });
  model.build([-1, 3]);
  const before = model.getWeights().map(({ data }) => [...data]);
  await model.fit(x, y, { ...quiet, epochs: 1 });
  const changed = model.getWeights().map(({ data }, index) => data.some((number, i) => number !== before[index][i]));
  assert.deepEqual(changed, [true, true, false, false]);
});

test('causal convolutions, RMSNormalization and Muon learn a delayed sum', async () => {
  et.setRandomSeed(3);
  const rows = waves([64, 12, 1]);
  const sums = et.tensor(Array.from({ length: 64 }, (_, row) => [rows.data[row * 12 + 11] + rows.data[row * 12 + 9]]));
  const model = et.sequential([
    et.layers.conv1d({ filters: 8, kernelSize: 3, padding: 'causal', activation: 'relu' }),
    et.layers.rmsNormalization(),
    et.layers.flatten(),
    et.layers.dense({ units: 1 }),
  ]);
  model.compile({ optimizer: et.optimizers.muon({ learningRate: 0.02 }), loss: 'mse' });
  const { history } = await model.fit(rows, sums, { ...quiet, epochs: 20 });
  assert.ok(history.loss.at(-1) < 0.1 * history.loss[0], `${history.loss}`);
  assert.deepEqual(model.layers[0].outputShape.slice(1), [12, 8], 'as many steps as before');
  assert.throws(() => et.layers.conv1d({ filters: 2, kernelSize: [2, 3] }), { kind: 'value', message: /kernelSize = \[2, 3\] - expected one number/ });
});

test('every class of a family has the name of C++ in camelCase, and unknown options are refused', () => {
  for (const family of ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'regularizers', 'constraints', 'callbacks'])
    for (const name of Object.keys(et[family])) {
      if (name === 'lambda') continue;
      assert.throws(() => et[family][name]({ noSuchOption: 1 }), { name: 'EtudeError', message: /unknown option "noSuchOption"/ }, `${family}.${name}`);
    }
});

test('a recurrent layer of model.layers has its own methods', () => {
  const model = et.sequential([et.layers.lstm({ units: 2 }), et.layers.dense({ units: 1 })]);
  assert.equal(typeof model.layers[0].resetState, 'function');
  assert.equal(model.layers[1].resetState, undefined);
});

test('an Embedding may have its first weights, and recurrent layers accept useCudnn', async () => {
  const weights = [[1, 2], [3, 4], [5, 6]];
  const embedding = et.layers.embedding({ inputDim: 3, outputDim: 2, weights });
  assert.deepEqual(embedding.call([[2, 0]]).array(), [[[5, 6], [1, 2]]]);
  assert.ok(!('weights' in et.layers.serialize(embedding).config));
  await assertError(() => et.layers.embedding({ inputDim: 3, outputDim: 1, weights }), 'shape', 'weights of shape [3, 2]');
  for (const useCudnn of ['auto', true, false]) assert.ok(!('use_cudnn' in et.layers.serialize(et.layers.lstm({ units: 1, useCudnn })).config));
  await assertError(() => et.layers.gru({ units: 1, useCudnn: 'always' }), 'value', 'useCudnn');
});
