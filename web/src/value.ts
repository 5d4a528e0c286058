import type { DType } from './tensor.js';

/**
 * A symbol within a step: what `et.ops` compute with while the step is traced. It has a shape and a dtype, and data only when
 * the step runs. It means nothing after its trace.
 */
export class Value {
  constructor(
    readonly id: number,
    readonly shape: readonly number[],
    readonly dtype: DType,
  ) {}
}

/** A number takes the dtype of the Value beside it. */
export type ValueLike = Value | number;

/** A batch within a step; lists where a model has several inputs or outputs. */
export interface StepData<X = Value, Y = Value> {
  x: X;
  y: Y;
  sampleWeight?: Value | Value[];
}
/** What a step reports: names and scalars. */
export type StepLogs = Record<string, Value>;
