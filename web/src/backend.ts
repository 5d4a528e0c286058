/** What is fixed in the module: devices, and what Keras calls the configuration of its backend. */
import { module } from './module.js';
import type { DType } from './tensor.js';

/** A device that computes. */
export interface Device {
  /** "/cpu:0". */
  name: string;
  /** How many threads its kernels use: see `setNumThreads`. */
  threads: number;
}

/** The devices of the module: one processor. Strategies of several devices, and GPUs, are those of native programs. */
export function devices(): Device[] {
  return [{ name: '/cpu:0', threads: module.numThreads() }];
}
/** The dtype of variables and of floats without a dtype: always 'float32'. */
export const floatx = (): DType => 'float32';
