/** The base classes of losses, metrics, optimizers, … that are written in JavaScript. */
import { checkOptions, nativeError } from './error.js';
import type * as native from './etude.mjs';
import type { Config } from './layer.js';
import { functionOf, linkTo, type Link } from './layer_base.js';
import { module } from './module.js';
import type * as options from './options.mjs';
import { deserialize, serialize } from './serialization.js';
import type { DType, Tensor, TensorLike } from './tensor.js';
import type { Value, ValueLike } from './value.js';

/** Finds the function that the module calls. A closure of a constructor would keep the handle alive. */
type Find = (object: object, name: string) => unknown;
const member: Find = (object, name) => (object as Record<string, unknown>)[name];

/**
 * The base of these classes. The module keeps an object while a model, a layer or an optimizer has it. Objects are
 * saved with their model if their class is registered by `registerClass`, and `getConfig` has the options of its constructor.
 */
abstract class Custom<Handle extends object> {
  /** For the module only. */
  readonly handle: Handle;
  readonly #kind: string;
  readonly #required: readonly string[];
  readonly #find: Find;

  /** `kind` is its name in errors, `required` lists the functions that a subclass defines. */
  constructor(kind: string, required: readonly string[], make: (className: string, link: Link) => Handle, find: Find = member) {
    this.#kind = kind;
    this.#required = required;
    this.#find = find;
    this.handle = make(this.className, linkTo(this, find, kind));
  }
  /** The name of its class: define `static className` where a minifier renames classes. */
  get className(): string {
    const { className, name } = this.constructor as { className?: string; name: string };
    return className ?? (name || this.#kind.replace(/^an? /, ''));
  }
  /** Its options, from which `fromConfig` creates it again. Objects among them: `et.schedules.serialize(schedule)`. */
  getConfig(): Config {
    throw nativeError(`[getConfig] ${this.#kind} of the class ${this.className} without the function - expected one - define getConfig().`, 'value');
  }
  /** The object of a config of getConfig. Default: `new this(config)`. */
  static fromConfig(config: Config): object {
    return new (this as unknown as new (config: Config) => object)(config);
  }
  /** For the module only: throws unless the class has the functions that the module calls. */
  checkComplete(): void {
    for (const name of this.#required) functionOf(this, name, this.#find, this.#kind);
  }
}

/**
 * The base class of custom losses:
 *
 *     class Focal extends et.Loss {
 *       call(yTrue, yPred) {
 *         return et.ops.mean(et.ops.square(et.ops.subtract(yTrue, yPred)), [-1]);
 *       }
 *     }
 *     model.compile({ loss: new Focal() });
 *
 * A subclass defines `call`, the loss of each sample. Code that calls the loss, `loss.call(yTrue, yPred, sampleWeight)`
 * within a step, gets the reduced loss: weights, masks and the reduction are applied. Its targets have the rank of the
 * predictions if these have a last axis of 1.
 */
export abstract class CustomLoss extends Custom<native.Loss> implements native.Loss {
  /** The public `loss.call`: it computes the reduced loss by `call` of the class. */
  readonly #entrance: CustomLoss['call'];
  readonly #reduction: string;

  /** Options: its name, and how the losses of the samples become one number. */
  constructor(options?: options.LossOptions) {
    const given = checkOptions(options, 'Loss');
    super('a loss', ['call'], (className, link) => module.loss_custom(className, given, link), CustomLoss.#find as Find);
    const handle = this.handle;
    this.#reduction = given.reduction ?? 'sum_over_batch_size';
    this.#entrance = this.call = (yTrue, yPred, sampleWeight) => handle.call(yTrue, yPred, sampleWeight);
  }
  /** The loss of each sample: [batch, ..] -> [batch, ..] without the last axis. It is traced, and must be synchronous. */
  abstract call(yTrue: Value, yPred: Value, sampleWeight?: ValueLike): Value;
  /** Its name and its reduction. Subclasses add theirs. */
  override getConfig(): Config {
    return { name: this.name, reduction: this.#reduction };
  }

  get name(): string {
    return this.handle.name;
  }
  static #find(this: void, loss: CustomLoss): unknown {
    return loss.call === loss.#entrance ? (Object.getPrototypeOf(loss) as CustomLoss).call : loss.call;
  }
}

/**
 * The base class of custom metrics:
 *
 *     class LargestError extends et.Metric {
 *       constructor(options) {
 *         super(options);
 *         this.largest = this.addVariable({ name: 'largest' });
 *       }
 *       updateState(yTrue, yPred) {
 *         const error = et.ops.max(et.ops.absolute(et.ops.subtract(yTrue, yPred)));
 *         this.largest.assign(et.ops.maximum(this.largest.read(), error));
 *       }
 *       result() {
 *         return this.largest.read();
 *       }
 *     }
 *     model.compile({ loss: 'mse', metrics: [new LargestError()] });
 */
export abstract class CustomMetric extends Custom<native.Metric> implements native.Metric {
  /** Options: its name, which is that of its log. */
  constructor(given: options.MetricOptions = {}) {
    super('a metric', ['updateState', 'result'], (className, link) => module.metric_custom(className, given, link));
  }
  /**
   * Adds a batch: reads and assigns variables. `sampleWeight` is undefined without weights; the steps that a mask of the
   * predictions excludes weigh 0. It is traced, and must be synchronous.
   */
  abstract updateState(yTrue: Value, yPred: Value, sampleWeight?: ValueLike): void;
  /** The current result, a scalar. */
  abstract result(): Value;
  /** Sets the variables to their initial values, as each epoch does. */
  resetState(): void {
    module.metric_resetVariables(this.handle);
  }
  /** Adds the state of other metrics of the class, such as those of other parts of the data, to its variables. */
  mergeState(metrics: native.Metric[]): void {
    this.handle.mergeState(metrics);
  }
  /** A new metric of the same options: each of several outputs gets one, if the metric is that of all outputs. */
  copy(): native.Metric {
    throw nativeError(`[copy] one metric "${this.name}" for several outputs - expected a copy for each - define copy(), or pass an object for each output by its name.`, 'value');
  }
  /** Its name. Subclasses add theirs. */
  override getConfig(): Config {
    return { name: this.name };
  }
  /** The metric of a config of getConfig. Default: `new this(config)`. Keras adds a dtype, that of its variables. */
  static override fromConfig({ dtype, ...config }: Config): object {
    return super.fromConfig(dtype === undefined || dtype === 'float32' ? config : { ...config, dtype });
  }
  /** Creates a variable, of zeros by default. Call it in the constructor. */
  addVariable(given: options.MetricVariableOptions = {}): native.Variable {
    return module.metric_addVariable(this.handle, given);
  }

  get name(): string {
    return this.handle.name;
  }
  get variables(): native.Variable[] {
    return this.handle.variables;
  }
}

/**
 * The base class of custom optimizers:
 *
 *     class Momentum extends et.Optimizer {
 *       build(variables) {
 *         for (const variable of variables) this.addVariableFromReference(variable, 'momentum');
 *       }
 *       updateStep(gradient, variable, learningRate) {
 *         const momentum = this.getSlot(variable, 'momentum');
 *         momentum.assign(et.ops.subtract(et.ops.multiply(momentum.read(), 0.9), et.ops.multiply(gradient, learningRate)));
 *         variable.assign(et.ops.add(variable.read(), momentum.read()));
 *       }
 *     }
 *
 * Schedules, clipping, weight decay, averages, accumulated gradients and constraints are those of all optimizers.
 */
export abstract class CustomOptimizer extends Custom<native.Optimizer> implements native.Optimizer {
  readonly #given: options.CustomOptimizerOptions;

  /** Options: those that all optimizers have. */
  constructor(given: options.CustomOptimizerOptions = {}) {
    super('an optimizer', ['updateStep'], (className, link) => module.optimizer_custom(className, given, link));
    this.#given = { ...given };
  }
  /** Creates the slots of these variables. A later call has the variables that are new. */
  build(variables: native.Variable[]): void {
    void variables;
  }
  /** Assigns the next value of `variable`. `learningRate` is a scalar of its dtype. It is traced, and must be synchronous. */
  abstract updateStep(gradient: Value, variable: native.Variable, learningRate: Value): void;

  /** The options of all optimizers that it was given, with its current learning rate. Subclasses add theirs. */
  override getConfig(): Config {
    const { learningRate } = this.#given;
    return { ...this.#given, name: this.name, learningRate: typeof learningRate === 'object' ? serialize('schedule', learningRate) : this.learningRate };
  }
  /** The optimizer of a config of getConfig. Default: `new this(config)`, with the schedule if the config has one. */
  static override fromConfig(config: Config): object {
    return super.fromConfig({ ...config, learningRate: deserialize('schedule', config['learningRate']) });
  }

  /** Within `build`: creates a slot of the shape and dtype of `reference`, of zeros by default. */
  addVariableFromReference(reference: native.Variable, name: string, initializer?: options.InitializerName | native.Initializer): native.Variable {
    return module.optimizer_addVariableFromReference(this.handle, reference, name, initializer);
  }
  /** The slot of that name that `build` created for `variable`. */
  getSlot(variable: native.Variable, name: string): native.Variable {
    return module.optimizer_getSlot(this.handle, variable, name);
  }
  /** Within `updateStep`: the number of the update, from 1 on, as a scalar. */
  stepNumber(dtype?: DType): Value {
    return module.optimizer_stepNumber(this.handle, dtype);
  }

  get name(): string {
    return this.handle.name;
  }
  get iterations(): number {
    return this.handle.iterations;
  }
  get variables(): native.Variable[] {
    return this.handle.variables;
  }
  get learningRate(): number {
    return this.handle.learningRate;
  }
  set learningRate(rate: number) {
    this.handle.learningRate = rate;
  }
  apply(gradients: (Value | null)[], variables: native.Variable[]): void {
    this.handle.apply(gradients, variables);
  }
  scaleLoss(loss: ValueLike): Value {
    return this.handle.scaleLoss(loss);
  }
  excludeFromWeightDecay(variables: native.Variable[], names?: string[]): void {
    this.handle.excludeFromWeightDecay(variables, names);
  }
  finalizeVariableValues(variables: native.Variable[]): void {
    this.handle.finalizeVariableValues(variables);
  }
}

/**
 * The base class of custom initializers: `call` returns the first values of a variable, as a Tensor, a typed array or
 * nested arrays. It should depend only on a seed of its own, so that equal seeds give equal models.
 */
export abstract class CustomInitializer extends Custom<native.Initializer> implements native.Initializer {
  constructor() {
    super('an initializer', ['call'], (_, link) => module.custom('initializer', link) as native.Initializer);
  }
  abstract call(shape: number[], dtype: DType): Tensor | TensorLike;
  /** No options. Subclasses return theirs. */
  override getConfig(): Config {
    return {};
  }
}
/** The base class of custom regularizers: `call` returns the penalty on a weight, or on a layer's output, a scalar. */
export abstract class CustomRegularizer extends Custom<native.Regularizer> implements native.Regularizer {
  constructor() {
    super('a regularizer', ['call'], (_, link) => module.custom('regularizer', link) as native.Regularizer);
  }
  abstract call(x: Value): Value;
}
/** The base class of custom constraints: `call` returns the weight that satisfies it, of the same shape. */
export abstract class CustomConstraint extends Custom<native.Constraint> implements native.Constraint {
  constructor() {
    super('a constraint', ['call'], (_, link) => module.custom('constraint', link) as native.Constraint);
  }
  abstract call(weight: Value): Value;
  /** No options. Subclasses return theirs. */
  override getConfig(): Config {
    return {};
  }
}
/** The base class of custom schedules: `call` returns the learning rate at a step, a scalar of the step's dtype. */
export abstract class CustomSchedule extends Custom<native.LearningRateSchedule> implements native.LearningRateSchedule {
  constructor() {
    super('a schedule', ['call'], (_, link) => module.custom('schedule', link) as native.LearningRateSchedule);
  }
  abstract call(step: Value): Value;
  /** The rate at a step as a number, if `call` consists of elementwise ops. */
  at(step: number): number {
    return this.handle.at(step);
  }
}

// The types of these names are those of all such objects: `const optimizer: et.Optimizer = et.optimizers.adam()`.
/** The base class of custom losses: see {@link CustomLoss}. The type is that of all losses. */
export const Loss = CustomLoss;
export type Loss = native.Loss;
/** The base class of custom metrics: see {@link CustomMetric}. The type is that of all metrics. */
export const Metric = CustomMetric;
export type Metric = native.Metric;
/** The base class of custom optimizers: see {@link CustomOptimizer}. The type is that of all optimizers. */
export const Optimizer = CustomOptimizer;
export type Optimizer = native.Optimizer;
/** The base class of custom initializers: see {@link CustomInitializer}. The type is that of all initializers. */
export const Initializer = CustomInitializer;
export type Initializer = native.Initializer;
/** The base class of custom regularizers: see {@link CustomRegularizer}. The type is that of all regularizers. */
export const Regularizer = CustomRegularizer;
export type Regularizer = native.Regularizer;
/** The base class of custom constraints: see {@link CustomConstraint}. The type is that of all constraints. */
export const Constraint = CustomConstraint;
export type Constraint = native.Constraint;
/** The base class of custom schedules: see {@link CustomSchedule}. The type is that of all schedules. */
export const LearningRateSchedule = CustomSchedule;
export type LearningRateSchedule = native.LearningRateSchedule;
