import type * as native from './etude.mjs';
import { fail } from './error.js';
import { module } from './module.js';
import { Model, type LayerLike } from './model.js';
import type * as options from './options.mjs';
import { only } from './predictions.js';
import type { Tensor, TensorLike } from './tensor.js';
import type { Value } from './value.js';

type Symbols = native.SymbolicTensor | native.SymbolicTensor[];
type Inputs = Value | readonly Value[] | TensorLike | readonly TensorLike[];

/**
 * The base class of layers of one's own:
 *
 *     class Gain extends et.Layer {
 *       build(inputShape) {
 *         this.factors = this.addWeight({ name: 'factors', shape: [inputShape.at(-1)], initializer: 'ones' });
 *       }
 *       call(x) {
 *         return et.ops.multiply(x, this.factors.read());
 *       }
 *     }
 *     const model = et.sequential([et.layers.dense({ units: 8 }), new Gain()]);
 *
 * Layers in its properties, or in arrays of its properties, are part of it: they are trained and saved with it. Such a
 * model cannot be saved as a whole, but its weights can.
 */
export abstract class Layer {
  /** For the module only. */
  readonly handle: native.Layer;

  /** Options: its name, dtype and whether it is trained. */
  constructor(given: options.OwnLayerOptions = {}) {
    // The module refers to this object by a weak reference: otherwise neither could be collected. Models keep both.
    const weak = new WeakRef(this);
    this.handle = module.layer_own(this.constructor.name, given, (step: 'build' | 'call' | 'layers', ...received: never[]) => {
      const layer = weak.deref() ?? fail('state', step, 'a layer that JavaScript no longer has - expected its object - keep it, or a model that contains it.');
      return step === 'layers' ? layer.#layers() : (layer[step] as (...received: never[]) => unknown).call(layer, ...received);
    });
  }

  /** Creates the weights for inputs of this shape, batch axis included; several inputs have a list of shapes. */
  build(inputShape: number[]): void {
    void inputShape;
  }
  /** What the layer computes, of one Value or of a list. A synchronous function: it is traced. */
  abstract call(x: Value | Value[], training: boolean): Value | Value[];

  /** Within `build`: creates a variable, glorot_uniform by default. */
  addWeight(given: options.WeightOptions = {}): native.Variable {
    return module.layer_addWeight(this, given);
  }

  /** Builds the layer if need be, and calls it: on Values within a step, on data outside, or to describe a model. */
  apply(inputs: Symbols, training?: boolean): native.SymbolicTensor;
  apply(inputs: Value | readonly Value[], training?: boolean): Value;
  apply(inputs: TensorLike | readonly TensorLike[], training?: boolean): Tensor;
  apply(inputs: Inputs | Symbols, training = false): native.SymbolicTensor | Value | Tensor | Value[] | Tensor[] {
    const first: unknown = Array.isArray(inputs) ? inputs[0] : inputs;
    if (first instanceof (module.SymbolicTensor as unknown as new () => object)) return only(this.applyAll(inputs as Symbols), 'apply', 'applyAll');
    return this.handle.call(inputs as Value, training) as Value | Tensor | Value[] | Tensor[];
  }
  /** To describe a model with a layer of several outputs: one for each. */
  applyAll(inputs: Symbols): native.SymbolicTensor[] {
    return module.layer_applyAll(this, inputs);
  }

  get name(): string {
    return this.handle.name;
  }
  get built(): boolean {
    return this.handle.built;
  }
  get trainable(): boolean {
    return this.handle.trainable;
  }
  set trainable(trainable: boolean) {
    this.handle.trainable = trainable;
  }
  get variables(): native.Variable[] {
    return this.handle.variables;
  }
  get trainableVariables(): native.Variable[] {
    return this.handle.trainableVariables;
  }
  get nonTrainableVariables(): native.Variable[] {
    return this.handle.nonTrainableVariables;
  }
  getWeights(): Tensor[] {
    return this.handle.getWeights();
  }
  setWeights(weights: TensorLike[]): void {
    this.handle.setWeights(weights);
  }
  countParams(): number {
    return this.handle.countParams();
  }

  #layers(): LayerLike[] {
    const isLayer = (each: unknown): each is LayerLike =>
      each instanceof Layer || each instanceof Model || each instanceof (module.Layer as unknown as new () => object);
    return Object.entries(this).flatMap(([name, value]) => (name === 'handle' ? [] : [value].flat())).filter(isLayer);
  }
}
