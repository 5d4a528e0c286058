/** The custom classes that are saved and loaded, by their names in files. */
import { describe, fail, nativeError } from './error.js';
import { Layer, type Config } from './layer.js';
import type { LayerLike } from './model.js';
import { host, module } from './module.js';
import { RnnCell } from './rnn_cell.js';

/** A custom class: one that extends `et.Layer` or `et.RnnCell`. */
export interface CustomClass {
  new (...given: never[]): Layer | RnnCell;
  /** Its name in configs, where a minifier renames classes. Default: its `name`. */
  readonly className?: string;
  readonly name: string;
  fromConfig(config: Config): Layer | RnnCell;
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

/** The base classes of each kind of classes, by the kind's name in the module. */
const kinds: Record<string, readonly (abstract new (...given: never[]) => object)[]> = { layer: [Layer, RnnCell] };
const isOf = (kind: string, object: unknown): boolean => (kinds[kind] as (typeof Layer)[]).some((base) => object instanceof base);
const kindOf = (customClass: CustomClass): string | undefined => Object.keys(kinds).find((kind) => isOf(kind, customClass.prototype));
const classNameOf = (customClass: CustomClass): string => customClass.className ?? customClass.name;

const classes = new Map<string, CustomClass>(), registeredNames = new Map<CustomClass, string>();
/** The customObjects of the running load. */
let customObjectsOfLoad = new Map<string, CustomClass>();

function checkClass(given: unknown, where: string): asserts given is CustomClass {
  if (typeof given !== 'function' || kindOf(given as CustomClass) === undefined)
    fail('value', where, `${describe(given)} - expected a class that extends et.Layer or et.RnnCell - pass the class itself.`);
}

/**
 * Registers a class that extends `et.Layer` or `et.RnnCell`, and returns it: models with its layers are then saved, loaded, described and
 * cloned. Files call it "package>name", in the format of Keras. They can only create classes that are registered when they
 * are loaded.
 *
 *     et.registerClass(Gain, { package: 'my_package' });
 */
export function registerClass<Class extends CustomClass>(customClass: Class, options: RegisterOptions = {}): Class {
  checkClass(customClass, 'registerClass');
  const { package: first = 'Custom', name: second = classNameOf(customClass), ...others } = options;
  for (const name of Object.keys(others)) fail('value', 'registerClass', `unknown option "${name}" - expected some of: package, name - check its spelling.`);
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

/** The config of a layer, with its class's name: for the getConfig of a class that contains the layer. */
export function serializeLayer(layer: LayerLike): Config {
  return JSON.parse(module.layer_toJson(layer)) as Config;
}
/** A new layer of such a config: for the fromConfig, or the constructor, of a class that contains the layer. */
export function deserializeLayer(config: Config): LayerLike {
  return module.layer_fromJson(JSON.stringify(config));
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

/** How an object of a custom class is saved. The module calls it. */
function describeObject(object: Layer | RnnCell): { className: string; registeredName: string; config: string } {
  const customClass = object.constructor as unknown as CustomClass, className = classNameOf(customClass);
  const registeredName = registeredNames.get(customClass) ?? refuse('toJson', `"${object.name}" of the class ${className}, which is not registered - expected a class of a registered name - call et.registerClass(${className}) first, or save only the model's weights.`);
  const config = object.getConfig() as unknown;
  checkPlain(config, 'config');
  const name = (config as Config | null | undefined)?.['name'];
  if (name !== object.name) refuse('getConfig', `a config of "${object.name}" whose name is ${describe(name)} - expected that of the layer - return { ...super.getConfig(), … }.`);
  return { className, registeredName, config: JSON.stringify(config) };
}

/** A text must not set the prototype of an object to which fromConfig assigns its members. */
function refusePrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? refuse('fromJson', 'a member "__proto__" - expected other names - check the text.') : value;
}

/** A new object of a custom class; null for another class. The module calls it. */
function makeObject(kind: string, className: string, registeredName: string, json: string): Layer | RnnCell | null {
  const customClass = customObjectsOfLoad.get(registeredName) ?? classes.get(registeredName) ?? customObjectsOfLoad.get(className);
  if (!customClass && !registeredName) return null;
  if (!customClass || kindOf(customClass) !== kind) {
    const [first, second] = registeredName.split('>') as [string, string];
    const options = `{ package: "${first}"${second === className ? '' : `, name: "${second}"`} }`;
    return refuse('fromJson', `the ${kind} "${registeredName}", whose class is not registered - expected a class of a registered name - call et.registerClass(${className}, ${options}) first.`);
  }
  const config = JSON.parse(json, refusePrototype) as Config, { name, dtype } = config as { name?: unknown; dtype?: { config?: { name?: unknown } } };
  if (typeof dtype === 'object' && dtype?.config) config['dtype'] = dtype.config.name; // Keras's DTypePolicy
  const made = customClass.fromConfig(config) as Layer | RnnCell;
  if (!isOf(kind, made)) refuse('fromConfig', `${describe(made)} of the class ${className} - expected a ${kind} - return one.`);
  if (name !== undefined && made.name !== name) refuse('fromConfig', `a layer "${made.name}" for the config of "${String(name)}" - expected that name - pass the config's name to the constructor of et.Layer.`);
  return made;
}
Object.assign(host, { describeObject, makeObject });
