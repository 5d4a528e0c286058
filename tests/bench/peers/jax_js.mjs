// jax-js on its WebAssembly device: one jitted function is the whole step (forward, loss, gradients, update, sums for the logs).
// Arrays are owned: a function consumes its arguments, `.ref` keeps a value for one more use.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Clock } from './clock.mjs';
import { dataOf, shuffledBatches } from './data.mjs';
import { initialWeights } from './initial_weights.mjs';

globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node}` }; // missing in Node 20, required by jax-js
const { init, defaultDevice, jit, lax, nn, numpy: np, random, tree, valueAndGrad } = await import('@jax-js/jax');

const activations = { relu: (z) => nn.relu(z), tanh: (z) => np.tanh(z), undefined: (z) => z };

function dense(x, kernel, bias) {
  return np.matmul(x, kernel).add(bias);
}

/** Layers take x, their weights, their definition, and the key of the step's random draws. Images are [batch, channels, height, width]. */
const calls = {
  Dense: (x, [kernel, bias], { config }) => activations[config.activation](dense(x, kernel, bias)),
  Conv2D: (x, [kernel, bias], { config }) =>
    activations[config.activation](lax.conv(x, kernel, [1, 1], 'VALID').add(bias.reshape([1, config.filters, 1, 1]))),
  MaxPooling2D(x, _, { config: { pool_size: size }, output: [height, width, channels] }) {
    const whole = x.slice([], [], [0, height * size], [0, width * size]);
    return np.max(whole.reshape([-1, channels, height, size, width, size]), [3, 5]);
  },
  Flatten: (x, _, { output }) => x.reshape([-1, ...output]),
  Dropout(x, _, { config: { rate } }, key) {
    if (!key) return x;
    const kept = random.bernoulli(key.ref, 1 - rate, x.shape);
    return np.where(kept, x.mul(1 / (1 - rate)), 0);
  },
  LayerNormalization(x, [scale, offset], { config: { epsilon } }) {
    const centred = x.ref.sub(np.mean(x, -1, { keepdims: true }));
    const variance = np.mean(np.square(centred.ref), -1, { keepdims: true });
    return centred.div(np.sqrt(variance.add(epsilon))).mul(scale).add(offset);
  },
  GlobalAveragePooling1D: (x) => np.mean(x, 1),
  /** Unrolled: jax-js has no scan. The input product is hoisted out of the loop. */
  LSTM(x, [kernel, recurrent, bias], { input: [steps], config: { units } }) {
    const projected = np.unstack(dense(x, kernel, bias), 1);
    let h, c;
    for (let t = 0; t < steps; ++t) {
      const z = h ? projected[t].add(np.matmul(h, recurrent.ref)) : projected[t];
      const [i, f, g, o] = np.split(z, 4, 1);
      const written = nn.sigmoid(i).mul(np.tanh(g));
      if (c) c = nn.sigmoid(f).mul(c).add(written);
      else {
        f.dispose();
        c = written;
      }
      h = nn.sigmoid(o).mul(np.tanh(c.ref));
    }
    tree.dispose([c, recurrent]);
    return h;
  },
  /** Unrolled, too. Keras's reset_after: the reset gate multiplies the recurrent product with its bias. */
  GRU(x, [kernel, recurrent, biases], { input: [steps], config: { units } }) {
    const [bias, recurrentBias] = np.unstack(biases, 0);
    const projected = np.unstack(dense(x, kernel, bias), 1);
    let h = np.zeros([projected[0].shape[0], units]);
    for (let t = 0; t < steps; ++t) {
      const [z, r, g] = np.split(projected[t], 3, 1);
      const [ofZ, ofR, ofG] = np.split(dense(h.ref, recurrent.ref, recurrentBias.ref), 3, 1);
      const kept = nn.sigmoid(z.add(ofZ));
      const written = np.tanh(g.add(nn.sigmoid(r.add(ofR)).mul(ofG)));
      h = kept.ref.mul(h).add(written.mul(kept.neg().add(1)));
    }
    tree.dispose([recurrent, recurrentBias]);
    return h;
  },
  Embedding: (x, [vectors], { config }) => np.matmul(nn.oneHot(x, config.input_dim), vectors),
  Positions: (x, [vectors]) => x.add(vectors),
  MultiHeadAttention(x, weights, { input: [steps, features], config: { num_heads: heads, key_dim: size, causal } }) {
    const width = heads * size;
    const project = (kernel, bias, order) =>
      dense(x.ref, kernel.reshape([features, width]), bias.reshape([width])).reshape([-1, steps, heads, size]).transpose(order);
    const query = project(weights[0], weights[1], [0, 2, 1, 3]);
    const key = project(weights[2], weights[3], [0, 2, 3, 1]);
    const value = project(weights[4], weights[5], [0, 2, 1, 3]);
    x.dispose();
    // nn.dotProductAttention does the same by einsum, which needs a feature of Node.js 22.
    const products = np.matmul(query, key).mul(1 / Math.sqrt(size));
    const scores = nn.softmax(causal ? products.add(later(steps)) : products, -1);
    const joined = np.matmul(scores, value).transpose([0, 2, 1, 3]).reshape([-1, steps, width]);
    return dense(joined, weights[6].reshape([width, features]), weights[7]);
  },
  Residual: (x, weights, { inner }, key) => x.ref.add(forward(inner, weights, x, key)),
};

/** [steps, steps]: 0 for keys up to the query, -1e9 for later ones. */
function later(steps) {
  const values = Float32Array.from({ length: steps * steps }, (_, i) => (i % steps > Math.floor(i / steps) ? -1e9 : 0));
  return np.array(values, { shape: [steps, steps] });
}

function forward(layers, weights, x, key) {
  return layers.reduce((h, layer, i) => calls[layer.name](h, weights[i], layer, key), x);
}

/** Initial weights, nested like the layers. */
function makeWeights(layers, weightsOf) {
  return layers.map((layer) => {
    if (layer.inner) return makeWeights(layer.inner, weightsOf);
    const weights = weightsOf(layer).map(({ shape, values }) => np.array(values, { shape }));
    if (layer.name === 'Conv2D') weights[0] = np.transpose(weights[0], [3, 2, 0, 1]);
    return weights;
  });
}

const losses = {
  /** [mean loss, number of correct predictions] of logits [.., classes] and class ids [..]. */
  sparse_categorical_crossentropy(z, y) {
    const correct = np.argmax(z.ref, -1).equal(y.ref).astype(np.float32).sum();
    const classes = z.shape.at(-1);
    return [nn.logSoftmax(z, -1).mul(nn.oneHot(y, classes)).sum(-1).mean().neg(), correct];
  },
  /** [mean of max(z, 0) - z·y + log1p(exp(-|z|))]; y [batch, 1] in {0, 1}. */
  binary_crossentropy: (z, y) => [nn.relu(z.ref).sub(z.ref.mul(y)).add(np.log1p(np.exp(np.absolute(z).neg()))).mean()],
};
const labels = {
  sparse_categorical_crossentropy: { Type: Int32Array, options: { dtype: np.int32 } },
  binary_crossentropy: { Type: Float32Array, options: {} },
};

const updates = {
  sgd: ({ weights }, gradients, { learningRate }) => ({ weights: tree.map((w, g) => w.sub(g.mul(learningRate)), weights, gradients), slots: [] }),
  rmsprop({ weights, slots: [velocities] }, gradients, { learningRate, rho, epsilon }) {
    const next = tree.map((v, g) => v.mul(rho).add(np.square(g).mul(1 - rho)), velocities, tree.ref(gradients));
    const updated = tree.map((w, g, v) => w.sub(g.mul(learningRate).div(np.sqrt(v.add(epsilon)))), weights, gradients, tree.ref(next));
    return { weights: updated, slots: [next] };
  },
  /** `rate` is the learning rate with the step's bias corrections. */
  adam({ weights, slots: [means, squares] }, gradients, { beta1, beta2, epsilon }, rate) {
    const m = tree.map((m, g) => m.mul(beta1).add(g.mul(1 - beta1)), means, tree.ref(gradients));
    const v = tree.map((v, g) => v.mul(beta2).add(np.square(g).mul(1 - beta2)), squares, gradients);
    const updated = tree.map((w, m, v) => w.sub(m.mul(rate.ref).div(np.sqrt(v).add(epsilon))), weights, tree.ref(m), tree.ref(v));
    return { weights: updated, slots: [m, v] };
  },
};

/** (state, batch) → state; state.sums collects [loss, metrics…] over an epoch. */
function makeStep(work) {
  return jit(({ sums, ...state }, { x, y, key, rate }) => {
    const lossOf = (weights) => {
      const [loss, ...metrics] = losses[work.loss](forward(work.layers, weights, x, key), y);
      return [loss, metrics];
    };
    const [[loss, metrics], gradients] = valueAndGrad(lossOf, { hasAux: true })(tree.ref(state.weights));
    return { ...updates[work.optimizer](state, gradients, work, rate), sums: sums.map((sum, i) => sum.add([loss, ...metrics][i])) };
  });
}

/** Channels of images are the second axis. */
const inputShape = ({ batch, input }) => [batch, ...(input.length === 3 ? [input[2], input[0], input[1]] : input)];

/** (rows, step) → the inputs of one step. */
function batcher(work, data, seed) {
  const { Type, options } = labels[work.loss];
  const shape = inputShape(work);
  const size = shape.slice(1).reduce((a, b) => a * b);
  const ids = work.layers[0].name === 'Embedding';
  const x = new (ids ? Int32Array : Float32Array)(work.batch * size);
  const targets = data.y.length / data.samples;  // of a sample
  const y = new Type(work.batch * targets);
  const targetShape = Type === Int32Array && targets === 1 ? [work.batch] : [work.batch, targets];
  const draws = work.layers.some(({ name }) => name === 'Dropout');
  const { learningRate, beta1, beta2 } = work;
  return (rows, step) => {
    rows.forEach((row, k) => {
      x.set(data.x.subarray(row * size, (row + 1) * size), k * size);
      y.set(data.y.subarray(row * targets, (row + 1) * targets), k * targets);
    });
    const rate = (learningRate * Math.sqrt(1 - beta2 ** step)) / (1 - beta1 ** step);
    return {
      x: np.array(x, { shape, ...(ids && { dtype: np.int32 }) }),
      y: np.array(y, { shape: targetShape, ...options }),
      ...(draws && { key: random.key(seed * 1e6 + step) }),
      ...(beta1 && { rate: np.array(rate) }),
    };
  };
}

function train(work, data, weights, clock, seed) {
  const perEpoch = Math.floor(data.samples / work.batch);
  const newSums = () => Array.from({ length: work.loss.startsWith('sparse') ? 2 : 1 }, () => np.zeros([]));
  const slots = Array.from({ length: work.slots }, () => tree.map((w) => np.zeros(w.shape), weights));
  let state = { weights, slots, sums: newSums() };
  const step = makeStep(work);
  const batches = shuffledBatches(data.samples, work.batch, seed);
  const batchOf = batcher(work, data, seed);
  for (let i = 1, inEpoch = 1; ; ++i, ++inEpoch) {
    if (inEpoch > perEpoch) {
      tree.dispose(state.sums);
      state.sums = newSums();
      inEpoch = 1;
    }
    state = step(state, batchOf(batches.next().value, i));
    const [sum] = state.sums[0].ref.dataSync(); // lazy until it is read; reading one output runs the whole step
    clock.note(() => sum / inEpoch);
    if (clock.tick()) return;
  }
}

export async function run(work, { seed, seconds }) {
  await init('wasm');
  defaultDevice('wasm');
  const weights = makeWeights(work.layers, initialWeights(seed));
  const parameters = tree.leaves(weights).reduce((sum, { size }) => sum + size, 0);
  const clock = new Clock(seconds);
  train(work, dataOf(work), weights, clock, seed);
  return { version: versionOf('@jax-js/jax'), parameters, ...clock.summary(work.batch) };
}

function versionOf(name) {
  const entry = createRequire(import.meta.url).resolve(name);
  return JSON.parse(readFileSync(entry.replace(/dist[/\\][^/\\]*$/, 'package.json'))).version;
}
