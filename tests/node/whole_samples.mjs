// Data and checks of whole models.
import * as et from 'etude-ml';

/** A generator of pseudorandom whole numbers in [0, count). */
export function draws(seed) {
  let state = seed >>> 0;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % count;
  };
}

/** Images [count, size, size, 1] with a bright square of 4 by 4 in one of four corners; its mask; and the corner. */
export function squares(count, size = 12) {
  const below = draws(7), half = size / 2;
  const x = new Float32Array(count * size * size), mask = new Float32Array(x.length), corner = new Int32Array(count);
  for (let i = 0; i < count; ++i) {
    const which = (corner[i] = below(4));
    const top = Math.floor(which / 2) * half + below(half - 3), left = (which % 2) * half + below(half - 3);
    for (let row = 0; row < size; ++row)
      for (let column = 0; column < size; ++column) {
        const inside = row >= top && row < top + 4 && column >= left && column < left + 4;
        const at = (i * size + row) * size + column;
        mask[at] = Number(inside);
        x[at] = mask[at] + below(100) / 250;
      }
  }
  const images = [count, size, size, 1];
  return { x: et.tensor(x, images), mask: et.tensor(mask, images), corner: et.tensor(corner, [count, 1]) };
}

/** Points [count, 2] on a circle of radius 2. */
export const ring = (count) => et.tensor(Array.from({ length: count }, (_, i) => [2 * Math.cos(0.7 * i), 2 * Math.sin(0.7 * i)]));

export const epochs = (count) => ({ batchSize: 32, epochs: count, verbose: 0 });
export const adam = (learningRate, more = {}) => et.optimizers.adam({ learningRate, ...more });
export const classifier = (learningRate = 0.01) => ({
  optimizer: adam(learningRate),
  loss: et.losses.sparseCategoricalCrossentropy({ fromLogits: true }),
  metrics: ['accuracy'],
});
/** The last loss divided by the first. */
export async function lossRatio(model, x, y, count) {
  const { history } = await model.fit(x, y, epochs(count));
  return history.loss.at(-1) / history.loss[0];
}
/** One figure of evaluate. */
export const figure = async (model, data, name) => (await model.evaluate(...data, { verbose: 0, returnDict: true }))[name];
