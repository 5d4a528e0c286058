import { checkOptions, describe, nativeError } from './error.js';
import type * as native from './etude.mjs';
import type { Config } from './layer.js';
import { LayerBase, layersIn, linkTo } from './layer_base.js';
import { module } from './module.js';
import type * as options from './options.mjs';
import type { Value } from './value.js';

/** The units of the state of a cell, or a list with the units, or the shape of a sample, of each state. */
export type StateSize = number | readonly (number | readonly number[])[];

/**
 * The base class of custom cells, one step of a recurrent layer:
 *
 *     class Minimal extends et.RnnCell {
 *       stateSize = 4;
 *       build(inputShape) {
 *         this.kernel = this.addWeight({ name: 'kernel', shape: [inputShape.at(-1), 4] });
 *       }
 *       call(x, [state]) {
 *         const output = et.ops.tanh(et.ops.add(et.ops.matmul(x, this.kernel.read()), state));
 *         return [output, [output]];
 *       }
 *     }
 *     const layer = et.layers.rnn({ cell: new Minimal() });
 *
 * A subclass defines `stateSize` and `call`, and `build` if it has weights. The step is traced once for all steps of a
 * sequence: it may read variables and call layers, but neither assign variables nor draw random numbers. Layers in its
 * properties are part of it, as in those of `et.Layer`. `bidirectional` needs a second cell: define `copy`, which returns one. It is saved with its layer if its class is registered by `registerClass`.
 */
export abstract class RnnCell extends LayerBase {
  /** For the module only. */
  readonly handle: native.Layer;
  /** The size of its state, or of each. */
  abstract readonly stateSize: StateSize;
  /** The units of its output, or the shape of a sample. Default: those of the first state. */
  declare readonly outputSize?: number | readonly number[];

  /** The public `cell.call`: it calls `call` of the class and checks its result. */
  readonly #entrance: RnnCell['call'];
  readonly #dtype: string;

  /** Options: its name, dtype and whether it is trained. */
  constructor(options?: options.CustomLayerOptions) {
    super();
    const given = checkOptions(options, 'RnnCell');
    const { className, name } = this.constructor as { className?: string; name: string };
    const handle = module.layer_custom(className ?? (name || 'RnnCell'), given, linkTo<RnnCell>(this, RnnCell.#find, 'a cell'), true) as native.Layer;
    this.handle = handle;
    this.#dtype = given.dtype || module.dtypePolicy();
    this.#entrance = this.call = (x, states, training = false) => {
      const [output, ...next] = handle.call([x, ...states], training) as unknown as Value[];
      return [output as Value, next];
    };
  }

  /** Creates the weights for steps of this shape, batch axis included. */
  build(inputShape: number[]): void {
    void inputShape;
  }
  /** The output of a step, and the states after it, as many as before it. It is traced, and must be synchronous. */
  abstract call(x: Value, states: readonly Value[], training?: boolean): [output: Value, states: Value[]];

  /** Its options, from which `fromConfig` creates it again. Subclasses add theirs. */
  getConfig(): Config {
    return { name: this.name, trainable: this.trainable, dtype: this.#dtype };
  }
  /** The cell of a config of getConfig. Default: `new this(config)`. */
  static fromConfig(config: Config): RnnCell {
    return new (this as unknown as new (config: Config) => RnnCell)(config);
  }

  /** Within `build`: creates a variable, glorot_uniform by default. */
  addWeight(given: options.WeightOptions = {}): native.Variable {
    return module.layer_addWeight(this, given);
  }

  /** A closure of the constructor would keep the handle alive. */
  static #find(this: void, cell: RnnCell, step: string): unknown {
    if (step === 'layers') return () => layersIn(cell);
    if (step === 'shapes') return (batch: number) => cell.#sizes().map((size) => [batch, ...size]);
    if (step !== 'call') return cell[step as 'build'];
    const call: unknown = cell.call === cell.#entrance ? (Object.getPrototypeOf(cell) as RnnCell).call : cell.call;
    return typeof call === 'function' ? (...given: Parameters<RnnCell['call']>) => flat(call.apply(cell, given)) : undefined;
  }
  /** The shapes of a sample: of the output, and of each state. */
  #sizes(): number[][] {
    const { stateSize, outputSize } = this as { stateSize?: StateSize; outputSize?: StateSize };
    const shape = (size: unknown) => [size].flat() as number[];
    const states = stateSize === undefined ? [] : [stateSize].flat().map(shape);
    const [first] = states;
    for (const extent of [...states.flat(), ...(outputSize === undefined ? [] : shape(outputSize))])
      if (!Number.isSafeInteger(extent) || extent < 0) throw nativeError(`[stateSize] ${describe(extent)} among the sizes of a cell of the class ${this.className} - expected whole numbers of 0 or more - set stateSize and outputSize.`, 'value');
    if (!first) throw nativeError(`[stateSize] a cell of the class ${this.className} without the size of its state - expected a number, or a list with one for each state - set stateSize.`, 'value');
    return [outputSize === undefined ? first : shape(outputSize), ...states];
  }
}

/** [output, states] as one list. */
function flat(made: unknown): unknown {
  if (made instanceof Promise) return made; // the module refuses it
  const [output, states] = Array.isArray(made) ? (made as unknown[]) : [];
  if (!Array.isArray(states)) throw nativeError(`[call] ${describe(made)} - expected [output, states] - return the output and a list of the next states.`, 'value');
  return [output, ...(states as unknown[])];
}
