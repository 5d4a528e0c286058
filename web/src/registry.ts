/** The custom classes that are saved and loaded, by their names in files. */
import { CustomConstraint, CustomInitializer, CustomLoss, CustomMetric, CustomOptimizer, CustomRegularizer, CustomSchedule } from './custom.js';
import { checkOptions, describe, fail, nativeError } from './error.js';
import { Layer, type Config } from './layer.js';
import { host } from './module.js';
import { RnnCell } from './rnn_cell.js';
import { Wrapper } from './wrapper.js';

/**
 * A custom class: one that extends `et.Layer`, `et.RnnCell`, `et.Loss`, `et.Metric`, `et.Optimizer`,
 * `et.LearningRateSchedule`, `et.Initializer`, `et.Regularizer` or `et.Constraint`.
 */
export interface CustomClass {
  new (...given: never[]): { getConfig(): Config };
  /** Its name in configs, where a minifier renames classes. Default: its `name`. */
  readonly className?: string;
  readonly name: string;
  fromConfig(config: Config): object;
}
/** Classes by their names in a file: "my_package>Gain", or "Gain". */
export type CustomObjects = Record<string, CustomClass>;
/** Options of `registerClass`. */
export interface RegisterOptions {
  /** The first part of the class's name in files. Default: "Custom". */
  package?: string | undefined;
  /** The second part. Default: its className. */
  name?: string | undefined;
}

/** The base classes of each kind of classes, which are not registered themselves, by the kind's name in the module. */
const kinds: Record<string, readonly (abstract new (...given: never[]) => object)[]> = {
  layer: [Layer, RnnCell, Wrapper],
  loss: [CustomLoss],
  metric: [CustomMetric],
  optimizer: [CustomOptimizer],
  schedule: [CustomSchedule],
  initializer: [CustomInitializer],
  regularizer: [CustomRegularizer],
  constraint: [CustomConstraint],
};
/** The kinds whose objects have a name, which their configs have too. */
const named = ['layer', 'loss', 'metric', 'optimizer'];
const withArticle = (kind: string): string => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
const isOf = (kind: string, object: unknown): boolean => (kinds[kind] as (typeof Layer)[]).some((base) => object instanceof base);
const kindOf = (customClass: CustomClass): string | undefined => Object.keys(kinds).find((kind) => isOf(kind, customClass.prototype));
const isBase = (given: unknown): boolean => Object.values(kinds).some((bases) => bases.includes(given as typeof Layer));
const classNameOf = (customClass: CustomClass): string => customClass.className ?? customClass.name;

const classes = new Map<string, CustomClass>(), registeredNames = new Map<CustomClass, string>();
/** The customObjects of the running load. */
let customObjectsOfLoad = new Map<string, CustomClass>();

function checkClass(given: unknown, where: string): asserts given is CustomClass {
  if (typeof given !== 'function' || isBase(given) || kindOf(given as CustomClass) === undefined)
    fail('value', where, `${describe(given)} - expected a class that extends et.Layer, et.RnnCell, et.Loss, et.Metric, et.Optimizer, et.LearningRateSchedule, et.Initializer, et.Regularizer or et.Constraint - pass the class itself.`);
}

/**
 * Registers a class that extends `et.Layer`, `et.RnnCell`, `et.Loss`, `et.Metric`, `et.Optimizer`,
 * `et.LearningRateSchedule`, `et.Initializer`, `et.Regularizer` or `et.Constraint`, and returns it: models with its objects
 * are then saved, loaded, described and cloned. Files call it "package>name", in the format of Keras. They can only create
 * classes that are registered when they are loaded.
 *
 *     et.registerClass(Gain, { package: 'my_package' });
 */
export function registerClass<Class extends CustomClass>(customClass: Class, options?: RegisterOptions): Class {
  checkClass(customClass, 'registerClass');
  const { package: first = 'Custom', name: second = classNameOf(customClass) } = checkOptions(options, 'registerClass', ['package', 'name']);
  for (const part of [first, second] as unknown[])
    if (typeof part !== 'string' || part === '' || part.includes('>'))
      fail('value', 'registerClass', `${describe(part)} in the name of ${describe(customClass)} - expected strings that are not empty and have no ">" - pass { package, name }.`);
  const registeredName = `${first}>${second}`;
  if ((classes.get(registeredName) ?? customClass) !== customClass) fail('value', 'registerClass', `a second class of the name "${registeredName}" - expected one - pass another package or name.`);
  classes.set(registeredName, customClass);
  registeredNames.set(customClass, registeredName);
  return customClass;
}

/** Calls `load`, which also finds these classes. */
export function withCustomObjects<Result>(customObjects: CustomObjects | undefined, load: () => Result): Result {
  const before = customObjectsOfLoad, added = Object.entries(customObjects ?? {});
  for (const [, customClass] of added) checkClass(customClass, 'customObjects');
  customObjectsOfLoad = new Map([...before, ...added]);
  try {
    return load();
  } finally {
    customObjectsOfLoad = before;
  }
}

/** Throws an error that C++ passes on to the caller, with its stack. */
function refuse(where: string, text: string): never {
  throw nativeError(`[${where}] ${text}`, 'value');
}

/** Throws for a value that JSON cannot represent. */
function checkPlain(value: unknown, place: string, depth = 0): void {
  if (depth > 64) refuse('getConfig', `${place} is nested deeper than 64 levels - expected a config that does not contain itself - leave it out.`);
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value)) return;
  const isPlain = Array.isArray(value) || (typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value) as null));
  if (!isPlain) refuse('getConfig', `${place} = ${describe(value)} - expected what JSON keeps: finite numbers, strings, booleans, null, arrays and plain objects of them - convert it.`);
  for (const [name, member] of Object.entries(value as object)) checkPlain(member, `${place}.${name}`, depth + 1);
}

/** The options of all optimizers that have other names in files, those of Keras. */
const ofOptimizers = ['learningRate', 'weightDecay', 'globalClipnorm', 'useEma', 'emaMomentum', 'emaOverwriteFrequency', 'lossScaleFactor', 'gradientAccumulationSteps'];
const toFile = new Map(ofOptimizers.map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]));
const fromFile = new Map([...toFile].map(([name, ofKeras]) => [ofKeras, name]));
const renamed = (config: Config, names: Map<string, string>): Config => Object.fromEntries(Object.entries(config).map(([name, value]) => [names.get(name) ?? name, value]));

/** How an object of a custom class is saved. The module calls it. */
function describeObject(object: InstanceType<CustomClass>): { className: string; registeredName: string; config: string } {
  const customClass = object.constructor as unknown as CustomClass, className = classNameOf(customClass), kind = kindOf(customClass) as string;
  const who = object instanceof Layer || object instanceof RnnCell ? `"${object.name}"` : withArticle(kind);
  const registeredName = registeredNames.get(customClass) ?? refuse('toJson', `${who} of the class ${className}, which is not registered - expected a class of a registered name - call et.registerClass(${className}) first, or save only the model's weights.`);
  const config = object.getConfig() as unknown;
  checkPlain(config, 'config');
  if (typeof config !== 'object' || config === null || Array.isArray(config)) refuse('getConfig', `${describe(config)} of the class ${className} - expected an object with its options - return { ...super.getConfig(), … }.`);
  const { name } = config as Config, { name: expected } = object as { name?: unknown };
  if (named.includes(kind) && name !== expected) refuse('getConfig', `a config of "${String(expected)}" whose name is ${describe(name)} - expected that of the ${kind} - return { ...super.getConfig(), … }.`);
  return { className, registeredName, config: JSON.stringify(kind === 'optimizer' ? renamed(config as Config, toFile) : config) };
}

/** A text must not set the prototype of an object to which fromConfig assigns its members. */
function refusePrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? refuse('fromJson', 'a member "__proto__" - expected other names - check the text.') : value;
}

/** A new object of a custom class; null for another class. The module calls it. */
function makeObject(kind: string, className: string, registeredName: string, json: string): object | null {
  const customClass = customObjectsOfLoad.get(registeredName) ?? classes.get(registeredName) ?? customObjectsOfLoad.get(className);
  const isKnown = customClass && kindOf(customClass) === kind;
  if (!isKnown && !registeredName) return null;
  if (!isKnown) {
    if (customClass) refuse('fromJson', `the ${kind} "${registeredName}", which is the name of ${withArticle(kindOf(customClass) as string)} - expected that of ${withArticle(kind)} - check the text.`);
    const [first, second] = registeredName.split('>') as [string, string];
    const options = `{ package: "${first}"${second === className ? '' : `, name: "${second}"`} }`;
    return refuse('fromJson', `the ${kind} "${registeredName}", whose class is not registered - expected a class of a registered name - call et.registerClass(${className}, ${options}) first.`);
  }
  const inFile = JSON.parse(json, refusePrototype) as Config, config = kind === 'optimizer' ? renamed(inFile, fromFile) : inFile;
  const { name, dtype } = config as { name?: unknown; dtype?: { config?: { name?: unknown } } };
  if (typeof dtype === 'object' && dtype?.config) config['dtype'] = dtype.config.name; // Keras's DTypePolicy
  const made = customClass.fromConfig(config) as { name?: unknown };
  if (!isOf(kind, made)) refuse('fromConfig', `${describe(made)} of the class ${className} - expected ${withArticle(kind)} - return one.`);
  if (named.includes(kind) && name !== undefined && made.name !== name) refuse('fromConfig', `${withArticle(kind)} "${String(made.name)}" for the config of "${String(name)}" - expected that name - pass the config's name to the constructor of the base class.`);
  return made;
}
Object.assign(host, { describeObject, makeObject });
