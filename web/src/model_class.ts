/** The methods that classes extending et.Model may replace. */
import { makerNames } from './execution.js';
import type * as options from './options.mjs';

/** The functions of a model that a class may define. */
const replaceable = ['call', 'trainStep', 'testStep', 'predictStep', 'computeLoss', 'computeMetrics'] as const;
type Function = (...given: unknown[]) => unknown;
type Functions = Partial<Record<string, Function>>;

/**
 * Adds to `steps` the functions of `model` that are not those of `base`, the prototype of all models. On the object, the
 * function of `base` then replaces each of them. It calls the class's function through the module, which builds layers and
 * casts inputs; within computeLoss, `super.computeLoss` is that of compile. `entrances` collects the replacements.
 */
export function addReplaced(steps: options.ModelOptions, model: object, base: object, entrances: WeakSet<Function>): void {
  for (const name of replaceable) {
    const found = (model as Functions)[name], ofBase = (base as Functions)[name];
    if (typeof found !== 'function' || found === ofBase || entrances.has(found)) continue;
    (steps as Functions)[name] = found;
    if (!ofBase) continue;
    const entrance = (...given: unknown[]): unknown => ofBase.apply(model, given);
    entrances.add(entrance);
    Object.defineProperty(model, name, { value: entrance, configurable: true, writable: true });
  }
  for (const name of makerNames) {
    const found = (model as Functions)[name];
    if (found !== (base as Functions)[name]) (steps as Functions)[name] = found;
  }
  for (let owner = model; owner !== base; owner = Object.getPrototypeOf(owner) as object)
    if (Object.hasOwn(owner, 'metrics')) return void (steps.metrics = (model as { metrics: NonNullable<options.ModelOptions['metrics']> }).metrics);
}
