import { fail } from './error.js';
import type { Nested } from './nested.js';
import type { DType } from './tensor.js';

/**
 * A symbolic value within a step, on which `et.ops` compute while the step is traced. It has a shape and a dtype; it
 * has data only when the step runs. It is invalid after its trace.
 */
export class Value {
  constructor(
    readonly id: number,
    readonly shape: readonly number[],
    readonly dtype: DType,
  ) {}

  /** Comparisons, arithmetic and texts need a number, which a Value has only when the step runs. */
  [Symbol.toPrimitive](): never {
    return refuseNumber('Value');
  }
}

/** Throws EtudeError "value" for a comparison, for example. */
export const refuseNumber = (name: string): never =>
  fail('value', name, `a ${name} where JavaScript needs a number or a text - expected ${name === 'Variable' ? 'its value - write variable.read() within a step, and variable.value() outside' : 'ops, because it has no number while a step is traced or a model described - write et.ops.greater(x, 0), et.ops.where(…) or et.ops.add(x, y)'}.`);

/** A number gets the dtype of the other operand. */
export type ValueLike = Value | number;

/** A batch within a step; lists and objects, if a model has several inputs or outputs. */
export interface StepData<X = Value, Y = Value> {
  x: X;
  y: Y;
  sampleWeight?: Nested<Value>;
}
/** The logs of a step: names and scalars. */
export type StepLogs = Record<string, Value>;
