import { Tensor } from './tensor.js';

/**
 * The arguments of a call of an op on SymbolicTensors, in JSON, for the description of a model: `{ input: 0 }` is the first
 * SymbolicTensor, and `{ constant: 0 }` the first Tensor. Empty if an argument is none of JSON.
 */
export function textOfCall(given: readonly unknown[], SymbolicTensor: abstract new () => object): string {
  const counts = { input: 0, constant: 0 };
  let known = true;
  const shown = (value: unknown): unknown => {
    if (value instanceof Tensor) return { constant: counts.constant++ };
    if (value instanceof SymbolicTensor) return { input: counts.input++ };
    if (Array.isArray(value)) return value.map(shown);
    if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
      return Object.fromEntries(Object.entries(value).map(([key, option]) => [key, shown(option)]));
    if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) };
    known &&= value == null || ['number', 'boolean', 'string'].includes(typeof value);
    return known ? (value ?? null) : null;
  };
  const text = JSON.stringify(given.map(shown));
  return known ? text : '';
}
