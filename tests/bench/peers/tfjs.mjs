// TensorFlow.js on its WebAssembly backend, one thread: model.fit and model.predict as its users call them.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Clock, EpochMean } from './clock.mjs';
import { dataOf, uniform } from './data.mjs';
import { initialWeights } from './initial_weights.mjs';
import { makeMultiHeadAttention, makePositions } from './tfjs_attention.mjs';

// Both must use the same tfjs-core, so everything is loaded as its own packages load it: CommonJS.
const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs-core');
tf.enableProdMode();
const keras = require('@tensorflow/tfjs-layers');
const { layers: library } = keras;
const MultiHeadAttention = makeMultiHeadAttention(tf, keras), Positions = makePositions(tf, keras);

async function startBackend() {
  const wasm = require('@tensorflow/tfjs-backend-wasm');
  wasm.setWasmPaths(join(dirname(require.resolve('@tensorflow/tfjs-backend-wasm')), '/'));
  wasm.setThreadsCount(1);
  if (!(await tf.setBackend('wasm'))) throw new Error('the WebAssembly backend did not start');
  await tf.ready();
}

const makers = {
  Dense: ({ units, activation }) => library.dense({ units, activation }),
  Conv2D: ({ filters, kernel_size: kernelSize, activation }) => library.conv2d({ filters, kernelSize, activation }),
  MaxPooling2D: ({ pool_size: poolSize }) => library.maxPooling2d({ poolSize }),
  Flatten: () => library.flatten(),
  Dropout: ({ rate }) => library.dropout({ rate }),
  LayerNormalization: ({ epsilon }) => library.layerNormalization({ epsilon }),
  GlobalAveragePooling1D: () => library.globalAveragePooling1d({}),
  // Not its default hardSigmoid; weights are set below, so that it need not create an orthogonal matrix.
  LSTM: ({ units }) => library.lstm({ units, recurrentActivation: 'sigmoid', recurrentInitializer: 'zeros' }),
  MultiHeadAttention: ({ num_heads: heads, key_dim: size, causal }) => new MultiHeadAttention(heads, size, causal),
  Embedding: ({ input_dim: inputDim, output_dim: outputDim }) => library.embedding({ inputDim, outputDim }),
  Positions: () => new Positions(),
  // TensorFlow.js has only the GRU whose reset gate is applied before the product.
  GRU: ({ units }) => library.gru({ units, recurrentActivation: 'sigmoid', recurrentInitializer: 'zeros', resetAfter: true }),
};

/** Applies layers with new weights to a symbolic tensor. */
function apply(definitions, weightsOf, x) {
  for (const definition of definitions) {
    if (definition.name === 'Residual') {
      x = library.add().apply([x, apply(definition.inner, weightsOf, x)]);
      continue;
    }
    const layer = makers[definition.name](definition.config);
    x = layer.apply(x);
    layer.setWeights(weightsOf(definition).map(({ shape, values }) => tf.tensor(values, shape)));
  }
  return x;
}

const losses = {
  sparse_categorical_crossentropy: { activation: 'softmax', loss: 'sparseCategoricalCrossentropy', metrics: ['accuracy'] },
  binary_crossentropy: { activation: 'sigmoid', loss: 'binaryCrossentropy', metrics: [] },
};
const optimizers = {
  rmsprop: (w) => tf.train.rmsprop(w.learningRate, w.rho, 0, w.epsilon),
  adam: (w) => tf.train.adam(w.learningRate, w.beta1, w.beta2, w.epsilon),
  sgd: (w) => tf.train.sgd(w.learningRate),
};

function buildModel(work, seed) {
  const { activation, loss, metrics } = losses[work.loss];
  const inputs = keras.input({ shape: work.input });
  const outputs = library.activation({ activation }).apply(apply(work.layers, initialWeights(seed), inputs));
  const model = keras.model({ inputs, outputs });
  model.compile({ optimizer: optimizers[work.optimizer](work), loss, metrics });
  return model;
}

/** Records every step, and stops fit after enough measurements. */
class Ticker extends keras.Callback {
  constructor(clock, stepsPerEpoch) {
    super();
    this.clock = clock;
    this.mean = new EpochMean(stepsPerEpoch);
  }
  async onBatchEnd(_, { loss }) {
    this.mean.add(typeof loss === 'number' ? loss : loss.dataSync()[0]);
    this.clock.note(() => this.mean.value);
    if (this.clock.tick()) this.model.stopTraining = true;
  }
}

async function train(model, { x, y, samples }, { batch, input }, clock) {
  const rows = Math.floor(samples / batch) * batch; // full batches only
  const inputs = tf.tensor(x.subarray(0, rows * input.reduce((a, b) => a * b)), [rows, ...input]);
  const targets = tf.tensor(y.subarray(0, rows * (y.length / samples)), [rows, y.length / samples, 1].filter((extent, axis) => axis !== 1 || extent > 1));
  // A Callback object, unlike a table of functions, makes fit never yield.
  await model.fit(inputs, targets, { batchSize: batch, epochs: 1e6, verbose: 0, yieldEvery: 'never', callbacks: [new Ticker(clock, rows / batch)] });
}

function predict(model, { x, samples }, { batch, input }, clock) {
  const inputs = tf.tensor(x, [samples, ...input]);
  do {
    const outputs = model.predict(inputs, { batchSize: batch });
    outputs.dataSync();
    outputs.dispose();
  } while (!clock.tick());
}

export async function run(work, { seed, seconds }) {
  await startBackend();
  Math.random = uniform(seed); // fit shuffles with it
  const model = buildModel(work, seed);
  const clock = new Clock(seconds);
  await (work.images ? predict : train)(model, dataOf(work), work, clock);
  return { version: tf.version_core, parameters: model.countParams(), ...clock.summary(work.images ?? work.batch) };
}
