// Programs of TypeScript users; they only have to compile, in strict mode.
import * as et from 'etude-ml';
import type { FitOptions, History, Hooks, Logs } from 'etude-ml';

class Watch extends et.Callback {
  best = Infinity;
  override onEpochEnd(epoch: number, logs: Logs): void {
    const loss = logs['loss'] ?? NaN;
    if (loss < this.best) this.best = loss;
    else this.model.stopTraining = epoch > 2;
  }
}

function* batches(): Generator<[et.Tensor, et.Tensor]> {
  yield [et.tensor([[1, 2]]), et.tensor([[3]])];
}
async function* later() {
  yield { x: et.tensor(new Float32Array(2), [1, 2]), y: [[1]] };
}

const dense = et.layers.dense({ units: 8, activation: 'relu', kernelInitializer: et.initializers.heNormal({ seed: 1 }) });
const model: et.Model = et.sequential([et.layers.flatten(), dense, et.sequential([et.layers.dropout({ rate: 0.5 })]), et.layers.dense({ units: 1 })], {
  name: 'consumer',
  trainStep(data) {
    const yPred = this.call(data.x, true);
    const loss = et.ops.mean(et.ops.square(et.ops.subtract(data.y, yPred)));
    const gradients: (et.Value | null)[] = et.gradients(loss, this.trainableVariables);
    this.optimizer.apply(gradients, this.trainableVariables);
    return this.computeMetrics(data, yPred, loss);
  },
});
const vectorize: et.VocabularyLayer = et.layers.textVectorization({ standardize: (text) => text.trim(), split: null, ngrams: [1, 2], vocabulary: ['a'] });
const indices: et.Tensor = vectorize.call(['a', 'b']);
const bins: et.StringLayer = et.layers.hashedCrossing({ numBins: 8 });
void [vectorize.adapt(['a']), vectorize.stringsOf(indices), bins.call([['red'], [3]])];
const gru: et.Recurrent = et.layers.gru({ units: 4, resetAfter: false, stateful: true });
gru.resetState();
const residual = et.model({ layers: [dense, model], call: (x, training) => et.ops.add(x, dense.call(x, training)) });
model.compile({ optimizer: et.optimizers.adam({ learningRate: 1e-3 }), loss: (yTrue, yPred) => et.ops.mean(et.ops.subtract(yTrue, yPred)), metrics: ['mae', et.metrics.accuracy()] });

class Gain extends et.Layer {
  factors?: et.Variable;
  override build(inputShape: number[]): void {
    this.factors = this.addWeight({ name: 'factors', shape: [inputShape.at(-1) ?? 1], initializer: 'ones' });
  }
  override call(x: et.Value): et.Value {
    return et.ops.multiply(x, (this.factors as et.Variable).read());
  }
}
class Pair extends et.Layer {
  static className = 'Pair';
  shapes: number[][] = [];
  override build(inputShapes: number[][]): void {
    this.shapes = inputShapes;
  }
  override call(x: et.Value[]): et.Value[] {
    return [...x].reverse();
  }
}
class Both extends et.Layer {
  override call({ a, b }: Record<string, et.Value>): Record<string, et.Value> {
    return { sum: et.ops.add(a as et.Value, b as et.Value) };
  }
}
const [age, photo] = [et.input({ shape: [1] }), et.input({ shape: [4] })];
const byName = et.model({ inputs: { age, photo }, outputs: { price: dense.apply(photo), risk: dense.apply(age) } });
const nested = et.model({ inputs: { photo, meta: { ages: [age] } }, outputs: { prices: [dense.apply(photo)], risk: dense.apply(age) } });
type Found = { prices: et.Tensor[]; risk: et.Tensor };
export async function nestedData(): Promise<void> {
  nested.compile({ loss: { prices: ['mse'], risk: 'mae' }, lossWeights: { prices: [2], risk: 1 }, metrics: { prices: [['mae']], risk: 'mse' } });
  await nested.fit({ photo: [[1, 2, 3, 4]], meta: { ages: [et.tensor([[1]])] } }, { prices: [et.tensor([[1]])], risk: [[2]] });
  const { prices } = await nested.predict<Found>({ photo: [[1, 2, 3, 4]], meta: { ages: [et.tensor([[1]])] } });
  console.log(prices[0]?.shape);
}
const applied: et.NamedSymbols = byName.apply<et.NamedSymbols>({ age, photo });
async function* dicts() {
  yield { x: { age: [[1]], photo: et.tensor([[1, 2, 3, 4]]) }, y: { price: [[1]], risk: [[2]] } };
  yield [{ age: [[1]], photo: [[1, 2, 3, 4]] }, { price: [[1]], risk: [[2]] }] as const;
}
export async function byNames(): Promise<void> {
  await byName.fit(dicts);
  await byName.fit({ age: [[1]], photo: [[1, 2, 3, 4]] }, { price: [[1]], risk: [[2]] }, { sampleWeight: { price: [1] } });
  const { price } = await byName.predict<Record<string, et.Tensor>>({ age: [[1]], photo: [[1, 2, 3, 4]] });
  const { risk } = byName.call<Record<string, et.Tensor>>({ age: [[1]], photo: [[1, 2, 3, 4]] });
  console.log(price?.shape, risk?.shape, applied['price']?.shape, new Both().name);
}
const pairs: et.SymbolicTensor[] = new Pair({ name: 'pair' }).applyAll([et.input({ shape: [2] }), et.input({ shape: [2] })]);
class Scale extends et.Layer {
  readonly factor: number;
  constructor({ factor = 1, ...options }: { factor?: number } & et.CustomLayerOptions = {}) {
    super(options);
    this.factor = factor;
  }
  override call(x: et.Value): et.Value {
    return et.ops.multiply(x, this.factor);
  }
  override getConfig(): et.Config {
    return { ...super.getConfig(), factor: this.factor, inner: et.layers.serialize(dense) };
  }
  static override fromConfig({ inner, ...config }: et.Config): Scale {
    return new Scale({ ...config, name: et.layers.deserialize(inner as et.Config).name });
  }
}
export const registered: typeof Scale = et.registerClass(Scale, { package: 'consumer', name: 'Scale' });
export const fetched: Promise<et.Model>[] = [et.loadModel('https://example.org/model.json'), et.loadModel(new Uint8Array()), et.loadModel([new File([], 'model.json')]), et.loadModel({ load: () => ({ modelTopology: {} }) })];
export const strings: [Record<string, et.StringLayer>, ...Promise<Record<string, et.StringLayer>>[]] = [et.loadStringLayers('m.keras'), et.loadStringLayers(new URL('https://example.org/m.keras')), et.loadStringLayers(new File([], 'm.keras'))];
export const written: [Promise<Uint8Array>, Promise<unknown>, void] = [model.toBytes('npz'), model.save({ save: ({ weightData }) => weightData }), model.save('folder')];
const place: string = 'https://example.org/model.json';
export const anywhere: [et.Model | Promise<et.Model>, Record<string, et.StringLayer> | Promise<Record<string, et.StringLayer>>, void | Promise<void>] = [et.loadModel(place), et.loadStringLayers(place), model.loadWeights(place)];
// @ts-expect-error: it may be an address, which gives a promise
export const path: et.Model = et.loadModel(place);
export const loaded: et.Model[] = [et.loadModel('folder', { compile: false, customObjects: { Scale } }), et.modelFromJson('{}', { customObjects: { Gain } })];
// @ts-expect-error: a class, not an object of it
et.registerClass(new Gain());
// @ts-expect-error: a class whose objects are not saved
et.registerClass(et.Callback);
const custom: et.LayerLike = et.sequential([new Gain()]).getLayer(0);
if (custom instanceof Gain) custom.trainable = pairs.length > 1;

class Squared extends et.Loss {
  override call(yTrue: et.Value, yPred: et.Value): et.Value {
    return et.ops.mean(et.ops.square(et.ops.subtract(yTrue, yPred)), [-1]);
  }
}
class Largest extends et.Metric {
  readonly largest: et.Variable = this.addVariable({ name: 'largest', shape: [], initializer: new (class extends et.Initializer {
    override call = (shape: number[], dtype: et.DType) => new Float32Array(shape.length + dtype.length);
  })() });
  override updateState(yTrue: et.Value, yPred: et.Value, sampleWeight?: et.ValueLike): void {
    this.largest.assign(et.ops.max(et.ops.multiply(et.ops.subtract(yTrue, yPred), sampleWeight ?? 1)));
  }
  override result(): et.Value {
    return this.largest.read();
  }
}
class Descent extends et.Optimizer {
  override build(variables: et.Variable[]): void {
    for (const variable of variables) this.addVariableFromReference(variable, 'last', 'ones');
  }
  override updateStep(gradient: et.Value, variable: et.Variable, learningRate: et.Value): void {
    this.getSlot(variable, 'last').assign(gradient);
    variable.assign(et.ops.subtract(variable.read(), et.ops.multiply(gradient, learningRate)));
  }
}
class Leaky extends et.RnnCell {
  override stateSize: et.StateSize = [4, [2, 2]];
  override call(x: et.Value, [state, other]: et.Value[]): [et.Value, et.Value[]] {
    const next = et.ops.add(et.ops.multiply(state ?? x, 0.9), x);
    return [next, [next, other ?? x]];
  }
}
class Shrinking extends et.Regularizer {
  override call = (x: et.Value): et.Value => et.ops.sum(x);
  override getConfig(): et.Config {
    return { initializer: et.initializers.serialize('ones'), rate: et.schedules.serialize(schedule) };
  }
}
class Residual extends et.Wrapper {
  override call(x: et.Value, training?: boolean): et.Value {
    return et.ops.add(x, this.layer.call(x, training) as et.Value);
  }
}
export const objects: et.CustomObjects = { Squared: et.registerClass(Squared), Largest, Descent, Shrinking, Residual };
export const again: [et.Loss, et.Initializer | string] = [et.losses.deserialize(et.losses.serialize(new Squared())), et.initializers.deserialize<string>('ones')];
new Residual({ layer: dense, name: 'residual' });
// @ts-expect-error: without a layer
new Residual({});
const losses: et.Loss[] = [new Squared({ reduction: 'sum', name: 'squared' }), et.losses.huber()];
const metrics: et.Metric[] = [new Largest(), et.metrics.accuracy()];
const descents: et.Optimizer[] = [new Descent({ learningRate: 0.1, clipnorm: 1 }), et.optimizers.sgd()];
et.sequential([et.layers.rnn({ cell: new Leaky() }), et.layers.dense({ units: 1, kernelRegularizer: new Shrinking() })])
  .compile({ loss: losses[0] ?? null, metrics, optimizer: descents[0] ?? null });

const stopping: et.EarlyStopping = et.callbacks.earlyStopping({ monitor: 'loss', patience: 2 });
const lines: et.FileSink = { append: (bytes: Uint8Array) => console.log(bytes.length) };
const schedule: et.LearningRateSchedule = et.schedules.cosineDecay({ initialLearningRate: 1e-3, decaySteps: 100 });
const optimizer: et.Optimizer = et.optimizers.adamw({ learningRate: schedule, weightDecay: 0.01, clipnorm: 1, gradientAccumulationSteps: null });
optimizer.excludeFromWeightDecay([], ['bias']);
residual.compile({ optimizer, loss: 'mse' });

const hooks: Hooks = { onTrainBatchEnd: async (step, logs) => console.log(step, logs['loss']) };
const options: FitOptions = { batchSize: 32, epochs: 3, verbose: 'auto', callbacks: [new Watch(), hooks, et.callbacks.lambda(hooks), stopping, et.callbacks.csvLogger({ filename: 'log.csv', open: () => lines })], validationData: later, shuffle: 'batch', yieldEvery: 'epoch' };
export async function train(): Promise<number> {
  const history: History = await model.fit(new Float32Array(8), [[1], [2]], options);
  await model.fit(batches(), { stepsPerEpoch: 2 });
  await model.fit(later, { validationData: [et.tensor([1]), et.tensor([1])] });
  const figures: number | number[] = await model.evaluate([[1]], [[1]]);
  const named: Record<string, number> = await model.evaluate([[1]], [[1]], { returnDict: true });
  const outputs: et.Tensor = await model.predict(later());
  for await (const batch of model.predictStream(later(), { batchSize: 8 })) outputs.reshape(batch.shape);
  const stream: et.PredictionStream<et.Tensor[]> = model.predictOutputsStream(outputs);
  await stream.writeNpy(['a.npy', 'b.npy']);
  const called: et.Tensor = dense.call(outputs);
  const all: et.Tensor[] = model.call<et.Tensor[]>(outputs);
  await model.predict(all[0] ?? called, { verbose: false, callbacks: [{ onPredictBatchEnd: (step, { outputs }) => console.log(step, Array.isArray(outputs) ? outputs[0]?.shape : outputs.shape) }] });
  model.trainableVariables[0]?.assign(called);
  const x: et.Tensor = await et.data.readIdx(new URL('https://example.org/x.gz'));
  residual.setWeights([...model.getWeights(), x, new Float32Array(3)]);
  try {
    model.summary({ printFn: (text) => console.log(text) });
  } catch (error) {
    if (error instanceof et.EtudeError && error.kind === 'state') console.log(error.message);
  }
  return history.history['loss']?.[0] ?? named['loss'] ?? (Array.isArray(figures) ? (figures[0] ?? 0) : figures);
}

// The editor offers names, and accepts others; batches of a generator need no `as const`.
et.configure({ wasm: new URL('https://example.org/etude/'), threads: 2 });
const name: string = 'my_own_loss';
model.compile({ optimizer: 'adam', loss: name, metrics: ['mae', name] });
const named: et.OptimizerName[] = ['adam', 'rmsprop', name];
/** Whether a union lists names; a plain string does not. */
type Lists<Names, Name> = [Extract<Names, Name>] extends [never] ? false : true;
const plain: Lists<string, 'adam'> = false;
export const listed: true[] = [
  true satisfies Lists<et.ActivationName, 'relu'>,
  true satisfies Lists<et.InitializerName, 'glorot_uniform'>,
  true satisfies Lists<et.LossName, 'mse'>,
  true satisfies Lists<et.MetricName, 'accuracy'>,
  true satisfies Lists<et.OptimizerName, 'adam'>,
  true satisfies Lists<et.RegularizerName, 'l2'>,
  true satisfies Lists<et.ConstraintName, 'max_norm'>,
  true satisfies Lists<et.CompileOptions['optimizer'], 'adam'>,
  true satisfies Lists<et.CompileOptions['loss'], 'mse'>,
  true satisfies Lists<et.CompileOptions['metrics'], 'accuracy'>,
  true satisfies Lists<et.DenseOptions['activation'], 'relu'>,
  true satisfies Lists<et.DenseOptions['kernelInitializer'], 'he_normal'>,
  true satisfies Lists<et.DenseOptions['kernelRegularizer'], 'l2'>,
  true satisfies Lists<et.DenseOptions['kernelConstraint'], 'max_norm'>,
  !plain,
];
export const loading: Promise<void>[] = [et.ready(), et.ready({ parts: ['data', 'saving'] }), et.reload()];
et.configure({ parts: { data: new URL('https://example.org/etude.data.wasm') } });
// @ts-expect-error: there is no such part
void et.ready({ parts: ['files'] });
export const fitted = [
  model.fit(function* () { yield [et.tensor([[1]]), new Float32Array(1)]; }, { epochs: named.length }),
  model.fit(async function* () { for (const x of [1, 2]) yield [[[x]], [[x]], [1]]; }),
];
export const variant: et.Variant | undefined = et.variant;

// Ops of SymbolicTensors give SymbolicTensors.
const symbol: et.SymbolicTensor = et.input({ shape: [null, 4] });
const halves: et.SymbolicTensor[] = et.ops.split(et.ops.add(symbol, et.tensor([1, 2, 3, 4])), 2, -1);
const joined: et.SymbolicTensor = et.ops.concatenate([et.ops.multiply(2, symbol), ...halves], -1);
const known: et.Model = et.sequential([symbol, et.layers.inputLayer({ shape: [4] }), dense]);
known.summary({ expandNested: true, showTrainable: true, layerRange: ['a', 'b'] });
export const graph: string = et.modelToDot(et.model({ inputs: known.inputs, outputs: [joined, known.output] }), { rankdir: 'LR' });
// @ts-expect-error: a SymbolicTensor is no Value
export const value: et.Value = et.ops.exp(symbol);

// @ts-expect-error: Dense needs its units
et.layers.dense({});
// @ts-expect-error: a convolution needs the size of its kernel
et.layers.conv2d({ filters: 3 });
// @ts-expect-error: a schedule needs its initial rate
et.schedules.cosineDecay({ decaySteps: 100 });
// @ts-expect-error: no such build
et.configure({ build: 'fast' });
// @ts-expect-error: no such option
model.compile({ optimiser: 'adam' });
// @ts-expect-error: no such mode of updating
et.callbacks.tensorboard({ updateFreq: 'step' });
// @ts-expect-error: no such hook
model.fit([[1]], [[1]], { callbacks: [{ onEpochEnds() {} }] });
// @ts-expect-error: not a number
et.layers.dense({ units: 'eight' });
// @ts-expect-error: no such op
et.ops.frobnicate;

export const photos: et.ImageDataset = et.utils.imageDatasetFromDirectory('photos', { imageSize: [64, 64], labels: [0, 1], decode: () => ({ data: new Uint8Array(4), width: 1, height: 1 }) });
export const parts: [et.ImageDataset, et.ImageDataset] = et.utils.imageDatasetFromDirectory('photos', { seed: 1, validationSplit: 0.2, subset: 'both' });
void [model.fit(photos, { validationData: parts[1] }), photos.batch(2), photos.classNames[0]];
export const picture: Promise<et.Tensor> = et.utils.loadImg('photo.png', { targetSize: 64, decode: async (bytes) => et.tensor(bytes, [1, 1, -1]) });
export const drawn: Promise<string> = et.plotModel(model, { toFile: 'model.svg', showShapes: true, viz: { renderString: (dot) => dot } });

export const context: Promise<et.experiment.Context> = et.experiment.init({ storage: 'trial', retention: { saveTrialBest: 2 }, preempt: { signal: new AbortController().signal } });
void context.then((trial) => trial.fit(model, [[1]], [[1]], { epochs: 2 }, { checkpointFreq: 5 })).then(({ history }) => history['loss']);
const space: et.experiment.Hyperparameters = { rate: { type: 'log', minval: -4, maxval: -1 }, nested: { units: { type: 'int', minval: 1, maxval: 8 }, kind: 'relu' } };
export const found: Promise<et.experiment.SearchResult> = et.experiment.runSearch({ searcher: { name: 'random', metric: 'loss', maxTrials: 2 }, hyperparameters: space }, { worker: () => new Worker('trial.js') });
// @ts-expect-error: no such searcher
void et.experiment.runSearch({ searcher: { name: 'best', metric: 'loss' }, hyperparameters: space }, { worker: 'trial.js' });
// @ts-expect-error: no such option
void context.then((trial) => trial.fit(model, [[1]], [[1]], {}, { checkpoints: 5 }));
class Timed extends et.Model {
  override makeTrainFunction(force?: boolean): et.TrainFunction {
    const runSteps = super.makeTrainFunction(force);
    return async (batches) => ({ ...(await runSteps(batches)), seconds: 1 });
  }
  override makePredictFunction(force?: boolean): et.PredictFunction {
    const runSteps = super.makePredictFunction(force);
    return async (batches: et.ExecutionBatches) => {
      const { value } = await batches.next();
      return runSteps([value]);
    };
  }
}
export const timed: et.Model = new Timed({ name: 'timed' });
export const tested: et.Model = et.sequential([], {
  makeTestFunction(force) {
    const runSteps = this.makeTestFunction(force);
    return (batches) => runSteps(batches);
  },
});
et.setEpsilon(et.epsilon());
et.setImageDataFormat(et.imageDataFormat());

// A class may have more precise types than the methods that it overrides.
class Precise extends et.Model {
  readonly out = et.layers.dense({ units: 1 });
  override call(x: et.Value, training?: boolean): et.Value {
    return this.out.call(x, training);
  }
  override trainStep(data: et.StepData<et.Value, { score: et.Value }>): et.StepLogs {
    return this.computeMetrics(data, { score: et.ops.add(this.call(data.x, true), data.y.score) });
  }
}
class Swapped extends et.Model {
  override call({ a, b }: { a: et.Value; b: et.Value }): { a: et.Value; b: et.Value } {
    return { a: b, b: a };
  }
}
export const models: et.Model[] = [new Precise(), new Swapped({ name: 'swapped' }), et.sequential([new Precise()])];
export function callsOfModels(any: et.Model, value: et.Value, x: et.Tensor): [et.Value, et.Tensor, et.Tensor | undefined, et.Tensor] {
  const [first] = any.call<et.Tensor[]>([x, x]);
  const last: et.Tensor = any.layers[0]?.call(x) ?? any.getLayer(0).call(x, true);
  return [et.ops.mean(any.call(value)), any.call(x), first, last];
}
export const objectsWithHooks: et.CallbackLike[] = [{ onEpochEnd(epoch) { this.model.stopTraining = epoch > 1; } }, { onTrainEnd() { console.log(this.model!.name, this.params.epochs); } }, et.callbacks.lambda({ onEpochEnd() { this.model.stopTraining = true; } })];
