// A program of a TypeScript user of etude-ml/lite; it only has to compile, in strict mode.
import * as et from 'etude-ml/lite';

const a = et.input({ shape: [4] }), b = et.input({ shape: [4] });
const joined = et.layers.concatenate().apply([et.layers.dense({ units: 2, activation: 'relu' }).apply(a), b]);
const model: et.Model = et.model({ inputs: [a, b], outputs: [et.layers.dense({ units: 1 }).apply(joined)] });
model.compile({ optimizer: et.optimizers.adam({ learningRate: et.schedules.exponentialDecay({ initialLearningRate: 0.1, decaySteps: 9, decayRate: 0.9 }) }), loss: et.losses.meanSquaredError(), metrics: ['mae'] });
const history: et.History = await model.fit([[[1, 2, 3, 4]], [[1, 2, 3, 4]]], [[1]], { epochs: 2, callbacks: [et.callbacks.earlyStopping({ monitor: 'loss' }), { onEpochEnd(epoch: number, logs: et.Logs) { void [epoch, logs['loss']]; } }] });
const bytes: Uint8Array = await model.toBytes('safetensors');
await et.sequential([et.layers.flatten(), et.layers.dense({ units: 1 })], { name: 'x' }).loadWeights(bytes);
void history;

// @ts-expect-error not a class of etude-ml/lite
et.layers.conv3d({ filters: 1, kernelSize: 1 });
// @ts-expect-error
et.optimizers.lion();
// @ts-expect-error not a function of its models
model.explain();
// @ts-expect-error
await model.toBytes('keras');
// @ts-expect-error not one of its names
et.data.range(3);
