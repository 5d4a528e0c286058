/** Fashion-MNIST: 28 × 28 grey pixels of clothes, in ten classes. */
import * as et from 'etude-ml';
import { expanded, reader } from './streams';

export const classNames = ['T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Ankle boot'];
export const side = 28;
const pixels = side * side;

/** Images and labels. The first ones can be used while the others are being loaded. */
export class Samples {
  /** [count, 28, 28], one after the other; zeros for images that are not loaded yet. */
  readonly images: Uint8Array;
  readonly labels: Uint8Array;
  /** The number of loaded images. */
  arrived = 0;
  /** Called when more images are loaded, or loading has failed. */
  onArrival = () => {};
  private failure: unknown;
  private waiting: (() => void)[] = [];

  private constructor(labels: Uint8Array) {
    this.labels = labels;
    this.images = new Uint8Array(labels.length * pixels);
  }

  /** The first `count` samples of a part, "train" or "t10k": labels are loaded, images start to load. */
  static async open(part: 'train' | 't10k', count = Infinity) {
    const labels = (await et.data.readIdx(`fashion-mnist/${part}-labels-idx1-ubyte.gz`)).data as Uint8Array;
    const samples = new Samples(labels.slice(0, Math.min(count, labels.length)));
    samples.receive(`fashion-mnist/${part}-images-idx3-ubyte.gz`).catch((error: unknown) => {
      samples.failure = error;
      samples.wake();
    });
    return samples;
  }

  get count() {
    return this.labels.length;
  }

  /** Resolves when the first `count` images are loaded. */
  async until(count: number) {
    while (this.arrived < Math.min(count, this.count)) {
      if (this.failure) throw this.failure;
      await new Promise<void>((awake) => this.waiting.push(awake));
    }
  }

  /** Batches of all samples: in random order if all are loaded, else in the order of loading. */
  async *batches(size: number, shuffle = true): AsyncGenerator<[et.Tensor, et.Tensor], void> {
    const order = Uint32Array.from(this.labels, (_, sample) => sample);
    if (shuffle && this.arrived === this.count) mix(order);
    for (let begin = 0; begin < this.count; begin += size) {
      await this.until(begin + size);
      yield this.some(order.subarray(begin, begin + size));
    }
  }

  private wake() {
    for (const awake of this.waiting.splice(0)) awake();
    this.onArrival();
  }

  /** The images and labels of some samples. */
  private some(chosen: Uint32Array): [et.Tensor, et.Tensor] {
    const x = new Uint8Array(chosen.length * pixels);
    chosen.forEach((sample, row) => x.set(this.images.subarray(sample * pixels, (sample + 1) * pixels), row * pixels));
    return [et.tensor(x, [chosen.length, side, side]), et.tensor(Uint8Array.from(chosen, (sample) => this.labels[sample]!), [chosen.length])];
  }

  /** Reads an IDX file while it is loaded. */
  private async receive(address: string) {
    const file = reader(await expanded(address));
    await file.skip(4 + 3 * 4); // its header: a type and three extents
    for (let filled = 0; filled < this.images.length;) {
      const piece = await file.some(this.images.length - filled);
      if (!piece) throw new Error(`[fashion] "${address}" ends after ${this.arrived} images - expected ${this.count} - load the page again.`);
      this.images.set(piece, filled);
      filled += piece.length;
      this.arrived = Math.floor(filled / pixels);
      this.wake();
    }
    while (await file.some(Infinity)) continue; // reads to the end: the browser reports an unread rest as a failure
  }
}

/** Shuffles numbers. */
function mix(order: Uint32Array) {
  for (let last = order.length - 1; last > 0; --last) {
    const other = Math.floor(Math.random() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
}
