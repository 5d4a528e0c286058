// A part of a training, as continuity.cpp; the same in Node.js and in a page.

/** Trains, and returns { batches, loss, accuracy }; of an interrupted training only the batches. */
export async function train(et, kind, path, ...numbers) {
  const resumes = kind === 'resume';
  const stop = resumes && numbers.length ? numbers[0] : -1;
  const [first, last] = resumes ? [0, 4] : numbers;
  const draws = !path.endsWith('.keras');

  let phase = 0;
  const x = et.tensor(Float32Array.from({ length: 44 * 5 }, () => Math.sin((phase += 1.7))), [44, 5]);
  const y = et.tensor(x.array().map((row) => [Number(row.reduce((sum, value) => sum + value, 0) > 0)]));

  function newModel() {
    const model = et.sequential([
      et.layers.dense({ units: 6, activation: 'relu' }),
      et.layers.batchNormalization(),
      et.layers.dropout({ rate: draws ? 0.3 : 0 }),
      et.layers.dense({ units: 1, activation: 'sigmoid' }),
    ]);
    // A callback reduces the rate of a fit that resumes.
    const learningRate = resumes ? 0.001 : et.schedules.exponentialDecay({ initialLearningRate: 0.005, decaySteps: 5, decayRate: 0.9 });
    model.compile({ optimizer: et.optimizers.adam({ learningRate }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
    return model;
  }

  et.setRandomSeed(7);
  const model = first > 0 ? et.loadModel(path) : newModel();
  let batches = 0;
  const interrupter = {
    onTrainBatchBegin() {
      if (batches++ === stop) throw new RangeError('interrupted');
    },
  };
  const options = { batchSize: 8, epochs: last, verbose: 0, callbacks: [interrupter], initialEpoch: first, shuffle: draws };
  if (resumes) {
    options.validationData = [x, y];
    options.callbacks.push(et.callbacks.reduceLrOnPlateau({ monitor: 'loss', patience: 1 }));
    options.callbacks.push(et.callbacks.backupAndRestore({ backupDir: path, saveFreq: 2 }));
  }
  try {
    const { history } = await model.fit(x, y, options);
    if (!resumes) model.save(path);
    return { batches, loss: history.loss, accuracy: history.accuracy };
  } catch (error) {
    if (error.message !== 'interrupted') throw error;
    return { batches };
  }
}
