import { describe, fail, nativeError } from './error.js';
import { refuseClone } from './nested.js';

type TensorDType = 'float32' | 'int32' | 'uint8' | 'bool';
/** The dtypes of Values. Half precision is computed in float32, and becomes a Tensor of float32. */
export type DType = TensorDType | 'float16' | 'bfloat16';
export type TensorData = Float32Array | Int32Array | Uint8Array;
export type NestedArray = number | boolean | ArrayLike<number> | readonly NestedArray[];
/** Accepted data: a Tensor, a typed array (of one axis), or small data as nested arrays. */
export type TensorLike = Tensor | TypedArray | NestedArray;
type TypedArray = TensorData | Uint8ClampedArray | Float64Array | Int8Array | Int16Array | Uint16Array | Uint32Array;

const sizeOf = (shape: readonly number[]) => shape.reduce((product, extent) => product * extent, 1);

/** Data: a typed array and a shape, in JavaScript's memory. A model copies it for training. */
export class Tensor {
  readonly shape: readonly number[];

  /** Use `tensor(data, shape)`, which converts. */
  constructor(
    readonly data: TensorData,
    shape: readonly number[],
    readonly dtype: TensorDType = data instanceof Float32Array ? 'float32' : data instanceof Int32Array ? 'int32' : 'uint8',
  ) {
    const { length } = checked(data, dtype);
    this.shape = fitted(shape, length);
  }

  get size(): number {
    return this.data.length;
  }

  /** The same elements in another shape; one extent may be -1. */
  reshape(shape: readonly number[]): Tensor {
    return new Tensor(this.data, shape, this.dtype);
  }

  /** A view of rows begin … end - 1 of the first axis. */
  slice(begin: number, end: number = this.shape[0] ?? 0): Tensor {
    const [rows, ...rest] = this.shape;
    if (rows === undefined || !Number.isInteger(begin) || !Number.isInteger(end) || !(begin >= 0 && begin <= end && end <= rows))
      fail('value', 'Tensor.slice', `rows ${describe(begin)} to ${describe(end)} of shape [${this.shape}] - expected 0 ≤ begin ≤ end ≤ ${rows ?? 0} - check the bounds.`);
    const row = sizeOf(rest);
    return new Tensor(this.data.subarray(begin * row, end * row), [end - begin, ...rest], this.dtype);
  }

  /** The value of a tensor of one element. */
  item(): number {
    const [value] = this.data;
    if (this.data.length !== 1 || value === undefined)
      fail('shape', 'Tensor.item', `shape [${this.shape}] - expected one element - use data or array().`);
    return value;
  }

  /** The elements as nested arrays. */
  array(): NestedArray {
    const nest = (axis: number, offset: number): NestedArray => {
      const extent = this.shape[axis];
      if (extent === undefined) return this.data[offset] as number;
      const step = sizeOf(this.shape.slice(axis + 1));
      return Array.from({ length: extent }, (_, i) => nest(axis + 1, offset + i * step));
    };
    return nest(0, 0);
  }

  /** The bytes of `data`. */
  get bytes(): Uint8Array {
    if (this.data.length !== sizeOf(this.shape))
      fail('state', 'Tensor', `shape [${this.shape}], whose array was transferred or resized - expected an array that stays - make the Tensor of a copy.`);
    return new Uint8Array(this.data.buffer, this.data.byteOffset, this.data.byteLength);
  }

  static fromBytes(bytes: Uint8Array, shape: readonly number[], dtype: TensorDType): Tensor {
    const data = dtype === 'float32' ? new Float32Array(bytes.buffer) : dtype === 'int32' ? new Int32Array(bytes.buffer) : bytes;
    return new Tensor(data, shape, dtype);
  }
}

/** Data with a shape: `tensor(new Float32Array(784 * n), [n, 784])`, or `tensor([[0, 1], [1, 0]])`. Numbers become float32. */
export function tensor(values: TensorLike, shape?: readonly number[]): Tensor {
  if (values instanceof Tensor) return shape ? values.reshape(shape) : values;
  if (ArrayBuffer.isView(values)) return new Tensor(converted(values), shape ?? [values.length]);
  if (typeof values === 'number' || typeof values === 'boolean' || Array.isArray(values)) {
    const nested = flatten(values as NestedArray);
    return shape ? nested.reshape(shape) : nested;
  }
  if (values) refuseClone(values);
  fail('data', 'tensor', `${describe(values)} - expected a Tensor, a typed array or nested arrays of numbers - convert it.`);
}

function converted(values: ArrayBufferView): TensorData {
  if (values instanceof Float32Array || values instanceof Int32Array || values instanceof Uint8Array) return values;
  if (values instanceof Uint8ClampedArray) return new Uint8Array(values.buffer, values.byteOffset, values.length);
  if (values instanceof Float64Array) return Float32Array.from(values);
  if (values instanceof Int8Array || values instanceof Int16Array || values instanceof Uint16Array) return Int32Array.from(values);
  if (values instanceof Uint32Array && values.every((value) => value < 2 ** 31)) return Int32Array.from(values);
  fail('dtype', 'tensor', `${describe(values)} - expected a typed array of floats, or of integers below 2^31 - convert it.`);
}

const arrays = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array, bool: Uint8Array };
function checked(data: unknown, dtype: TensorDType): TensorData {
  const expected = arrays[dtype] as (typeof arrays)[TensorDType] | undefined;
  if (!expected) fail('dtype', 'tensor', `dtype ${describe(dtype)} - expected one of: ${Object.keys(arrays).join(', ')} - choose one.`);
  if (data instanceof expected) return data;
  fail('dtype', 'tensor', `${describe(data)} for dtype ${dtype} - expected ${expected.name === 'Int32Array' ? 'an' : 'a'} ${expected.name} - use et.tensor(data, shape), which converts.`);
}

/** `shape` with -1 computed, if it has `size` elements. */
function fitted(shape: readonly number[], size: number): readonly number[] {
  if (!isList(shape)) fail('shape', 'tensor', `${describe(shape)} as the shape - expected an array of extents - pass one.`);
  const known = sizeOf(shape.filter((extent) => extent !== -1));
  const result = Array.from(shape, (extent) => (extent === -1 && known > 0 ? size / known : extent));
  if (!result.every((extent) => Number.isInteger(extent) && extent >= 0) || sizeOf(result) !== size)
    fail('shape', 'tensor', `${size} elements for shape [${shape}] - expected as many as the shape holds - check the shape.`);
  return Object.freeze(result);
}

/** The most axes of a nested array. */
const maxDepth = 64;

function flatten(values: NestedArray): Tensor {
  const shape: number[] = [];
  for (let level: unknown = values; isList(level); level = level[0]) {
    if (shape.length === maxDepth) fail('shape', 'tensor', `an array nested more than ${maxDepth} deep - expected one of numbers - check whether it contains itself.`);
    shape.push(level.length);
  }
  const data = new Float32Array(sizeOf(shape));
  let filled = 0;
  let booleans = 0;
  const visit = (value: unknown, axis: number) => {
    if (axis < shape.length) {
      if (!isList(value) || value.length !== shape[axis])
        fail('shape', 'tensor', `${describe(value)} along axis ${axis} - expected ${shape[axis]} entries everywhere - make the rows equally long.`);
      for (let i = 0; i < value.length; ++i) visit(value[i], axis + 1);
    } else {
      if (typeof value !== 'number' && typeof value !== 'boolean')
        fail('data', 'tensor', `${describe(value)} among the data - expected numbers - convert it.`);
      if (typeof value === 'boolean') booleans += 1;
      data[filled++] = Number(value);
    }
  };
  visit(values, 0);
  if (booleans > 0 && booleans === data.length) return new Tensor(Uint8Array.from(data), shape, 'bool');
  return new Tensor(data, shape);
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** A copy of the module's bytes in JavaScript's own memory. C++ calls it, and ignores its exceptions. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  try {
    return bytes.slice();
  } catch (cause) {
    const text = `[memory] no more memory for an array of ${bytes.length} bytes in JavaScript - expected room for it (${(cause as Error).message}) - use smaller data, or take predictions batch by batch, by predictStream().`;
    const error = nativeError(text, 'internal');
    error.cause = cause;
    throw error;
  }
}
