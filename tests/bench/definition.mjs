// The sizes of a workload, from workloads.json, layer by layer.
import { readFileSync } from 'node:fs';

export const definitions = JSON.parse(readFileSync(new URL('workloads.json', import.meta.url), 'utf8'));

/** Keras's default hyperparameters, except tiny's learning rate. */
export const optimizers = {
  rmsprop: { learningRate: 1e-3, rho: 0.9, epsilon: 1e-7, slots: 1 },
  adam: { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-7, slots: 2 },
  sgd: { learningRate: 0.1, slots: 0 },
};

const product = (shape) => shape.reduce((a, b) => a * b, 1);
const glorot = (...shape) => ({ shape, initializer: 'glorot_uniform' });
const zeros = (...shape) => ({ shape, initializer: 'zeros' });

/** Per class, from its config and the shape of one sample: output shape, weights in Keras's order, FLOPs of one forward pass. */
const rules = {
  Dense: ({ units }, input) => {
    const inputs = input.at(-1);
    return { output: [...input.slice(0, -1), units], weights: [glorot(inputs, units), zeros(units)], flops: 2 * product(input) * units };
  },
  Conv2D: ({ filters, kernel_size: k }, [height, width, channels]) => {
    const output = [height - k + 1, width - k + 1, filters];
    return { output, weights: [glorot(k, k, channels, filters), zeros(filters)], flops: 2 * product(output) * k * k * channels };
  },
  MaxPooling2D: ({ pool_size: size }, [height, width, channels]) => ({ output: [Math.floor(height / size), Math.floor(width / size), channels] }),
  Flatten: (_, input) => ({ output: [product(input)] }),
  Dropout: (_, input) => ({ output: input }),
  LayerNormalization: (_, input) => ({ output: input, weights: [{ shape: [input.at(-1)], initializer: 'ones' }, zeros(input.at(-1))] }),
  GlobalAveragePooling1D: (_, [, features]) => ({ output: [features] }),
  LSTM: ({ units }, [steps, features]) => ({
    output: [units],
    weights: [glorot(features, 4 * units), { shape: [units, 4 * units], initializer: 'orthogonal' }, { shape: [4 * units], initializer: 'unit_forget_bias' }],
    flops: 2 * steps * (features + units) * 4 * units,
  }),
  MultiHeadAttention: ({ num_heads: heads, key_dim: size }, [steps, features]) => ({
    output: [steps, features],
    weights: [...Array(3).fill([glorot(features, heads, size), zeros(heads, size)]).flat(), glorot(heads, size, features), zeros(features)],
    flops: 2 * steps * 4 * features * heads * size + 2 * 2 * steps * steps * heads * size,
  }),
  Residual: ({ layers }, input) => {
    const inner = walk(layers, input);
    return { output: input, inner, weights: inner.flatMap((layer) => layer.weights), flops: inner.reduce((sum, { flops }) => sum + flops, 0) };
  },
};

/** The layers with their shapes: [{ name, config, input, output, weights: [{ shape, initializer }], flops, inner }]. */
export function walk(layers, input) {
  return layers.map(([name, config]) => {
    const layer = { name, config, input, weights: [], flops: 0, ...rules[name](config, input) };
    input = layer.output;
    return layer;
  });
}

/** The workload `name`: its model, whether it trains or predicts, and its sizes. */
export function workload(name) {
  const given = definitions[name];
  const trained = definitions[given.predict ?? name];
  const layers = walk(trained.layers, trained.input);
  const parameters = layers.flatMap((layer) => layer.weights).reduce((sum, { shape }) => sum + product(shape), 0);
  return { name, ...trained, images: given.images, layers, parameters, ...optimizers[trained.optimizer] };
}

/**
 * The minimum work of a step: FLOPs, a forward pass and twice that backwards, less the first layer's input gradient; and
 * bytes of the update, which reads gradient, weight and slots and writes the latter two. Predicting is forward passes.
 */
export function cost({ layers, parameters, batch, images, slots }) {
  const forward = layers.reduce((sum, { flops }) => sum + flops, 0);
  if (images) return { flops: images * forward, bytes: 0 };
  const [first] = layers;
  const inputGradient = first.name === 'LSTM' ? (first.flops * first.input[1]) / (first.input[1] + first.config.units) : first.flops;
  return { flops: batch * (3 * forward - inputGradient), bytes: 4 * parameters * (3 + 2 * slots) };
}
