import { fail } from './error.js';
import type * as native from './etude.mjs';
import type { LayerLike } from './model.js';
import { module } from './module.js';
import { only } from './predictions.js';
import type { Tensor, TensorLike } from './tensor.js';

/** What a layer is applied to, when a model is described. */
export type Symbols = native.SymbolicTensor | native.SymbolicTensor[];
/** Calls a function of an object by its name. */
export type Link = (name: string, ...given: unknown[]) => unknown;

/**
 * A link to `owner`, whose functions `find` returns. It refers to the object weakly, because the object has the handle:
 * otherwise neither could be collected. What contains the layer keeps both.
 */
export function linkTo<Owner extends LayerBase>(owner: Owner, find: (owner: Owner, name: string) => unknown): Link {
  const weak = new WeakRef(owner);
  return (name, ...given) => {
    const alive = weak.deref();
    if (name === 'object') return alive?.handle ? alive : undefined; // while the handle is made there is none
    if (!alive) return fail('state', name, 'a layer whose object was collected - expected that to be alive - keep it, or a model that contains it.');
    const found = find(alive, name);
    if (typeof found !== 'function') return fail('value', name, `a layer of the class ${alive.className} without the function - expected one - define ${name}().`);
    return (found as Link).call(alive, ...(given as [string]));
  };
}

/** What models and custom layers have in common with other layers. */
export abstract class LayerBase {
  /** For the module only. */
  abstract readonly handle: native.Layer;

  /** Describes a model of which this is a layer. */
  apply(inputs: Symbols): native.SymbolicTensor {
    return only(this.applyAll(inputs), 'apply', 'applyAll');
  }
  /** The same for several outputs: one for each. */
  applyAll(inputs: Symbols): native.SymbolicTensor[] {
    return module.layer_applyAll(this as unknown as LayerLike, inputs);
  }

  /** The input of its only call by apply(); that of a model which knows its input. An error for several calls. */
  get input(): native.SymbolicTensor {
    return this.handle.input;
  }
  /** The same of the output. */
  get output(): native.SymbolicTensor {
    return this.handle.output;
  }
  /** All inputs of that call. */
  get inputs(): native.SymbolicTensor[] {
    return this.handle.inputs;
  }
  /** All outputs of that call. */
  get outputs(): native.SymbolicTensor[] {
    return this.handle.outputs;
  }
  get name(): string {
    return this.handle.name;
  }
  get className(): string {
    return this.handle.className;
  }
  get built(): boolean {
    return this.handle.built;
  }
  get outputShape(): number[] | null {
    return this.handle.outputShape;
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
}
