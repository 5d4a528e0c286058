// Trains a model as a trial. Started again, it continues from its newest checkpoint.
import * as et from 'etude-ml';

/** Points in a plane, and whether each lies within a ring. */
function points(count) {
  const x = Float32Array.from({ length: 2 * count }, (_, i) => 2 * ((0.618034 * (i + 1) ** 1.5) % 1) - 1);
  const y = Float32Array.from({ length: count }, (_, i) => {
    const radius = Math.hypot(x[2 * i], x[2 * i + 1]);
    return radius > 0.4 && radius < 0.8 ? 1 : 0;
  });
  return [et.tensor(x, [count, 2]), et.tensor(y, [count, 1])];
}

async function train(context) {
  const { units = 32, learning_rate: learningRate = 0.01 } = context.info.trial.hparams;
  if (units < 1) throw new et.experiment.InvalidHP('units must be 1 or more');

  et.setRandomSeed(context.info.trial.trialSeed);
  const model = et.sequential([
    et.layers.dense({ units, activation: 'relu' }),
    et.layers.dense({ units, activation: 'relu' }),
    et.layers.dense({ units: 1, activation: 'sigmoid' }),
  ]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate }), loss: 'binary_crossentropy' });
  const [x, y] = points(2000);
  const options = { epochs: 10, verbose: 0, validationSplit: 0.2, validationFreq: [1, 2, 5, 10] };
  await context.fit(model, x, y, options, { checkpointFreq: 'epoch' });

  const best = context.loadModelFromCheckpoint(context.info.trial.trialId);
  console.log(`loss of the best checkpoint: ${(await best.evaluate(x, y, { verbose: 0 })).toFixed(3)}`);
  const dataset = et.data.fromTensorSlices(x).batch(100);
  await context.batchProcess(best, dataset, (outputs, batch, index) => {
    const inside = outputs[0].data.filter((probability) => probability > 0.5).length;
    context.train.reportMetrics('ring', index, { points: inside });
  });
}

await et.experiment.trialMain(train, { storage: 'ring', metric: 'val_loss' });
