import { fail, nativeError } from './error.js';

/** A value, or lists and objects of values, of any depth: `{ image, meta: { age, sizes: [s, t] } }`. */
export type Nested<T> = T | readonly Nested<T>[] | { readonly [name: string]: Nested<T> };
/**
 * The flat form: the values, and a name for each, its path, as in core/etude/base/nesting.hpp: "image", "meta/age",
 * "meta/sizes/0", "meta/sizes/1". A list of values has no names.
 */
export interface Flat {
  names: string[];
  values: unknown[];
}

const isIndex = (part: string) => /^(0|[1-9]\d{0,5})$/.test(part);
const partOf = (key: string) => (key === '' || isIndex(key) ? '~2' : '') + key.replace(/~(?=[012])/g, '~0').replaceAll('/', '~1');
const keyOf = (part: string) => part.replace(/~[012]/g, (escape) => ['~', '/', ''][Number(escape[1])] as string);

/** Whether it is a plain object: no promise, no Map, no Tensor. */
export const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && (Object.getPrototypeOf(value) ?? Object.prototype) === Object.prototype;
/** Whether it is a plain object with members. */
export const isDict = (value: unknown): value is Record<string, unknown> => isPlain(value) && Object.keys(value).length > 0;
/** Whether it is an array whose rows are provided on demand, which may be a plain object. */
const isLazy = (value: object) => 'shape' in value && 'dtype' in value && 'slice' in value;

/** Throws EtudeError "data" for what postMessage and structuredClone make of a Tensor. */
export function refuseClone(value: unknown): void {
  const { data, shape, dtype } = value as Record<string, unknown>;
  if (ArrayBuffer.isView(data) && Array.isArray(shape) && typeof dtype === 'string')
    throw nativeError('[tensor] a Tensor without its class, as postMessage and structuredClone make it - expected a Tensor - rebuild it by et.tensor(data, shape).', 'data');
}

/** Throws Error(value) for lists and objects that are nested too deep, for example because one contains itself. */
function notTooDeep(depth: number): true {
  if (depth > 100) fail('value', 'nested', 'lists and objects nested more than 100 deep - expected at most 100 - check whether one contains itself.');
  return true;
}

/** Throws EtudeError "value" for lists with more entries than any model has inputs, outputs, losses or metrics. */
function notLonger(length: number, most: number): void {
  if (length > most) throw nativeError(`[nested] a list of ${length} - expected at most ${most} - pass a typed array, if these are numbers.`, 'value');
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
/** Whether it is a list of arrays, rather than an array as nested lists of numbers. */
const isListOfArrays = (value: unknown, depth = 0): value is unknown[] =>
  Array.isArray(value) && typeof value[0] !== 'number' && notTooDeep(depth) && value.some((each) => isObject(each) || isListOfArrays(each, depth + 1));
const isListOfLists = (value: unknown): value is unknown[] => Array.isArray(value) && value.some((each) => Array.isArray(each) || isDict(each));

/**
 * A copy of lists and plain objects. Users' getters and proxies run while it is made, where an exception is caught, and
 * not while C++ reads the copy.
 */
export function copied(value: unknown, depth = 0): unknown {
  notTooDeep(depth);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => copied(each, depth + 1));
  if (isPlain(value) && !isLazy(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copied(each, depth + 1)]));
  void (value as { then?: unknown }).then; // C++ reads it, to find promises
  return value;
}

/** Nested lists and objects of the results of `make`. */
export function mapped(value: unknown, make: (each: unknown) => unknown, depth = 0): unknown {
  notTooDeep(depth);
  if (Array.isArray(value)) {
    notLonger(value.length, 1e6);
    return value.map((each) => mapped(each, make, depth + 1));
  }
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapped(each, make, depth + 1)])) : make(value);
}

/** The values in nested lists and objects. Of empty ones inside others they are the values. */
export function flatten(value: unknown, isList: (value: unknown) => value is unknown[] = Array.isArray): Flat {
  const names: string[] = [];
  const values: unknown[] = [];
  let isNested = false;
  const add = (each: unknown, path: string, depth: number): void => {
    const inside = (part: string | number) => (depth ? `${path}/${part}` : `${part}`);
    if (Array.isArray(each)) notLonger(each.length, 2 ** 27); // longer ones are sparse: isList would visit each index
    const dict = isPlain(each) && !isLazy(each) ? Object.keys(each).sort() : undefined;
    if (dict) refuseClone(each);
    const count = dict?.length ?? (isList(each) ? each.length : -1);
    if (depth ? count < 1 : count < 0) {
      names.push(path);
      values.push(each);
      return;
    }
    if (depth || dict) isNested = true;
    notTooDeep(depth);
    notLonger(count, 1e6);
    if (dict) for (const key of dict) add((each as Record<string, unknown>)[key], inside(partOf(key)), depth + 1);
    else for (let i = 0; i < count; ++i) add((each as unknown[])[i], inside(i), depth + 1);
  };
  add(value, '', 0);
  return { names: isNested ? names : [], values };
}
/** The same for arrays, which may be nested lists of numbers. */
export const flattenData = (value: unknown): Flat => flatten(value, isListOfArrays);
/** The same for metrics, of which an output may have a list. */
export const flattenMetrics = (value: unknown): Flat => flatten(value, isListOfLists);

/** Nested lists and objects with these values at these paths. */
export function pack<T>(names: readonly string[], values: readonly T[]): Nested<T> {
  return packed(names.map((name, i) => [name.split('/'), values[i] as T]));
}
function packed<T>(leaves: [path: string[], value: T][]): Nested<T> {
  const inside = new Map<string, [string[], T][]>();
  for (const [[part, ...path], value] of leaves) {
    if (part === undefined) return value;
    if (!inside.has(part)) inside.set(part, []);
    inside.get(part)?.push([path, value]);
  }
  const parts = [...inside].map(([part, leaves]) => [part, packed(leaves)] as const);
  if (!parts.every(([part]) => isIndex(part))) return Object.fromEntries(parts.map(([part, value]) => [keyOf(part), value]));
  const list: Nested<T>[] = [];
  for (const [part, value] of parts) list[Number(part)] = value;
  return list;
}
