import * as et from 'etude-ml';
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

/** Trains on batches of samples, some of which may still be loading. */
export function train(model: et.Model, samples: Samples, heldOut: Samples, batchSize: number, options: et.FitOptions) {
  const data = et.data.fromGenerator(() => samples.batches(batchSize));
  const validationData = et.data.fromGenerator(() => heldOut.batches(batchSize, false));
  return model.fit(data, { ...options, validationData });
}
