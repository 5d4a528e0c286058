// Layers that preprocess, in models and alone. tests/preprocessing_….cpp and the conformance cases have their numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, mse, signsOf, waves } from './support.mjs';

test('a layer adapts to a tensor, or to a dataset, and its statistics are weights', async () => {
  const x = [[1, 10], [3, 30]];
  for (const data of [x, et.data.fromTensorSlices({ x }), et.data.fromTensorSlices({ x }).batch(2)]) {
    const layer = et.layers.normalization();
    assert.equal(await layer.adapt(data), undefined);
    assertClose([...layer.call(x).data], [-1, -1, 1, 1]);
    assert.deepEqual(layer.getWeights().map((weight) => weight.array()), [[2, 20], [1, 100]]);
    assert.equal(layer.trainableVariables.length, 0);
  }
  const bins = et.layers.discretization({ numBins: 2 });
  await assertError(() => bins.call([1]), 'state', 'adapt()');
  await bins.adapt([1, 2, 3, 4]);
  assert.deepEqual(bins.call([0, 5]).array(), [0, 1]);
  await assertError(() => et.layers.discretization({ binBoundaries: [1] }).adapt([1]), 'state', 'binBoundaries');
});

test('a model preprocesses its inputs, also after it was saved', async () => {
  const x = waves([8, 6, 6, 3]), y = signsOf(waves([8, 3]));
  const model = et.sequential([
    et.layers.randomFlip({ mode: 'horizontal', seed: 1 }), et.layers.randomRotation({ factor: 0.1, seed: 2 }),
    et.layers.randomErasing({ valueRange: [-1, 1], fillValue: 0, seed: 3 }), et.layers.resizing({ height: 3, width: 4 }),
    et.layers.flatten(), et.layers.dense({ units: 1 }),
  ]);
  model.compile(mse());
  const { history } = await model.fit(x, y, { epochs: 2, verbose: 0 });
  assert.ok(history.loss.every(Number.isFinite));
  const again = et.modelFromJson(model.toJson());
  again.build([-1, 6, 6, 3]);
  again.setWeights(model.getWeights());
  assert.deepEqual((await again.predict(x, { verbose: 0 })).data, (await model.predict(x, { verbose: 0 })).data);
  assert.equal(model.layers[3].outputShape[2], 4);
});

test('bytes are images, and wrong options are errors', async () => {
  const image = et.tensor(Uint8Array.of(0, 2), [1, 1, 2, 1]);
  const resized = et.layers.resizing({ height: 1, width: 8 }).call(image);
  assert.deepEqual([resized.dtype, [...resized.data]], ['uint8', [0, 0, 0, 1, 1, 2, 2, 2]]);
  assert.equal(et.layers.solarization().call(image, true).dtype, 'float32');
  await assertError(() => et.layers.resizing({ height: 0, width: 2 }), 'value', 'height = 0');
  await assertError(() => et.layers.randomZoom({ heightFactor: 2 }), 'value', 'heightFactor = [2]');
});
