// A trial for tests: $ETUDE_TRIAL and the arguments say what it does.
import * as et from 'etude-ml';
import { signsOf, waves, weightsOf } from './support.mjs';

const [storage, terminateAt = '0'] = process.argv.slice(2);

await et.experiment.trialMain(async (context) => {
  const { units = 4 } = context.info.trial.hparams;
  if (units < 1) throw new et.experiment.InvalidHP('units must be 1 or more');
  if (units > 100) throw new Error('too many units');
  et.setRandomSeed(context.info.trial.trialSeed);
  const model = et.sequential([et.layers.dense({ units, activation: 'tanh' }), et.layers.dropout({ rate: 0.2 }), et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'adam', loss: 'mse' });
  const x = waves([44, 5]);
  let steps = 0;
  const terminator = {
    onTrainBatchEnd() {
      if (++steps !== Number(terminateAt)) return;
      for (let i = 0; i < 2; ++i) process.kill(process.pid, 'SIGTERM'); // by a launcher of the same group, too
    },
  };
  await context.fit(model, x, signsOf(x), { epochs: 4, batchSize: 8, verbose: 0, validationSplit: 0.25, yieldEvery: 'batch', callbacks: [terminator] });
  console.log(JSON.stringify([steps, ...weightsOf(model)]));
}, { storage });
