import * as et from 'etude';
import type { Samples } from './fashion';

export function makeModel() {
  const model = et.sequential([
    et.layers.rescaling({ scale: 1 / 255 }),
    et.layers.flatten(),
    et.layers.dense({ units: 512, activation: 'relu' }),
    et.layers.dense({ units: 10, activation: 'softmax' }),
  ]);
  model.compile({ optimizer: 'rmsprop', loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
  return model;
}

export function train(model: et.Model, samples: Samples, heldOut: Samples, options: et.FitOptions) {
  return model.fit(samples.x, samples.y, { ...options, validationData: [heldOut.x, heldOut.y] });
}
