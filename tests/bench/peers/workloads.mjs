// The two workloads every peer trains: data, starting weights and sizes. Plain typed arrays, no library.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A failure the user can mend; printed without a stack. */
export class UsageError extends Error {}

/** Uniform numbers in [0, 1) from a 32-bit seed (mulberry32). */
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Glorot-uniform kernels and zero biases for a chain of Dense layers: [{ kernel, bias, inputs, units }]. */
export function initialWeights(sizes, seed) {
  const next = uniform(seed);
  return sizes.slice(1).map((units, i) => {
    const inputs = sizes[i];
    const limit = Math.sqrt(6 / (inputs + units));
    return { inputs, units, kernel: Float32Array.from({ length: inputs * units }, () => (2 * next() - 1) * limit), bias: new Float32Array(units) };
  });
}

function readIdx(folder, name, magic) {
  const path = join(folder, name);
  if (!existsSync(path)) {
    throw new UsageError(`[peers] no ${path} - expected Fashion-MNIST's IDX files (Debian: dataset-fashion-mnist) - install them or pass --data FOLDER.`);
  }
  const bytes = gunzipSync(readFileSync(path));
  if (bytes.readUInt32BE(0) !== magic) throw new UsageError(`[peers] ${path} is not the IDX file it should be - expected magic ${magic}, found ${bytes.readUInt32BE(0)}.`);
  return bytes.subarray(4 + 4 * (magic & 255));
}

/** The first `samples` training images in file order: x [samples, 784] in 0…1, y [samples] class ids. */
export function fashionMnist(folder, samples) {
  const pixels = readIdx(folder, 'train-images-idx3-ubyte.gz', 2051).subarray(0, samples * 784);
  const labels = readIdx(folder, 'train-labels-idx1-ubyte.gz', 2049).subarray(0, samples);
  return { x: Float32Array.from(pixels, (p) => p / 255), y: Float32Array.from(labels), samples };
}

/** Two spirals: point i of arm a has r = i/256, θ = 1.75·2π·r + a·π; sample 2i + a. x [512, 2], y [512] in {0, 1}. */
export function spirals() {
  const x = new Float32Array(1024);
  const y = new Float32Array(512);
  for (let i = 0; i < 256; ++i) {
    for (let arm = 0; arm < 2; ++arm) {
      const r = i / 256;
      const theta = 1.75 * r * 2 * Math.PI + arm * Math.PI;
      x.set([r * Math.cos(theta), r * Math.sin(theta)], 2 * (2 * i + arm));
      y[2 * i + arm] = arm;
    }
  }
  return { x, y, samples: 512 };
}

export const workloads = {
  mlp: { sizes: [784, 512, 10], activations: ['relu', 'softmax'], batch: 128, seed: 1, learningRate: 1e-3, rho: 0.9, epsilon: 1e-7, data: fashionMnist },
  tiny: { sizes: [2, 16, 16, 1], activations: ['tanh', 'tanh', 'sigmoid'], batch: 32, seed: 1, learningRate: 0.1, data: () => spirals() },
};
