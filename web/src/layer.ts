import { checkOptions, fail } from './error.js';
import type * as native from './etude.mjs';
import { LayerBase, layersIn, linkTo } from './layer_base.js';
import { module } from './module.js';
import type { Nested } from './nested.js';
import type * as options from './options.mjs';
import type { Value } from './value.js';

/** The options of a layer, as plain JSON. */
export type Config = Record<string, unknown>;

/**
 * The base class of custom layers:
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
 * A subclass defines `call`, and `build` if it has weights. Code that calls the layer, `layer.call(x)` within a step or on
 * data outside, builds it first, and casts floats to its compute dtype. Within its `call`, reads of float variables have
 * that dtype, too.
 *
 * Layers in its properties after `build`, also in arrays, Maps and plain objects, are part of it: they are trained, counted
 * and saved with it. Those in private fields (#layer) and in objects of other classes are not found. The names of its weights
 * contain the class's name: define `static className` where a minifier renames classes.
 *
 * A model with such a layer is saved as a whole if its class is registered by `registerClass`, and `getConfig` has the options
 * of its constructor:
 *
 *     class Scale extends et.Layer {
 *       constructor({ factor = 1, ...options } = {}) {
 *         super(options);
 *         this.factor = factor;
 *       }
 *       getConfig() {
 *         return { ...super.getConfig(), factor: this.factor };
 *       }
 *       call(x) {
 *         return et.ops.multiply(x, this.factor);
 *       }
 *     }
 *     et.registerClass(Scale, { package: 'my_package' });
 */
export abstract class Layer extends LayerBase {
  /** For the module only. */
  readonly handle: native.Layer;

  /** The public `layer.call`: it builds the layer and casts its inputs before it calls `call` of the class. */
  readonly #entrance: Layer['call'];
  readonly #dtype: string;

  /** Options: its name, dtype and whether it is trained. */
  constructor(options?: options.CustomLayerOptions) {
    super();
    const given = checkOptions(options, 'Layer');
    const { className, name } = this.constructor as { className?: string; name: string };
    const handle = module.layer_custom(className ?? (name || 'Layer'), given, linkTo<Layer>(this, Layer.#find), false) as native.Layer;
    this.handle = handle;
    this.#dtype = given.dtype || module.dtypePolicy();
    this.#entrance = this.call = (x, training = false) => handle.call(x as Value, training) as Value;
  }

  /** Creates the weights for inputs of this shape, batch axis included; a layer of several inputs gets a list of shapes. */
  build(inputShape: number[] | number[][]): void {
    void inputShape;
  }
  /** The layer's result for a Value, or for its inputs as they are passed: lists and objects. It is traced, and must be synchronous. */
  call(x: Nested<Value>, training?: boolean): Nested<Value>;
  call(): never {
    return fail('value', 'call', `a layer of the class ${this.className} without the function - expected one - define call().`);
  }

  /** Its options, from which `fromConfig` creates it again. Subclasses add theirs. Objects among them: `et.layers.serialize(layer)`. */
  getConfig(): Config {
    return { name: this.name, trainable: this.trainable, dtype: this.#dtype };
  }
  /** The layer of a config of getConfig. Default: `new this(config)`. */
  static fromConfig(config: Config): Layer {
    return new (this as unknown as new (config: Config) => Layer)(config);
  }

  /** Within `build`: creates a variable, glorot_uniform by default. */
  addWeight(given: options.WeightOptions = {}): native.Variable {
    return module.layer_addWeight(this, given);
  }

  /** A closure of the constructor would keep the handle alive. */
  static #find(this: void, layer: Layer, step: string): unknown {
    if (step === 'layers') return () => layersIn(layer);
    if (step !== 'call') return layer[step as 'build'];
    return layer.call === layer.#entrance ? (Object.getPrototypeOf(layer) as Layer).call : layer.call;
  }
}
