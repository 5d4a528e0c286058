import { checkOptions, describe, fail } from './error.js';
import type * as native from './etude.mjs';
import { Layer, type Config } from './layer.js';
import { isLayer } from './layer_base.js';
import type { LayerLike } from './model.js';
import type * as options from './options.mjs';
import { deserialize, serialize } from './serialization.js';

/** Options of `Wrapper`. */
export interface WrapperOptions extends options.CustomLayerOptions {
  /** The layer that it contains. */
  layer: LayerLike;
}

/**
 * The base class of custom layers that contain a layer, which is trained and saved with them:
 *
 *     class Residual extends et.Wrapper {
 *       call(x, training) {
 *         return et.ops.add(x, this.layer.call(x, training));
 *       }
 *     }
 *     et.registerClass(Residual, { package: 'my_package' });
 *     const model = et.sequential([new Residual({ layer: et.layers.dense({ units: 8 }) })]);
 */
export abstract class Wrapper extends Layer {
  /** The layer that it contains, with the members that all layers have. */
  readonly layer: native.Layer;

  /** Options: the layer, and those of all layers. Throws EtudeError "value" without a layer. */
  constructor(options?: WrapperOptions) {
    const { layer, ...others } = checkOptions(options, 'Wrapper');
    super(others);
    if (!isLayer(layer)) fail('value', this.className, `layer = ${describe(layer)} - expected a layer - set layer.`);
    this.layer = layer as native.Layer;
  }
  /** Its options, with the config of its layer. Subclasses add theirs. */
  override getConfig(): Config {
    return { ...super.getConfig(), layer: serialize('layer', this.layer) };
  }
  /** The layer of a config of getConfig. Default: `new this(config)`, with the layer of that config. */
  static override fromConfig(config: Config): Layer {
    return super.fromConfig({ ...config, layer: deserialize('layer', config['layer']) });
  }
}
