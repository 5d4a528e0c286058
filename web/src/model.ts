import { checkOptions, describe, factoryNames, fail, isClass, nativeError } from './error.js';
import type * as native from './etude.mjs';
import { Executions, type PredictFunction, type TrainFunction } from './execution.js';
import { lastEpochEnd, type ColumnGroup, type Columns } from './kinds.js';
import type { Files } from './files.js';
import type { Layer } from './layer.js';
import { LayerBase, layersIn, linkTo, type Link } from './layer_base.js';
import { isFunction, loopArguments, ofEpochs, type LoopArguments, type Source } from './loop_arguments.js';
import { addReplaced } from './model_class.js';
import type { BatchOptions, CompileOptions, EvaluateOptions, ExplainOptions, FitOptions, History, LoadWeightsOptions, ModelClassOptions, PredictOptions, SaveOptions, SaveProgressOptions, SummaryOptions } from './model_options.js';
import { host, led, module } from './module.js';
import type * as options from './options.mjs';
import { mapped, pack, type Nested } from './nested.js';
import { PredictionStream, only } from './predictions.js';
import type { RnnCell } from './rnn_cell.js';
import { loadFrom, pathIn, withProgress, type Loaded, type ModelHandler, type ModelSource } from './sources.js';
import { bytesOf, download, saveTo, writeTo, type FileFormat, type SyncFile } from './targets.js';
import { Tensor, type TensorLike } from './tensor.js';
import type { StepData, StepLogs, Value } from './value.js';

/** The layers of a model, which may be models too. */
export type LayerLike = native.Layer | Layer | RnnCell | Model;
/** A layer of a model, of which the type does not tell which: its `call` accepts what it does. */
export type AnyLayer = LayerLike & { call(x: any, training?: any): any };
/** T, which a call does not infer from where its result is used. */
type Exactly<T> = [T][T extends unknown ? 0 : never];
/** As the type parameters of `call`, it lets a class that overrides a step have more precise types. */
type AnyStepData = StepData<any, any>;

/**
 * A layer that can be trained. Made by `et.sequential([...])`, by `et.model({layers, call})` from a function of Values, or
 * by a class that extends it:
 *
 *     class TwoDense extends et.Model {
 *       constructor(units, options) {
 *         super(options);
 *         this.hidden = et.layers.dense({ units, activation: 'relu' });
 *         this.out = et.layers.dense({ units: 1 });
 *       }
 *       call(x, training) {
 *         return this.out.call(this.hidden.call(x, training), training);
 *       }
 *     }
 *
 * Such a class defines `call`, and may define the steps below, `computeLoss`, `computeMetrics`, `makeTrainFunction` and
 * similar ones, and `metrics`. The layers in its properties, also in arrays, Maps and plain objects, are those of the model. Its
 * weights are saved, but not the class.
 *
 * Its steps may be written in JavaScript, as synchronous functions of Values: each is traced once per shape of batch and then
 * replayed as compiled code.
 *
 *     const model = et.sequential(layers, {
 *       trainStep(data) {
 *         const yPred = this.call(data.x, true);
 *         const loss = this.computeLoss(data, yPred);
 *         this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
 *         return this.computeMetrics(data, yPred, loss);
 *       },
 *     });
 */
export class Model extends LayerBase {
  /** The history of the last fit. */
  history: History | undefined;
  #handle: native.Model | undefined;
  /** Makes the handle of a class that extends this one, when it is first used: then its layers are in its properties. */
  #begin: (() => native.Model) | undefined;
  readonly #steps: options.SequentialOptions;
  readonly #executions = new Executions();
  readonly #link: Link;

  /** Of a class that extends this one: its name, and whether it is trained. */
  constructor(options?: ModelClassOptions);
  /** For the module only: use `sequential` or `model`, or extend this class. */
  constructor(make: (link: Link) => native.Model, steps: options.SequentialOptions);
  constructor(given: ModelClassOptions | ((link: Link) => native.Model) = {}, steps: options.SequentialOptions = {}) {
    super();
    this.#steps = steps;
    const link = (this.#link = linkTo<Model>(this, Model.#find));
    if (typeof given === 'function') {
      this.#handle = given(link);
      return;
    }
    const { name } = this.constructor;
    if (new.target === Model) fail('value', name, 'made without layers - expected a class that extends it - use et.sequential or et.model, or extend et.Model.');
    const entrances = new WeakSet<(...given: unknown[]) => unknown>();
    addReplaced(steps, this, Model.prototype, entrances);
    this.#begin = () => {
      addReplaced(steps, this, Model.prototype, entrances);
      if (!steps.call) fail('value', 'call', `a model of the class ${name} without the function - expected one - define call().`);
      return module.model_free({ ...given, ...steps, layers: layersIn(this) as LayerLike[] }, link);
    };
  }

  /** For the module only. */
  get handle(): native.Model {
    const begin = this.#begin;
    if (begin) {
      this.#begin = undefined;
      try {
        this.#handle = begin();
      } catch (error) {
        this.#begin = begin;
        throw error;
      }
    }
    return this.#handle as native.Model; // while it is made there is none
  }

  /** A class may define it: the step of fit, which returns logs. */
  trainStep?(data: AnyStepData): StepLogs;
  /** A class may define it: the step of evaluate, which returns logs. */
  testStep?(data: AnyStepData): StepLogs;
  /** A class may define it: the step of predict, which returns outputs. */
  predictStep?(data: AnyStepData): Nested<Value>;

  static #find(this: void, model: Model, step: string): unknown {
    const given = model.#steps[step as keyof options.SequentialOptions];
    return model.#executions.called(step, given, model.#link, () => module.model_predictionKeys(model.handle)) ?? given;
  }

  /** Configures the training. Keeps the weights. */
  compile(options?: CompileOptions): void {
    const given: Record<string, unknown> = { ...checkOptions(options, 'compile') };
    for (const name of ['optimizer', 'loss', 'metrics', 'weightedMetrics'])
      if (name in given) given[name] = mapped(given[name], (each) => called(each, name));
    module.compile(this.handle, given);
  }

  /** Trains, on arrays, a dataset, a generator of batches or a sequence. One loop of a model at a time. */
  fit(x: ColumnGroup, y?: ColumnGroup, options?: FitOptions): Promise<History>;
  fit(data: Source, options?: FitOptions): Promise<History>;
  async fit(...given: LoopArguments<FitOptions>): Promise<History> {
    const [data, options] = loopArguments(given, this, 'fit');
    const { validationData } = options;
    const begun = isFunction(data) ? await ofEpochs(data) : data;
    const all = isFunction(validationData) ? { ...options, validationData: await ofEpochs(validationData) } : options;
    this.history = await led(() => module.fit(this.handle, begun, all));
    for (const each of [data, validationData]) await lastEpochEnd(each);
    return this.history;
  }

  /** Loss and metrics over the data: a number, or a list in the order of metricsNames, or an object with returnDict. */
  evaluate(x: ColumnGroup, y: ColumnGroup | undefined, options: EvaluateOptions & { returnDict: true }): Promise<Record<string, number>>;
  evaluate(data: Source, options: EvaluateOptions & { returnDict: true }): Promise<Record<string, number>>;
  evaluate(x: ColumnGroup, y?: ColumnGroup, options?: EvaluateOptions): Promise<number | number[]>;
  evaluate(data: Source, options?: EvaluateOptions): Promise<number | number[]>;
  async evaluate(...given: LoopArguments<EvaluateOptions>): Promise<Figures> {
    const [data, options] = loopArguments(given, this, 'evaluate');
    const figures = await led(() => module.evaluate(this.handle, data, options));
    await lastEpochEnd(data);
    return this.#alive(figures);
  }

  /**
   * The outputs for all rows of x, concatenated along the first axis: a Tensor, or lists and objects of them if the
   * model's outputs are an object, or nested: `predict<Record<string, Tensor>>(x)`.
   */
  async predict<Output extends Nested<Tensor> = Tensor>(x: ColumnGroup | Source, options?: PredictOptions): Promise<Output> {
    return this.#only(await this.predictOutputs(x, options), 'predict', 'predictOutputs') as Output;
  }
  /** The same for a model of several outputs: a Tensor for each. */
  async predictOutputs(x: ColumnGroup | Source, options?: PredictOptions): Promise<Tensor[]> {
    const [data, rest] = loopArguments([x, undefined, options], this, 'predict');
    const outputs = await led(() => module.predict(this.handle, data, rest));
    await lastEpochEnd(data);
    return this.#alive(outputs);
  }

  /** The same, batch by batch, so that the rows need not fit into memory. */
  predictStream<Output extends Nested<Tensor> = Tensor>(x: ColumnGroup | Source, options?: PredictOptions): PredictionStream<Output> {
    return new PredictionStream(this.#predictions(x, options), (outputs) => this.#only(outputs, 'predictStream', 'predictOutputsStream') as Output, () => lastEpochEnd(x));
  }
  predictOutputsStream(x: ColumnGroup | Source, options?: PredictOptions): PredictionStream<Tensor[]> {
    return new PredictionStream(this.#predictions(x, options), (outputs) => outputs, () => lastEpochEnd(x));
  }
  #predictions(x: ColumnGroup | Source, options: PredictOptions | undefined) {
    return () => {
      const [data, rest] = loopArguments([x, undefined, options], this, 'predictStream');
      return module.predict_stream(this.handle, data, rest);
    };
  }

  /** One training step on one batch. */
  trainOnBatch(x: ColumnGroup, y: ColumnGroup | undefined, options: BatchOptions & { returnDict: true }): Record<string, number>;
  trainOnBatch(x: ColumnGroup, y?: ColumnGroup, options?: BatchOptions): number | number[];
  trainOnBatch(x: ColumnGroup, y?: ColumnGroup, given?: BatchOptions): Figures {
    const { sampleWeight, ...options } = checkOptions(given, 'trainOnBatch');
    this.#executions.refuseSingle('makeTrainFunction', this.#steps.makeTrainFunction, 'trainOnBatch', 'fit');
    return module.trainOnBatch(this.handle, { x, y, sampleWeight } as Columns, options);
  }
  /** Loss and metrics of one batch. */
  testOnBatch(x: ColumnGroup, y: ColumnGroup | undefined, options: BatchOptions & { returnDict: true }): Record<string, number>;
  testOnBatch(x: ColumnGroup, y?: ColumnGroup, options?: BatchOptions): number | number[];
  testOnBatch(x: ColumnGroup, y?: ColumnGroup, given?: BatchOptions): Figures {
    const { sampleWeight, ...options } = checkOptions(given, 'testOnBatch');
    this.#executions.refuseSingle('makeTestFunction', this.#steps.makeTestFunction, 'testOnBatch', 'evaluate');
    return module.testOnBatch(this.handle, { x, y, sampleWeight } as Columns, options);
  }
  /** The outputs for one batch, in the form of predict. */
  predictOnBatch<Output extends Nested<Tensor> = Tensor>(x: ColumnGroup): Output {
    return this.#only(this.predictOutputsOnBatch(x), 'predictOnBatch', 'predictOutputsOnBatch') as Output;
  }
  /** The same for a model of several outputs: a Tensor for each. */
  predictOutputsOnBatch(x: ColumnGroup): Tensor[] {
    this.#executions.refuseSingle('makePredictFunction', this.#steps.makePredictFunction, 'predictOnBatch', 'predict');
    return module.predictOnBatch(this.handle, { x } as Columns);
  }

  /**
   * The outputs of the model for a Value within a step, or for data outside; for several inputs lists and objects.
   * Several outputs are a list, `call<Tensor[]>(x)`, or an object, `call<Record<string, Tensor>>(x)`.
   */
  call<Output extends Nested<Value> = Value, Input extends Nested<Value> = Nested<Value>>(x: Input, training?: boolean): Exactly<Output>;
  call<Output extends Nested<Tensor> = Tensor, Input extends Nested<TensorLike> = Nested<TensorLike>>(x: Input, training?: boolean): Exactly<Output>;
  call<Output extends Nested<Value> | Nested<Tensor>, Input extends Nested<Value> | Nested<TensorLike> = Nested<Value> | Nested<TensorLike>>(x: Input, training?: boolean): Exactly<Output>;
  call(x: Nested<Value> | Nested<TensorLike>, training = false): Nested<Value> | Nested<Tensor> {
    return this.handle.call(x as Value, training) as Value | Tensor;
  }
  /** Within a step: adds a scalar to the loss. */
  addLoss(loss: Value): void {
    module.addLoss(this.handle, loss);
  }
  /** Within a step: logs the mean of `value` over the epoch, under this name. */
  addMetric(value: Value, name: string): void {
    module.addMetric(this.handle, value, name);
  }
  /** Within a step: the reduced loss of a batch. */
  computeLoss(data: AnyStepData, yPred: Nested<Value>): Value {
    return module.computeLoss(this.handle, data, yPred);
  }
  /** Within a step: updates loss and metrics and returns their current values: the result of trainStep. */
  computeMetrics(data: AnyStepData, yPred: Nested<Value>, loss?: Value): StepLogs {
    return module.computeMetrics(this.handle, data, yPred, loss);
  }

  /**
   * Called once before the first step of fit, after each compile, and with `force` when its traces are outdated. A class may
   * replace it, to run the executions of fit itself. The steps are still traced once and replayed. A page loads the part
   * 'extras' first.
   *
   *     makeTrainFunction(force) {
   *       const runSteps = super.makeTrainFunction(force);
   *       return async (batches) => {
   *         const logs = await runSteps(batches);
   *         return { ...logs, seconds: performance.now() / 1000 };
   *       };
   *     }
   */
  makeTrainFunction(force?: boolean): TrainFunction {
    void force;
    return this.#executions.runSteps('makeTrainFunction', (id) => module.execution_logs(id));
  }
  /** The same for evaluate and validations. */
  makeTestFunction(force?: boolean): TrainFunction {
    void force;
    return this.#executions.runSteps('makeTestFunction', (id) => module.execution_logs(id));
  }
  /** The same for predict: its function returns outputs. */
  makePredictFunction(force?: boolean): PredictFunction {
    void force;
    return this.#executions.runSteps('makePredictFunction', (id) => this.#shaped(module.execution_outputs(id)));
  }

  /** Adds a layer at the end of a sequential model, or removes the last one; compile afterwards. */
  add(layer: LayerLike | native.SymbolicTensor): void {
    module.model_add(this.handle, layer);
  }
  pop(): void {
    module.model_pop(this.handle);
  }

  get compiled(): boolean {
    return module.model_compiled(this.handle);
  }
  get layers(): AnyLayer[] {
    return module.model_layers(this.handle) as AnyLayer[];
  }
  get optimizer(): native.Optimizer {
    return module.model_optimizer(this.handle);
  }
  /** The names of inputs for data by name, in nested ones paths such as "meta/age"; empty unless the model was described. */
  get inputNames(): string[] {
    return module.model_inputNames(this.handle);
  }
  /** The names of outputs in data, losses, metrics and logs; empty unless the model was described. */
  get outputNames(): string[] {
    return module.model_outputNames(this.handle);
  }
  get metricsNames(): string[] {
    return module.model_metricsNames(this.handle);
  }
  /**
   * The metrics of the loss, of compile and of addMetric. A class may have a field of this name instead, with the metrics
   * that its steps update: those are reset with each epoch.
   */
  declare metrics: native.Metric[];
  static {
    // No accessor of the class: TypeScript lets a class have a field only in place of a field.
    Object.defineProperty(this.prototype, 'metrics', {
      get(this: Model): native.Metric[] {
        return module.model_metrics(this.handle);
      },
      set(this: Model, value: native.Metric[]): void {
        Object.defineProperty(this, 'metrics', { value, configurable: true, enumerable: true, writable: true });
      },
      configurable: true,
    });
  }
  /** Resets all metrics to their initial states. */
  resetMetrics(): void {
    module.model_resetMetrics(this.handle);
  }
  /** Callbacks set it: fit ends the epoch after the running execution, and stops. */
  get stopTraining(): boolean {
    return module.model_stopTraining(this.handle);
  }
  set stopTraining(stop: boolean) {
    module.model_setStopTraining(this.handle, stop);
  }
  /** Callbacks set it: evaluate stops after this execution. */
  get stopEvaluating(): boolean {
    return module.model_stopEvaluating(this.handle);
  }
  set stopEvaluating(stop: boolean) {
    module.model_setStopEvaluating(this.handle, stop);
  }
  /** Callbacks set it: predict stops after this execution. */
  get stopPredicting(): boolean {
    return module.model_stopPredicting(this.handle);
  }
  set stopPredicting(stop: boolean) {
    module.model_setStopPredicting(this.handle, stop);
  }

  getLayer(nameOrIndex: string | number): AnyLayer {
    return module.getLayer(this.handle, nameOrIndex) as AnyLayer;
  }
  /**
   * Saves the model, its compile options and its optimizer's state to a folder, or to a file for Keras if the name ends with
   * .keras. If it ends with .json, saves a model.json for TensorFlow.js, without compile options and optimizer. loadModel
   * restores the model, here or natively. A folder contains a complete model at any time, even after a crash. Steps in
   * JavaScript are not saved. A file or folder of the same name is replaced; with `overwrite` false it is an error.
   */
  save(path: string, options?: SaveOptions): void;
  /** Passes the model in the form of TensorFlow.js, and the options, to `handler.save`, and returns its result. */
  save(handler: ModelHandler, options?: SaveOptions): Promise<unknown>;
  save(target: string | ModelHandler, given?: SaveOptions): void | Promise<unknown> {
    const { onProgress, ...options } = withProgress(given, 'Model.save');
    if (typeof target === 'object' && target) return saveTo(target, options, (path, files) => module.model_save(this.handle, path, options, files, onProgress));
    module.model_save(this.handle, target, options, undefined, onProgress);
  }
  /** Saves the weights alone, to a file whose name ends with .safetensors, with .npz for NumPy, or with .weights.h5 for Keras. */
  saveWeights(path: string, options?: SaveOptions): void {
    const { onProgress, ...others } = withProgress(options, 'saveWeights');
    module.model_saveWeights(this.handle, path, others, undefined, onProgress);
  }
  /** The bytes of a file of the model, in the format "keras", or of its weights, in one of the others. */
  toBytes(format: FileFormat = 'keras', options?: SaveProgressOptions): Promise<Uint8Array> {
    return bytesOf(format, this.#writer(options, 'toBytes'));
  }
  /**
   * Writes the bytes of toBytes to a file, such as one of the origin private file system. In a worker they go there piece by
   * piece, with one weight in memory; elsewhere, and for a file of showSaveFilePicker, they are in memory first. What is in the
   * file is lost when that begins.
   */
  writeTo(handle: FileSystemFileHandle | SyncFile, format: FileFormat = 'keras', options?: SaveProgressOptions): Promise<void> {
    return writeTo(handle, format, this.#writer(options, 'writeTo'));
  }
  /**
   * Lets the browser download a file, as save or saveWeights write by such a name: with a name that ends with .json, also
   * the files of weights. In a page only.
   */
  download(name = 'model.keras', options?: SaveProgressOptions): Promise<void> {
    return download(name, this.#writer(options, 'download'));
  }
  /**
   * Loads the weights alone, from a file that saveWeights wrote or from one of another library: safetensors, arrays of
   * NumPy (.npz), files of Keras (.weights.h5, .keras, and .h5 of Keras 2), or the model.json of TensorFlow.js with the files
   * beside it; or from several files, by the index beside them: NAME.safetensors.index.json of Hugging Face, NAME.weights.json
   * of Keras. Or from a folder that save wrote, or one of checkpoints: those of the newest. All weights are set, or none. A path
   * sets them at once; other sources return a promise.
   */
  loadWeights(source: ModelSource, options?: LoadWeightsOptions): Promise<void>;
  loadWeights<Path extends string>(path: Path, options?: LoadWeightsOptions): Loaded<Path, void>;
  loadWeights(source: string | ModelSource, given?: LoadWeightsOptions): void | Promise<void> {
    const { onProgress, ...options } = withProgress(given, 'loadWeights');
    const path = pathIn(source, 'loadWeights');
    if (path !== undefined) return module.model_loadWeights(this.handle, path, options, onProgress);
    return loadFrom(source, 'loadWeights', onProgress, (path, files, progress) => module.model_loadWeightsTask(this.handle, path, options, files, progress) as Promise<void>);
  }
  /** The model's description, without its weights, in the format of Keras 3, which Keras reads. */
  toJson(): string {
    return module.model_toJson(this.handle);
  }
  /** Builds the layers for inputs of this shape, batch axis included; null is an unknown extent. */
  build(inputShape: readonly (number | null)[]): void {
    module.build(this.handle, inputShape);
  }
  /** Prints layers, output shapes and parameters, in the format of Keras: to stdout, or through printFn. */
  summary(options?: SummaryOptions): void {
    const { printFn, ...others } = checkOptions(options, 'summary');
    module.summary(this.handle, others, printFn);
  }
  /**
   * The compiled step of fit, or that of evaluate or predict if fit has not run: each instruction with the ops fused
   * into it and its cost on a line, and the memory that all share. A page loads the part 'extras' first.
   */
  explain(options: ExplainOptions = {}): string {
    return module.explain(this.handle, options);
  }

  /** Writes a file of the model, or of its weights. */
  #writer(given: SaveProgressOptions | undefined, where: string) {
    const { onProgress } = withProgress(given, where, ['onProgress']);
    return (path: string, files: Files, weights: boolean) =>
      weights ? module.model_saveWeights(this.handle, path, {}, files, onProgress) : module.model_save(this.handle, path, {}, files, onProgress);
  }

  /** The only output; several by name as lists and objects. */
  #only(outputs: Tensor[], where: string, several: string): Nested<Tensor> {
    const keys = module.model_predictionKeys(this.handle);
    return keys.length ? pack(keys, outputs) : only(outputs, where, several);
  }

  /** The same for any number of outputs. */
  #shaped(outputs: Tensor[]): Nested<Tensor> {
    const keys = module.model_predictionKeys(this.handle);
    return keys.length ? pack(keys, outputs) : outputs.length === 1 ? (outputs[0] as Tensor) : outputs;
  }

  /** Keeps this model alive until here. */
  #alive<T>(result: T): T {
    void this.handle;
    return result;
  }
}
host['Model'] = Model;

/** What a factory makes without options, if it was passed without a call, as in Keras; anything else itself, but no class. */
function called(given: unknown, name: string): unknown {
  if (factoryNames.has(given as object)) return (given as () => unknown)();
  if (isClass(given)) throw nativeError(`[compile] ${describe(given)} as ${name} - expected an object of it - write new ${given.name}().`, 'value');
  return given;
}

type Figures = number | number[] | Record<string, number>;
