import type { TensorLike } from './tensor.js';

/** A string, or nested arrays of strings. */
export type TextLike = string | readonly TextLike[];
/** What layers of strings are called on: strings; also integers, if they are hashed; a list of both for several features. */
export type TextInput = TextLike | TensorLike | readonly (TextLike | TensorLike)[];
