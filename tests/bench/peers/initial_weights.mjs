// Keras's initializers for the weights of definition.mjs.
import { uniform } from './data.mjs';

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** keras/src/initializers/random_initializers.py, compute_fans. */
function fans(shape) {
  const field = product(shape.slice(0, -2));
  return [shape.at(-2) * field, shape.at(-1) * field];
}

function normal(next) {
  return Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
}

/** Orthonormal rows, by the Gram-Schmidt method: [rows, columns], rows ≤ columns. */
function orthonormal(rows, columns, next) {
  const result = Array.from({ length: rows }, () => Float64Array.from({ length: columns }, () => normal(next)));
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  result.forEach((row, i) => {
    for (const done of result.slice(0, i)) {
      const along = dot(row, done);
      row.forEach((_, j) => (row[j] -= along * done[j]));
    }
    const length = Math.sqrt(dot(row, row));
    row.forEach((_, j) => (row[j] /= length));
  });
  return Float32Array.from(result.flatMap((row) => [...row]));
}

const initializers = {
  zeros: (shape) => new Float32Array(product(shape)),
  ones: (shape) => new Float32Array(product(shape)).fill(1),
  random_uniform: (shape, next) => Float32Array.from({ length: product(shape) }, () => 0.1 * next() - 0.05),
  glorot_uniform(shape, next) {
    const [inputs, outputs] = fans(shape);
    const limit = Math.sqrt(6 / (inputs + outputs));
    return Float32Array.from({ length: product(shape) }, () => (2 * next() - 1) * limit);
  },
  orthogonal: ([rows, columns], next) => orthonormal(rows, columns, next),
  /** Gates in the order i, f, c, o. */
  unit_forget_bias: ([size]) => new Float32Array(size).fill(1, size / 4, size / 2),
};

/** layer → [{ shape, values }] for its weights, reproducibly from the seed. */
export function initialWeights(seed) {
  const next = uniform(seed);
  return ({ weights }) => weights.map(({ shape, initializer }) => ({ shape, values: initializers[initializer](shape, next) }));
}
