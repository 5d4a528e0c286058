/** Fashion-MNIST as its page has it: 28 × 28 grey pixels of clothes, in ten classes. */
import * as et from 'etude';

export const classNames = ['T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Ankle boot'];
export const side = 28;

/** Images [count, 28, 28] and labels [count]. */
export interface Samples {
  x: et.Tensor;
  y: et.Tensor;
}

/** The first `count` samples of a part, "train" or "t10k". */
export async function load(part: 'train' | 't10k', count = Infinity): Promise<Samples> {
  const [x, y] = await Promise.all([
    et.data.readIdx(`fashion-mnist/${part}-images-idx3-ubyte.gz`),
    et.data.readIdx(`fashion-mnist/${part}-labels-idx1-ubyte.gz`),
  ]);
  const taken = Math.min(count, y.size);
  return { x: x.slice(0, taken), y: y.slice(0, taken) };
}
