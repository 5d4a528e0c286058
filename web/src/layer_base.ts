import { refuseMore } from './apply.js';
import { fail, nativeError } from './error.js';
import type * as native from './etude.mjs';
import type { LayerLike } from './model.js';
import { module } from './module.js';
import { copied, isPlain, pack, type Nested } from './nested.js';
import { only } from './predictions.js';
import type { Tensor, TensorLike } from './tensor.js';

/** The inputs of a layer when a model is described. */
export type Symbols = Nested<native.SymbolicTensor>;
/** The inputs or outputs of a model by name. */
export type NamedSymbols = Record<string, native.SymbolicTensor>;
/** Calls a function of an object by its name. */
export type Link = (name: string, given?: unknown[]) => unknown;

/** An object whose functions the module calls. */
interface Linked {
  readonly handle: object;
  readonly className: string;
}
/**
 * A link to `owner`, whose functions `find` returns. It refers to the object weakly, because the object has the handle:
 * otherwise neither could be collected. The owner of the layer keeps both.
 */
export function linkTo<Owner extends Linked>(owner: Owner, find: (owner: Owner, name: string) => unknown, kind = 'a layer'): Link {
  const weak = new WeakRef(owner);
  return (name, given = []) => {
    const alive = weak.deref();
    if (name === 'object') return alive?.handle ? alive : undefined; // while the handle is made there is none
    if (!alive) return fail('state', name, `${kind} whose object was garbage-collected - expected a live object - keep a reference to it, or to a model that contains it.`);
    return copied(functionOf(alive, name, find, kind).apply(alive, given));
  };
}
/** The function of that name. Throws Error(value) if the class has none. */
export function functionOf<Owner extends Linked>(owner: Owner, name: string, find: (owner: Owner, name: string) => unknown, kind: string): (...given: unknown[]) => unknown {
  const found = find(owner, name);
  if (typeof found !== 'function') throw nativeError(`[${name}] ${kind} of the class ${owner.className} without the function - expected one - define ${name}().`, 'value');
  return found as (...given: unknown[]) => unknown;
}

export const isLayer = (each: unknown): boolean => each instanceof LayerBase || each instanceof (module.Layer as unknown as new () => object);
/** The layers in the properties of a custom layer, also in arrays, Maps and plain objects, and in those within them. */
export function layersIn(owner: LayerBase): unknown[] {
  const found: unknown[] = [], seen = new Set<unknown>();
  const left = Object.entries(owner).filter(([name]) => name !== 'handle').map(([, value]) => value as unknown).reverse();
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== 'object' || seen.has(value)) continue;
    if (isLayer(value)) {
      found.push(value);
      continue;
    }
    const members = membersOf(value);
    if (members.length > 0) seen.add(value);
    for (let i = members.length; i-- > 0; ) left.push(members[i]);
  }
  return found;
}
function membersOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Map) return [...value.values()];
  return isPlain(value) ? Object.values(value) : [];
}

/** The members that models and custom layers share with other layers. */
export abstract class LayerBase {
  /** For the module only. */
  abstract readonly handle: native.Layer;

  /** Describes a model of which this is a layer. Outputs by name are an object: `apply<et.NamedSymbols>(x)`. */
  apply<Output extends Symbols = native.SymbolicTensor>(inputs: Symbols): Output;
  apply(inputs: Symbols, ...others: unknown[]): Symbols {
    refuseMore(others, 'apply');
    const outputs = this.applyAll(inputs);
    const keys = this.handle.outputKeys;
    return keys.length ? pack(keys, outputs) : only(outputs, 'apply', 'applyAll');
  }
  /** The same for several outputs: one for each. */
  applyAll(inputs: Symbols): native.SymbolicTensor[];
  applyAll(inputs: Symbols, ...others: unknown[]): native.SymbolicTensor[] {
    refuseMore(others, 'applyAll');
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
  /** Whether results get the masks of inputs. A custom layer sets it in its constructor; otherwise it drops masks, and warns. */
  get supportsMasking(): boolean {
    return this.handle.supportsMasking;
  }
  set supportsMasking(supports: boolean) {
    this.handle.supportsMasking = supports;
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
