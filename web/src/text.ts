import type { TensorLike } from './tensor.js';

/** A string, or nested arrays of strings. */
export type TextLike = string | readonly TextLike[];
/** The inputs of layers of strings: strings; also integers, if they are hashed; a list of both for several features. */
export type TextInput = TextLike | TensorLike | readonly (TextLike | TensorLike)[];
