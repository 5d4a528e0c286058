// A program of a TypeScript user that requires the package; it only has to compile, in strict mode.
import et = require('etude-ml');
import lite = require('etude-ml/lite');

class Watch extends et.Callback {
  override onEpochEnd(epoch: number, logs: et.Logs): void {
    this.model.stopTraining = epoch > 2 && (logs['loss'] ?? 0) < 1;
  }
}
const model: et.Model = et.sequential([et.layers.dense({ units: 1 } satisfies et.DenseOptions)]);
const optimizer: et.Optimizer = et.optimizers.adam();
model.compile({ optimizer, loss: 'mse' });
const options: et.FitOptions = { epochs: 2, callbacks: [new Watch()] };
export const trained: Promise<et.History> = model.fit([[1]], [[1]], options);
export const stream: et.PredictionStream<et.Tensor[]> = model.predictOutputsStream([[1]]);
export const nested: et.Nested<et.Tensor> = { a: [et.tensor([1])] };
export const images: et.data.Images = et.data.parseCifar10(new Uint8Array());
export const context: Promise<et.experiment.Context> = et.experiment.init();
export const kind = (error: et.EtudeError): et.ErrorKind => error.kind;
const small: lite.Model = lite.sequential([lite.layers.dense({ units: 1 })]);
export const bytes: Promise<Uint8Array> = small.toBytes('safetensors');
// @ts-expect-error not one of its types
export type Absent = lite.StringLayer;
