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
/** The small number that losses and metrics add to avoid a division by 0, as in Keras: 1e-7. */
export const epsilon = (): number => 1e-7;
/** The default of the option `dataFormat` of layers: always 'channels_last'. */
export const imageDataFormat = (): 'channels_last' => 'channels_last';
