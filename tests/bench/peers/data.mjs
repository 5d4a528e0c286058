// The data of every peer, and random numbers for initial weights. Plain typed arrays, no library.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const folder = '/usr/share/datasets/fashion-mnist';

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

function readIdx(name) {
  const path = join(folder, name);
  if (!existsSync(path)) throw new Error(`[bench] no ${path} - expected Fashion-MNIST's IDX files - install Debian's dataset-fashion-mnist.`);
  const bytes = gunzipSync(readFileSync(path));
  return bytes.subarray(4 + 4 * bytes[3]);
}

const sources = {
  /** The training images in file order: x [samples, 784] in 0…1, y [samples] class ids. */
  fashion_mnist(samples) {
    const pixels = readIdx('train-images-idx3-ubyte.gz').subarray(0, samples * 784);
    const y = Float32Array.from(readIdx('train-labels-idx1-ubyte.gz').subarray(0, samples));
    return { x: Float32Array.from(pixels, (pixel) => pixel / 255), y, samples: y.length };
  },
  /** The first images in the middle of 32 · 32 pixels with three equal channels: x [6400, 3072]. */
  fashion_mnist_32() {
    const { x, y, samples } = sources.fashion_mnist(6400), wide = new Float32Array(samples * 3072);
    x.forEach((pixel, i) => {
      const n = Math.floor(i / 784), row = Math.floor((i % 784) / 28) + 2, column = (i % 28) + 2;
      wide.fill(pixel, ((n * 32 + row) * 32 + column) * 3, ((n * 32 + row) * 32 + column + 1) * 3);
    });
    return { x: wide, y, samples };
  },
  /**
   * Words of a made-up language of 256 words, common ones first, as ASCII codes: x [1024, 64], y [1024, 64] the successors.
   */
  words() {
    const next = uniform(7), below = (n) => Math.floor(next() * n);
    const dictionary = Array.from({ length: 256 }, () => {
      const codes = Array.from({ length: 2 + below(6) }, () => 0);
      return `${String.fromCharCode(...codes.map(() => 97 + below(26)))} `;
    });
    let text = '';
    while (text.length <= 65536) text += dictionary[Math.floor(256 * next() ** 2)];
    const codes = Float32Array.from(text, (letter) => letter.charCodeAt(0));
    return { x: codes.slice(0, 65536), y: codes.slice(1, 65537), samples: 1024 };
  },
  /** Two spirals: point i of arm a has r = i/256 and the angle 3.5πr + aπ; sample 2i + a. x [512, 2], y [512] in {0, 1}. */
  spirals() {
    const x = new Float32Array(1024);
    const y = new Float32Array(512);
    for (let i = 0; i < 256; ++i) {
      for (let arm = 0; arm < 2; ++arm) {
        const r = i / 256;
        const angle = (3.5 * r + arm) * Math.PI;
        x.set([r * Math.cos(angle), r * Math.sin(angle)], 2 * (2 * i + arm));
        y[2 * i + arm] = arm;
      }
    }
    return { x, y, samples: 512 };
  },
};

/** { x, y, samples } of a workload. */
export const dataOf = ({ data, images = 60000 }) => sources[data](images);

/** Endless batches of row numbers, with a new permutation in each epoch. */
export function* shuffledBatches(samples, batch, seed) {
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
