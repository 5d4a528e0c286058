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
const ones = (...shape) => ({ shape, initializer: 'ones' });
const uniform = (...shape) => ({ shape, initializer: 'random_uniform' });

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
  /** A convolution with padding "same" and without a bias, batch normalization, and an activation. */
  NormalizedConv2D({ filters, kernel_size: k, strides }, [height, width, channels]) {
    const output = [Math.ceil(height / strides), Math.ceil(width / strides), filters];
    return { output, weights: [glorot(k, k, channels, filters), ones(filters), zeros(filters)], flops: 2 * product(output) * k * k * channels };
  },
  NormalizedDepthwiseConv2D({ kernel_size: k, strides }, [height, width, channels]) {
    const output = [Math.ceil(height / strides), Math.ceil(width / strides), channels];
    return { output, weights: [glorot(k, k, channels, 1), ones(channels), zeros(channels)], flops: 2 * product(output) * k * k };
  },
  GlobalAveragePooling2D: (_, [, , channels]) => ({ output: [channels] }),
  Embedding: ({ input_dim: tokens, output_dim: width }, input) => ({ output: [...input, width], weights: [uniform(tokens, width)] }),
  Positions: (_, input) => ({ output: input, weights: [uniform(...input)] }),
  MaxPooling2D: ({ pool_size: size }, [height, width, channels]) => ({ output: [Math.floor(height / size), Math.floor(width / size), channels] }),
  Flatten: (_, input) => ({ output: [product(input)] }),
  Dropout: (_, input) => ({ output: input }),
  LayerNormalization: (_, input) => ({ output: input, weights: [ones(input.at(-1)), zeros(input.at(-1))] }),
  GlobalAveragePooling1D: (_, [, features]) => ({ output: [features] }),
  LSTM: ({ units }, [steps, features]) => ({
    output: [units],
    weights: [glorot(features, 4 * units), { shape: [units, 4 * units], initializer: 'orthogonal' }, { shape: [4 * units], initializer: 'unit_forget_bias' }],
    flops: 2 * steps * (features + units) * 4 * units,
  }),
  GRU: ({ units }, [steps, features]) => ({
    output: [units],
    weights: [glorot(features, 3 * units), { shape: [units, 3 * units], initializer: 'orthogonal' }, zeros(2, 3 * units)],
    flops: 2 * steps * (features + units) * 3 * units,
  }),
  MultiHeadAttention: ({ num_heads: heads, key_dim: size }, [steps, features]) => ({
    output: [steps, features],
    weights: [...Array(3).fill([glorot(features, heads, size), zeros(heads, size)]).flat(), glorot(heads, size, features), zeros(features)],
    flops: 2 * steps * 4 * features * heads * size + 2 * 2 * steps * steps * heads * size,
  }),
  Residual: ({ layers, shortcut = [] }, input) => {
    const inner = walk(layers, input), other = walk(shortcut, input), all = [...inner, ...other];
    return { output: inner.at(-1).output, inner, shortcut: other, weights: all.flatMap((layer) => layer.weights), flops: all.reduce((sum, { flops }) => sum + flops, 0) };
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
  const inputGradient = ['LSTM', 'GRU'].includes(first.name) ? (first.flops * first.input[1]) / (first.input[1] + first.config.units) : first.flops;
  return { flops: batch * (3 * forward - inputGradient), bytes: 4 * parameters * (3 + 2 * slots) };
}
