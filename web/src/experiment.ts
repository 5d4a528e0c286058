/**
 * Trials, which are trainings with given hyperparameters: they report metrics, store checkpoints, and end in time when
 * their machine is needed. Searches for hyperparameters, which run trials in workers.
 *
 *     const context = await et.experiment.init({ storage: 'mnist' });
 *     await context.fit(model, x, y, { epochs: 10, validationData: [xVal, yVal] });
 *     context.close();
 */
export { collectCheckpoints, listCheckpoints, CheckpointContext, NewCheckpoint, type Metadata, type RetentionRules, type StoredCheckpoint } from './checkpoints.js';
export { InvalidHP, Preempted, PreemptContext, preemptedExitCode, type PreemptOptions } from './preemption.js';
export { hyperparameterSearch, HyperparameterSearch, type HyperparameterSearchConfig, type SearchOperation } from './search.js';
export type { Hyperparameter, Hyperparameters, SearchConfig, SearcherOptions } from './search_config.js';
export { runSearch, type SearchResult, type SearchRunOptions, type TrialReport, type TrialWorker } from './search_run.js';
export { Context, TrainContext, clusterInfo, init, trainingCallback, type BatchProcessOptions, type ClusterInfo, type Config, type Settings, type TrainingOptions, type TrialInfo } from './trial.js';
export { trialMain } from './trial_main.js';
