// Values that a trace turns into constants, steps without an optimizer, and variables that a model reads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, summing, waves, weightsOf } from './support.mjs';

const { ops } = et;
const quiet = { verbose: 0, batchSize: 4 };
const x = waves([8, 3]);
const y = signsOf(x);

/** The text that is written to stderr meanwhile. */
async function stderrOf(action) {
  const write = process.stderr.write;
  let text = '';
  process.stderr.write = (chunk) => {
    text += typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk);
    return true;
  };
  try {
    await action();
  } finally {
    process.stderr.write = write;
  }
  return text;
}

const scaledBy = (factor) =>
  summing({
    trainStep(data) {
      const loss = ops.multiply(ops.mean(ops.square(ops.subtract(data.y, this.call(data.x, true)))), factor());
      this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
      return { loss };
    },
  });

test('checkTrace names the op in which Math.random became a constant', async () => {
  const model = scaledBy(Math.random);
  model.compile({ ...mse(), checkTrace: true });
  await assertError(() => model.fit(x, y, quiet), 'state', 'Multiply of shape []', 'in one trace and with');
  let now = 0;
  const timed = scaledBy(() => (now += 0.25));
  timed.compile({ ...mse(), checkTrace: true });
  await assertError(() => timed.fit(x, y, quiet), 'state', '0.25', '0.5');
  const steady = scaledBy(() => 0.5);
  steady.compile({ ...mse(), checkTrace: true });
  await steady.fit(x, y, quiet);
  const unchecked = scaledBy(Math.random);
  unchecked.compile(mse());
  await unchecked.fit(x, y, quiet);
});

test('checkTrace detects Date.now in a step that is traced within a millisecond', async () => {
  for (let i = 0; i < 20; ++i) {
    const model = scaledBy(Date.now);
    model.compile({ ...mse(), checkTrace: true });
    await assertError(() => model.fit(x, y, quiet), 'state', 'Multiply of shape []', 'in one trace and with');
  }
});

test('a train step without an optimizer is a warning, once', async () => {
  const model = summing({
    trainStep(data) {
      return { loss: this.computeLoss(data, this.call(data.x, true)) };
    },
  });
  model.compile(mse());
  const text = await stderrOf(() => model.fit(x, y, { ...quiet, batchSize: 3, epochs: 2 }));
  assert.equal(text.match(/changes no trainable variable/g)?.length, 1, text);
  assert.equal(await stderrOf(() => model.fit(x, y, quiet)), '');
});

test('jitCompile is accepted as by Keras; with runEagerly it is a warning, and useMultiprocessing has no effect', async () => {
  const model = summing({});
  for (const jitCompile of ['auto', true, false]) model.compile({ ...mse(), jitCompile });
  await model.fit(x, y, { ...quiet, useMultiprocessing: true });
  const text = await stderrOf(() => model.compile({ ...mse(), runEagerly: true, jitCompile: true }));
  assert.match(text, /If `runEagerly` is true, then `jitCompile` cannot also be true/);
  await assertError(() => model.compile({ ...mse(), jitCompile: 'always' }), 'value', 'jitCompile = "always"');
});

const ones = (name, trainable = true) => et.variable(et.tensor(new Float32Array([1, 1, 1]), [3]), trainable, name);
const weighing = (...variables) =>
  et.model({
    layers: [],
    call: (x) => ops.sum(variables.reduce((product, variable) => ops.multiply(product, variable.read()), x), [-1], true),
  });

test("a variable that a model's call reads is trained, counted, saved and loaded", async () => {
  const path = 'tracing.safetensors';
  const own = ones('own');
  const model = weighing(own, ones('own'), ones('fixed', false));
  model.compile(mse());
  await model.fit(x, y, quiet);
  assert.equal(model.countParams(), 9);
  assert.deepEqual(model.trainableVariables.map(({ name }) => name), ['own', 'own']);
  assert.deepEqual(model.nonTrainableVariables.map(({ name }) => name), ['fixed']);
  assert.notDeepEqual([...own.value().data], [1, 1, 1]);
  let summary = '';
  model.summary({ printFn: (text) => (summary += text) });
  assert.match(summary, /Trainable params: 6/);

  const { mkdtempSync, rmSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const folder = mkdtempSync(`${tmpdir()}/tracing-`);
  try {
    model.saveWeights(`${folder}/${path}`);
    const loaded = weighing(ones('own'), ones('own'), ones('fixed', false));
    loaded.build([-1, 3]);
    loaded.loadWeights(`${folder}/${path}`);
    assert.deepEqual(weightsOf(loaded), weightsOf(model));
    await assertError(() => model.save(`${folder}/model`), 'value');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a variable that is created within call is a warning, and no weight', async () => {
  const model = et.model({ layers: [], call: (x) => ops.sum(ops.multiply(x, ones('anew').read()), [-1], true) });
  const text = await stderrOf(() => model.predict(x, quiet));
  assert.match(text, /the variable "anew" is created within call/);
  assert.equal(model.countParams(), 0);
});
