// jax-js on its WebAssembly device: one jitted function is the whole step (forward, loss, gradients, update, sums for the logs).
// Arrays are owned: a function consumes what it is given, `.ref` keeps a value for one more use.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Clock } from './clock.mjs';
import { initialWeights, uniform } from './workloads.mjs';

globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node}` }; // Node 20 has none, jax-js asks for it
const { init, defaultDevice, jit, nn, numpy: np, tree, valueAndGrad } = await import('@jax-js/jax');

const activate = { relu: (z) => nn.relu(z), tanh: (z) => np.tanh(z) };

function logits(weights, x, activations) {
  return weights.reduce((h, { kernel, bias }, i) => {
    const z = np.matmul(h, kernel).add(bias);
    return i + 1 < weights.length ? activate[activations[i]](z) : z;
  }, x);
}

/** Softmax crossentropy: [mean loss, [number of correct predictions]]; y [batch] class ids. */
function softmaxLoss(weights, x, y, { activations, sizes }) {
  const z = logits(weights, x, activations);
  const correct = np.argmax(z.ref, -1).equal(y.ref).astype(np.float32).sum();
  return [nn.logSoftmax(z, -1).mul(nn.oneHot(y, sizes.at(-1))).sum(-1).mean().neg(), [correct]];
}

/** Binary crossentropy: [mean of max(z, 0) - z·y + log1p(exp(-|z|)), []]; y [batch, 1] in {0, 1}. */
function sigmoidLoss(weights, x, y, { activations }) {
  const z = logits(weights, x, activations);
  return [nn.relu(z.ref).sub(z.ref.mul(y)).add(np.log1p(np.exp(np.absolute(z).neg()))).mean(), []];
}

function rmsprop({ weights, velocities }, gradients, { learningRate, rho, epsilon }) {
  const next = tree.map((v, g) => v.mul(rho).add(np.square(g).mul(1 - rho)), velocities, tree.ref(gradients));
  const updated = tree.map((w, g, v) => w.sub(g.mul(learningRate).div(np.sqrt(v.add(epsilon)))), weights, gradients, tree.ref(next));
  return { weights: updated, velocities: next };
}

function sgd({ weights }, gradients, { learningRate }) {
  return { weights: tree.map((w, g) => w.sub(g.mul(learningRate)), weights, gradients) };
}

const recipes = {
  mlp: { loss: softmaxLoss, update: rmsprop, labels: (y) => ({ values: Int32Array.from(y), options: { dtype: np.int32 } }) },
  tiny: { loss: sigmoidLoss, update: sgd, labels: (y) => ({ values: y, options: { shape: [32, 1] } }) },
};

/** (state, x, y) → state after one batch; state.sums collects [loss, metrics…] over an epoch. */
function makeStep({ loss, update }, workload) {
  return jit(({ sums, ...state }, x, y) => {
    const lossOf = valueAndGrad((weights) => loss(weights, x, y, workload), { hasAux: true });
    const [[value, metrics], gradients] = lossOf(tree.ref(state.weights));
    return { ...update(state, gradients, workload), sums: sums.map((s, i) => s.add([value, ...metrics][i])) };
  });
}

/** Endless batches of row numbers, a new permutation each epoch. */
function* shuffledBatches(samples, batch, seed) {
  const next = uniform(seed);
  const order = Uint32Array.from({ length: samples }, (_, i) => i);
  for (;;) {
    for (let i = samples - 1; i > 0; --i) {
      const j = Math.floor(next() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    for (let start = 0; start + batch <= samples; start += batch) yield order.subarray(start, start + batch);
  }
}

export async function run(name, workload, { folder, warmup, steps }) {
  await init('wasm');
  defaultDevice('wasm');
  const { batch, sizes } = workload;
  const recipe = recipes[name];
  const wanted = warmup + steps;
  const data = workload.data(folder, Math.min(60000, wanted * batch));
  const { values: labels, options } = recipe.labels(data.y);
  const perEpoch = Math.floor(data.samples / batch);
  const weights = initialWeights(sizes, workload.seed).map(({ kernel, bias, inputs, units }) => ({ kernel: np.array(kernel, { shape: [inputs, units] }), bias: np.array(bias) }));
  const newSums = () => (name === 'mlp' ? [np.zeros([]), np.zeros([])] : [np.zeros([])]);
  let state = { weights, sums: newSums(), ...(name === 'mlp' && { velocities: tree.map((w) => np.zeros(w.ref.shape), weights) }) };

  const step = makeStep(recipe, workload);
  const batches = shuffledBatches(data.samples, batch, workload.seed);
  const xBatch = new Float32Array(batch * sizes[0]);
  const yBatch = new labels.constructor(batch);
  const clock = new Clock(warmup, steps);
  let finalLoss;
  for (let i = 1; i <= wanted; ++i) {
    batches.next().value.forEach((row, k) => {
      xBatch.set(data.x.subarray(row * sizes[0], (row + 1) * sizes[0]), k * sizes[0]);
      yBatch[k] = labels[row];
    });
    state = step(state, np.array(xBatch, { shape: [batch, sizes[0]] }), np.array(yBatch, options));
    state.sums[0].ref.dataSync(); // lazy until somebody looks; reading one output runs the whole step
    if (i % perEpoch === 0 || i === wanted) {
      finalLoss = state.sums[0].ref.js() / (((i - 1) % perEpoch) + 1); // what a user reads once an epoch
      tree.dispose(state.sums);
      state.sums = newSums();
    }
    clock.tick();
  }
  const { version } = JSON.parse(readPackage('@jax-js/jax'));
  return { version, ...clock.summary(batch), final_loss: finalLoss };
}

function readPackage(name) {
  const entry = createRequire(import.meta.url).resolve(name);
  return readFileSync(entry.replace(/dist[/\\][^/\\]*$/, 'package.json'));
}
