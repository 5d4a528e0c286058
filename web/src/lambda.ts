import { fail } from './error.js';
import { Layer } from './layer.js';
import type * as options from './options.mjs';

type Call = Layer['call'];

class Lambda extends Layer {
  static readonly className: string = 'Lambda';
  readonly #f: Call;

  constructor(f: Call, given?: options.CustomLayerOptions) {
    super(given);
    this.#f = f;
  }

  override call(x: Parameters<Call>[0], training?: boolean): ReturnType<Call> {
    return this.#f(x, training);
  }
}

/**
 * Makes a layer of a function of Values: `et.layers.lambda((x) => et.ops.square(x))`, or of a list of them if the layer has
 * several inputs. Its second argument says whether the step trains. The layer has no config: a model that contains it saves
 * its weights, and is created in code.
 */
export function lambdaLayer(f: (x: any, training: boolean) => ReturnType<Call>, given?: options.CustomLayerOptions): Layer {
  if (typeof f !== 'function') fail('value', 'layers.lambda', `a value of the type ${typeof f} - expected a function of Values - pass one.`);
  return new Lambda(f as Call, given);
}
