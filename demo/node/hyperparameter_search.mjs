// Searches for the hyperparameters of trial.mjs.
import * as et from 'etude-ml';

const config = {
  name: 'ring',
  searcher: { name: 'asha', metric: 'loss', timeMetric: 'epochs', maxTime: 10, maxTrials: 8, maxRungs: 2 },
  hyperparameters: {
    learning_rate: { type: 'log', minval: -4, maxval: -1 },
    units: { type: 'int', minval: 4, maxval: 64 },
  },
  storage: 'ring_search',
  seed: 1,
};

const { best, trials } = await et.experiment.runSearch(config, {
  worker: new URL('./trial.mjs', import.meta.url),
  maxConcurrent: 2,
  report: ({ trial }, change) => console.log(`trial ${trial} ${change}`),
});
if (best === 0) throw new Error('all trials failed');
console.log(`loss ${trials[best - 1].best.toFixed(3)} with`, trials[best - 1].hparams);
