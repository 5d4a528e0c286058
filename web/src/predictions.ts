import { fail } from './error.js';
import type * as native from './etude.mjs';
import { led, module, ready } from './module.js';
import type { Tensor } from './tensor.js';

/**
 * The outputs of a model, batch by batch as they are computed, so that neither data nor outputs need fit into memory:
 *
 *     for await (const batch of model.predictStream(x, { batchSize: 256 })) …
 *     await model.predictStream(x).writeNpy('predictions.npy');
 *
 * Nothing runs before the first request for a batch. Each batch belongs to the caller, as the result of predict does.
 * Between two batches the model may do anything: each is made with the current weights. Leaving the loop early ends the
 * stream: the hooks for the end of predict are called, and generators are closed.
 */
export class PredictionStream<Batch> implements AsyncIterableIterator<Batch> {
  readonly #begin: () => native.PredictionStream;
  readonly #made: (outputs: Tensor[]) => Batch;
  readonly #ended: () => Promise<void>;
  readonly #batches = this.#all();
  #stream: native.PredictionStream | undefined;

  /** Use `predictStream` or `predictOutputsStream` of a model. */
  constructor(begin: () => native.PredictionStream, made: (outputs: Tensor[]) => Batch, ended: () => Promise<void>) {
    this.#begin = begin;
    this.#made = made;
    this.#ended = ended;
  }

  next(): Promise<IteratorResult<Batch, void>> {
    return this.#batches.next();
  }
  return(): Promise<IteratorResult<Batch, void>> {
    return this.#batches.return();
  }
  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Writes all remaining rows to a file of NumPy (.npy), or each output to one of several. A file gets its name when it
   * is complete.
   */
  async writeNpy(paths: string | string[]): Promise<void> {
    await ready({ parts: ['data'] });
    const stream = this.#begun();
    try {
      await led(() => module.predict_writeNpy(stream, [paths].flat()));
    } finally {
      await this.#close(stream);
    }
  }

  /** A generator serializes concurrent callers. */
  async *#all(): AsyncGenerator<Batch, void> {
    await ready({ parts: ['data'] });
    const stream = this.#begun();
    try {
      for (let outputs: Tensor[]; (outputs = await led(() => module.predict_next(stream))).length > 0; ) yield this.#made(outputs);
    } finally {
      await this.#close(stream);
    }
  }
  #begun(): native.PredictionStream {
    return (this.#stream ??= this.#begin());
  }
  async #close(stream: native.PredictionStream): Promise<void> {
    await led(() => module.predict_close(stream));
    await this.#ended();
  }
}

/** The output of a model that has exactly one. */
export function only<Output>(outputs: Output[], where: string, several: string): Output {
  if (outputs.length !== 1) fail('value', where, `of a model or layer with ${outputs.length} outputs - expected one - call ${several}().`);
  return outputs[0] as Output;
}
