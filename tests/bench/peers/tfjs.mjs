// TensorFlow.js: model.fit as its users call it, on the wasm or the plain JavaScript backend. One thread either way.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Clock } from './clock.mjs';
import { initialWeights, uniform } from './workloads.mjs';

// Both backends must register with the same tfjs-core, so everything is loaded the way its own packages load it: CommonJS.
const require = createRequire(import.meta.url);

async function loadBackend(name) {
  const core = require('@tensorflow/tfjs-core');
  core.enableProdMode();
  const layers = require('@tensorflow/tfjs-layers');
  if (name === 'wasm') {
    const wasm = require('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(join(dirname(require.resolve('@tensorflow/tfjs-backend-wasm')), '/'));
    wasm.setThreadsCount(1);
  } else {
    require('@tensorflow/tfjs-backend-cpu');
  }
  if (!(await core.setBackend(name))) throw new Error(`the ${name} backend of TensorFlow.js did not start`);
  await core.ready();
  return { core, layers };
}

function buildModel({ core, layers }, name, { sizes, activations, seed, ...w }) {
  const model = layers.sequential({
    layers: activations.map((activation, i) => layers.layers.dense({ units: sizes[i + 1], activation, ...(i === 0 && { inputShape: [sizes[0]] }) })),
  });
  model.setWeights(initialWeights(sizes, seed).flatMap(({ kernel, bias, inputs, units }) => [core.tensor2d(kernel, [inputs, units]), core.tensor1d(bias)]));
  if (name === 'mlp') {
    model.compile({ optimizer: core.train.rmsprop(w.learningRate, w.rho, 0, w.epsilon), loss: 'sparseCategoricalCrossentropy', metrics: ['accuracy'] });
  } else {
    model.compile({ optimizer: core.train.sgd(w.learningRate), loss: 'binaryCrossentropy' });
  }
  return model;
}

export async function run(backend, name, workload, { folder, warmup, steps }) {
  const tf = await loadBackend(backend);
  Math.random = uniform(workload.seed); // fit shuffles with it
  const { batch, sizes } = workload;
  const wanted = warmup + steps;
  const data = workload.data(folder, Math.min(60000, wanted * batch));
  const perEpoch = Math.floor(data.samples / batch);
  const model = buildModel(tf, name, workload);
  const x = tf.core.tensor2d(data.x, [data.samples, sizes[0]]);
  const y = tf.core.tensor2d(data.y, [data.samples, 1]);
  const clock = new Clock(warmup, steps);
  class Ticker extends tf.layers.Callback {
    async onBatchEnd() {
      clock.tick(); // its logs stay untouched, so nothing is read back for it
    }
  }
  // BaseLogger and History are fit's own; a Callback object, unlike a table of functions, makes fit never yield.
  const history = await model.fit(x, y, { batchSize: batch, epochs: Math.ceil(wanted / perEpoch), verbose: 0, yieldEvery: 'never', callbacks: [new Ticker()] });
  return { version: tf.core.version_core, ...clock.summary(batch), final_loss: history.history.loss.at(-1) };
}
