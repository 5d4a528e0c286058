// Shared by the programs of the guide: training data, and the report of results.
import * as et from 'etude-ml';

/** `rows` points of 8 waves each, and a target that is not a linear function of them. The same numbers as in samples.hpp. */
export function samples(rows) {
  const x = Float32Array.from({ length: 8 * rows }, (_, i) => Math.sin(i * 1.7) * Math.cos(i * 0.013));
  const y = Float32Array.from({ length: rows }, (_, row) => {
    const [a, b, c, d] = x.subarray(8 * row, 8 * row + 4);
    return a * b + Math.abs(c) - 0.5 * d;
  });
  return [et.tensor(x, [rows, 8]), et.tensor(y, [rows, 1])];
}

/** The first images of Fashion-MNIST, [rows, 784], from 0 to 1. */
export async function images(rows) {
  const folder = process.env.ETUDE_FASHION_MNIST ?? '/usr/share/datasets/fashion-mnist';
  const bytes = await et.data.readIdx(`${folder}/train-images-idx3-ubyte${process.env.ETUDE_FASHION_MNIST ? '' : '.gz'}`);
  return et.tensor(Float32Array.from(bytes.data.subarray(0, rows * 784), (byte) => byte / 255), [rows, 784]);
}

/** Prints the results of the last epoch; ./dev test guide compares this line in both languages. */
export function report(what, { history }) {
  const figures = Object.entries(history).map(([name, values]) => `${name}=${values.at(-1).toFixed(5)}`);
  console.log(`${what}: ${figures.join(' ')}`);
}
