// et.ops on SymbolicTensors; the tensors of layers; sequential models that know their input; summary, modelToDot and
// plotModel.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const { layers, ops } = et;
const quiet = { verbose: 0 };
const input = (name, shape = [3]) => et.input({ shape, name });
const seeded = (units, name) => layers.dense({ units, name, kernelInitializer: et.initializers.glorotUniform({ seed: 7 }) });
const rowsOf = (model, options) => {
  let text = '';
  model.summary({ ...options, printFn: (part) => (text += part) });
  return text.split('\n').filter((line) => line.startsWith('│')).map((line) => line.split('│').slice(1, -1).map((cell) => cell.trim()).join('|'));
};
const edges = (dot) => dot.match(/layer_\d+->layer_\d+/g) ?? [];

test('ops compute the same bits as the layers that merge', async () => {
  const [a, b] = [input('a'), input('b')];
  const byOps = et.model({ inputs: [a, b], outputs: [ops.add(a, b), ops.subtract(a, b), ops.multiply(a, b)] });
  const byLayers = et.model({ inputs: [a, b], outputs: [layers.add(), layers.subtract(), layers.multiply()].map((layer) => layer.apply([a, b])) });
  for (const rows of [1, 7]) {
    const x = [waves([rows, 3]), waves([rows, 3], 2)];
    const [got, want] = [await byOps.predictOutputs(x, quiet), await byLayers.predictOutputs(x, quiet)];
    got.forEach(({ data }, i) => assert.deepEqual([...data], [...want[i].data]));
  }
});

test('a number may be on both sides, and a Tensor is a constant', async () => {
  const x = input('x');
  const constant = et.tensor([1, 2, 3]);
  const outputs = [ops.add(x, 1), ops.subtract(1, x), ops.divide(6, x), ops.multiply(constant, x), ops.maximum(x, constant), ops.where(ops.greater(x, 1.5), x, constant)];
  const model = et.model({ inputs: [x], outputs });
  const y = await model.predictOutputs(et.tensor([[1, 2, 3], [-1, -2, -3]]), quiet);
  assert.deepEqual(y.map(({ data }) => [...data]), [
    [2, 3, 4, 0, -1, -2], [0, -1, -2, 2, 3, 4], [6, 3, 2, -6, -3, -2], [1, 4, 9, -1, -4, -9], [1, 2, 3, 1, 2, 3], [1, 2, 3, 1, 2, 3],
  ]);
  assert.equal(model.countParams(), 0);
});

test('ops accept lists and options, and return lists', async () => {
  const [a, b] = [input('a', [4]), input('b', [2])];
  const halves = ops.split(a, 2, -1);
  assert.deepEqual(halves.map(({ shape }) => shape), [[-1, 2], [-1, 2]]);
  const joined = ops.concatenate([halves[1], b], -1);
  const squares = ops.reshape(a, [-1, 2, 2]);
  const outputs = [joined, ops.sum(a, [1], true), ops.clip(a, 2, 3), ops.matmul(squares, squares, false, true), et.activations.leakyRelu(ops.negate(a), { negativeSlope: 0.5 }), ops.expandDims(ops.argmax(a), -1)];
  const y = await et.model({ inputs: [a, b], outputs }).predictOutputs([et.tensor([[1, 2, 3, 4]]), et.tensor([[0, 5]])], quiet);
  assert.deepEqual(y.map(({ data }) => [...data]), [[3, 4, 0, 5], [10], [2, 2, 3, 3], [5, 11, 11, 25], [-0.5, -1, -1.5, -2], [3]]);
  assert.deepEqual(y[3].shape, [1, 2, 2]);
});

test('shapes are -1 in all axes that depend on the batch; wrong shapes are errors at the call', async () => {
  const x = input('x', [4]);
  assert.deepEqual(ops.transpose(x).shape, [4, -1]);
  assert.deepEqual(ops.matmul(x, ops.transpose(x)).shape, [-1, -1]);
  assert.deepEqual(ops.sum(x).shape, []);
  assert.equal(ops.equal(x, 1).dtype, 'bool');
  await assertError(() => ops.add(x, input('y')), 'shape', '[1, 4] and [1, 3]');
  await assertError(() => et.model({ inputs: [x], outputs: [ops.sum(x)] }), 'shape', 'an output of shape []');
  await assertError(() => ops.add(x), 'value', 'ops.add');
  await assertError(() => ops.exp('x'), 'value', 'a Value');
});

test('gradients flow through ops', async () => {
  const make = (join) => {
    const x = input('x');
    return et.model({ inputs: [x], outputs: [seeded(1, 'last').apply(join(x, seeded(3, 'first').apply(x)))] });
  };
  const models = [make((a, b) => ops.add(a, b)), make((a, b) => layers.add().apply([a, b]))];
  const before = weightsOf(models[0]);
  const x = waves([8, 3]);
  for (const model of models) {
    model.compile(mse());
    await model.fit(x, signsOf(x), { ...quiet, batchSize: 4, epochs: 3, shuffle: false });
  }
  assert.notDeepEqual(weightsOf(models[0]), before);
  assert.deepEqual(weightsOf(models[0]), weightsOf(models[1]));
});

test('ops are saved in the form of Keras; one that Keras lacks is named in the error', async () => {
  const [x, y] = [input('x', [2, 3]), input('y', [2, 3])];
  const outputs = [
    ops.multiply(ops.tanh(ops.add(x, y)), 2), ops.subtract(3, x), ops.add(x, et.tensor([1, 2, 0.5])), ops.sum(x, [1], true), ops.sum(x, [1, 2]),
    ops.mean(x, [2]), ops.reshape(x, [-1, 6]), ops.slice(x, -1, 1, 2), ops.concatenate([x, y], -1), ops.split(x, 3, -1)[1], ops.softmax(x), ops.clip(x, 0, 1),
    ops.where(ops.less(x, y), x, y), ops.matmul(x, ops.transpose(y, [0, 2, 1])), ops.einsum('bij,bkj->bik', x, y), et.activations.leakyRelu(x, { negativeSlope: 0.5 }),
    et.activations.elu(x), et.activations.silu(x),
  ];
  const model = et.model({ inputs: [x, y], outputs });
  const text = model.toJson();
  const twin = et.modelFromJson(text);
  assert.equal(twin.toJson(), text);
  const data = [waves([4, 2, 3]), waves([4, 2, 3], 1)];
  const [got, want] = [await twin.predictOutputs(data, quiet), await model.predictOutputs(data, quiet)];
  got.forEach(({ data, shape }, i) => assert.deepEqual([shape, ...data], [want[i].shape, ...want[i].data]));
  const configs = Object.fromEntries(JSON.parse(text).config.layers.map(({ class_name, config: { name, ...config } }) => [class_name, config]));
  // Keras 3.15.1: to_json() of the same ops.
  assert.deepEqual(configs.Sum, { axis: [1, 2], keepdims: false });
  assert.deepEqual(configs.LeakyRelu, { negative_slope: 0.5 });
  assert.deepEqual(configs.Einsum, { subscripts: 'bij,bkj->bik' });
  assert.deepEqual(configs.Transpose, { axes: [0, 2, 1] });

  const error = (output) => () => et.model({ inputs: [x], outputs: [output] }).toJson();
  await assertError(error(et.activations.mish(x)), 'value', 'an op without a config');
  await assertError(error(ops.cumsum(x, 1, true)), 'value', "which Keras's Cumsum does not have");
  const sum = et.model({ inputs: [x], outputs: [ops.sum(x, [1], true)] });
  assert.match(sum.layers[1].name, /^sum/);
  const clone = et.cloneModel(sum);
  assertClose([...(await clone.predict([[[1, 2, 3], [4, 5, 6]]], quiet)).data], [5, 7, 9]);
});

test('a layer that is called once has an input and an output; several calls are an error', async () => {
  const x = input('x');
  const dense = layers.dense({ units: 2, name: 'd' });
  await assertError(() => dense.output, 'state', 'called 0 times');
  const y = dense.apply(x);
  assert.equal(dense.input.name, 'x');
  assert.deepEqual(dense.output.shape, [-1, 2]);
  const model = et.model({ inputs: [x], outputs: [seeded(1, 'head').apply(y)] });
  const features = et.model({ inputs: model.inputs, outputs: [model.layers[1].output] });
  const data = waves([4, 3]);
  assert.deepEqual([...(await features.predict(data, quiet)).data], [...dense.call(data).data]);
  assert.deepEqual(model.output.shape, [-1, 1]);
  const again = dense.apply(x);
  await assertError(() => dense.output, 'state', 'called 2 times');
  assert.deepEqual(again.shape, y.shape);
  class Twice extends et.Layer {
    call(v) {
      return ops.multiply(v, 2);
    }
  }
  const twice = new Twice();
  const doubled = twice.apply(x);
  assert.deepEqual(twice.outputs.map(({ shape }) => shape), [doubled.shape]);
});

test('a sequential model that begins with an input is built at once', async () => {
  const data = waves([6, 3]);
  const want = [...(await twoDense().predict(data, quiet)).data];
  for (const first of [et.input({ shape: [3] }), layers.inputLayer({ shape: [3] })]) {
    const model = et.sequential([first, ...twoDense().layers]);
    assert.ok(model.built);
    assert.equal(model.layers.length, 2);
    assert.deepEqual([...(await model.predict(data, quiet)).data], want);
    assert.deepEqual(model.inputs.map(({ shape }) => shape), [[-1, 3]]);
    model.pop();
    assert.deepEqual(model.output.shape, [-1, 4]);
    model.add(layers.dense({ units: 5 }));
    assert.deepEqual(model.output.shape, [-1, 5]);
    assert.equal(et.modelFromJson(model.toJson()).countParams(), model.countParams());
  }
  const later = et.sequential();
  later.add(et.input({ shape: [3] }));
  later.add(layers.dense({ units: 2 }));
  assert.equal(later.countParams(), 8);
  await assertError(() => later.add(et.input({ shape: [3] })), 'value', 'after other layers');
  await assertError(() => et.sequential([layers.dense({ units: 1 }).apply(input('x'))]), 'value', 'a layer, or an input');
});

test('summary lists inner layers, flags and a range of layers', async () => {
  const inner = et.sequential([et.input({ shape: [4] }), layers.dense({ units: 3, name: 'd1' }), layers.dense({ units: 2, name: 'd2', trainable: false })], { name: 'inner' });
  const x = input('x', [4]);
  const model = et.model({ inputs: [x], outputs: [layers.dense({ units: 1, name: 'out' }).apply(inner.apply(x))] });
  // The rows of Keras 3.15.1.
  const rows = ['x (InputLayer)|(None, 4)|0|-', 'inner (Sequential)|(None, 2)|23|Y', '└ d1 (Dense)|(None, 3)|15|Y', '└ d2 (Dense)|(None, 2)|8|N', 'out (Dense)|(None, 1)|3|Y'];
  assert.deepEqual(rowsOf(model, { expandNested: true, showTrainable: true }), rows);
  assert.deepEqual(rowsOf(model, { layerRange: ['inner', 'out'] }), ['inner (Sequential)|(None, 2)|23', 'out (Dense)|(None, 1)|3']);
  await assertError(() => model.summary({ layerRange: ['nothing', 'out'] }), 'value', 'layerRange');
  await assertError(() => model.summary({ showtrainable: true }), 'value', 'unknown option "showtrainable"');

  const dot = et.modelToDot(model, { showShapes: true, rankdir: 'LR' });
  assert.match(dot, /^digraph G \{[^]*rankdir=LR;[^]*Output shape: <b>\(None, 2\)<\/b>[^]*\}\n$/);
  assert.equal(edges(dot).length, 2);
  assert.equal(edges(et.modelToDot(model, { expandNested: true })).length, 3);
  await assertError(() => et.modelToDot(model, { rankdir: 'up' }), 'value', 'rankdir');
});

test('plotModel draws a model by @viz-js/viz, and writes files', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'etude-plot-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const x = input('x'), model = et.model({ inputs: [x], outputs: [layers.dense({ units: 2, name: 'hidden', activation: 'relu' }).apply(x)] });
  const svg = await et.plotModel(model, { showLayerActivations: true });
  assert.match(svg, /<svg [^]*>Dense<[^]*>relu<[^]*<\/svg>\s*$/);
  assert.doesNotMatch(svg, />hidden</);
  const file = join(folder, 'model.svg');
  assert.match(await et.plotModel(model, { toFile: file, showLayerNames: true }), />hidden</);
  assert.match(readFileSync(file, 'utf8'), />hidden</);
  const given = [];
  const viz = { renderString: (...of) => (given.push(of), 'drawn') };
  assert.equal(await et.plotModel(model, { viz, rankdir: 'LR', dpi: 50, showLayerNames: undefined }), 'drawn');
  assert.deepEqual(given, [[et.modelToDot(model, { showLayerNames: false, rankdir: 'LR', dpi: 50 }), { format: 'svg' }]]);
  const dot = await et.plotModel(model, { toFile: join(folder, 'model.dot') });
  assert.deepEqual([dot, readFileSync(join(folder, 'model.dot'), 'utf8')], [et.modelToDot(model, { showLayerNames: false }), dot]);
  await assertError(() => et.plotModel(model, { toFile: 'model.png' }), 'value', 'toFile: "model.png"');
  await assertError(() => et.plotModel(model, { toFile: join(folder, 'nowhere/model.svg') }), 'io', 'nowhere');
  await assertError(() => et.plotModel(et.sequential([layers.dense({ units: 1 })])), 'state', 'not built');
});
