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
}

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
