// Small data, small models, and checks of error texts.
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as et from 'etude-ml';

/** Deterministic numbers between -1 and 1 that look random. */
export const waves = (shape, phase = 0) => {
  const size = shape.reduce((product, extent) => product * extent, 1);
  return et.tensor(Float32Array.from({ length: size }, (_, i) => Math.sin(phase + 1.7 * (i + 1))), shape);
};

/** [rows, 1] with 0 or 1: whether the row's sum is positive. */
export const signsOf = (x) =>
  et.tensor(x.array().map((row) => [Number(row.reduce((sum, value) => sum + value, 0) > 0)]));

/** One unit without bias whose kernel is all ones: y = sum of x. */
export const summing = (options) =>
  et.sequential([et.layers.dense({ units: 1, useBias: false, kernelInitializer: 'ones' })], options);

/** x -> tanh -> one unit, with the same initial weights each time. */
export function twoDense(options) {
  const seeded = (seed) => et.initializers.glorotUniform({ seed });
  const layers = [
    et.layers.dense({ units: 4, activation: 'tanh', kernelInitializer: seeded(1) }),
    et.layers.dense({ units: 1, kernelInitializer: seeded(2) }),
  ];
  return et.sequential(layers, options);
}

export const mse = (learningRate = 0.1) => ({ optimizer: et.optimizers.sgd({ learningRate }), loss: 'mse' });

/** A compiled model with batch normalization and dropout, which is the same at each call. */
export function withDropout() {
  et.setRandomSeed(7);
  const model = et.sequential([
    et.layers.dense({ units: 6, activation: 'relu' }),
    et.layers.batchNormalization(),
    et.layers.dropout({ rate: 0.3 }),
    et.layers.dense({ units: 1, activation: 'sigmoid' }),
  ]);
  model.compile({ optimizer: 'adam', loss: 'binary_crossentropy', metrics: ['accuracy'] });
  return model;
}

/** All weights, one after the other. */
export const weightsOf = (model) => model.getWeights().flatMap((weight) => [...weight.data]);

export function assertClose(actual, expected, tolerance = 1e-6) {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= tolerance, `[${actual}] is not [${expected}]`));
}

/** Whether a message uses JavaScript's spelling: no C++ syntax, no names of C++. Quoted names and lists of choices are not checked. */
export function assertJavaScript(message) {
  const said = message.replace(/^\[[^\]]*\]/, '').replace(/"[^"]*"/g, '""').replace(/expected (one|some) of: .*? - |loss=\S+/g, '');
  assert.doesNotMatch(said, /\{\.|::|->|NumPy arrays|nullptr|\b[a-z]+_[a-z0-9_]+\b/, `C++ in "${message}"`);
}

/** Runs a function that must fail, with an EtudeError of this kind, in Étude's form, whose text contains all of `texts`. */
export async function assertError(action, kind, ...texts) {
  let error;
  try {
    await action();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error !== undefined, 'nothing was thrown');
  assert.ok(error instanceof et.EtudeError && error instanceof Error, `${error?.stack ?? error}`);
  assert.match(error.message, /^\[[^\]]+\] ([^]+ - [^]+ - |[^]*expect[^]+( - |\. ))[^]+\.$/i, 'the house form: [where] what came - what was expected - what to do.');
  assertJavaScript(error.message);
  for (const text of texts) assert.ok(error.message.includes(text), `"${error.message}" does not say "${text}"`);
  assert.equal(error.kind, kind, error.message);
  assert.match(error.stack, /test\.mjs|support\.mjs/, `the stack does not lead to the caller: ${error.stack}`);
  return error;
}

/** Replaces fetch, within a test, by one that has only these files, in any folder; returns the list of what was asked. */
export function fetchOf(t, files) {
  const asked = [];
  t.mock.method(globalThis, 'fetch', async (address) => {
    const { pathname, search } = new URL(address), name = decodeURIComponent(pathname.split('/').pop());
    asked.push(name + search);
    return name in files ? new Response(files[name]) : new Response('', { status: 404 });
  });
  return asked;
}

/** Collects garbage, and lets finalizers run. */
export async function collect() {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  for (let i = 0; i < 5; ++i) {
    gc();
    await turn();
  }
}
