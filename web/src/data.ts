import { describe, fail } from './error.js';
import { module } from './module.js';
import { inNode, readFile } from './node.js';
import type { Tensor } from './tensor.js';

/** The tensor in an IDX file, the format of MNIST: uint8, int32 or float32. Gzipped bytes want `readIdx` or `gunzip`. */
export const parseIdx = (bytes: Uint8Array): Tensor => module.parseIdx(bytes);

/** What gzipped bytes expand to. */
export async function gunzip(bytes: Uint8Array, where = 'gunzip'): Promise<Uint8Array> {
  try {
    const unpacked = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
  } catch (error) {
    // Browsers say TypeError, Node.js a zlib error; none says what to do.
    const reason = error instanceof Error ? (error.cause instanceof Error ? error.cause : error).message : String(error);
    fail('data', where, `${bytes.length} bytes that are no whole gzip file (${reason}) - expected one - fetch the file again.`);
  }
}

/** Reads an IDX file, gzipped or not: from a URL, from a path in Node.js, or from bytes. */
export async function readIdx(source: string | URL | Blob | Uint8Array): Promise<Tensor> {
  const bytes = await read(source);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return parseIdx(isGzip ? await gunzip(bytes, 'readIdx') : bytes);
}

async function read(source: string | URL | Blob | Uint8Array): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (typeof source !== 'string' && !(source instanceof URL))
    fail('value', 'readIdx', `${describe(source)} - expected a URL, a path in Node.js, a Blob or a Uint8Array - pass one.`);
  if (inNode && !/^(https?|data|blob):/.test(String(source))) {
    try {
      return await readFile(String(source).startsWith('file:') ? new URL(source) : source);
    } catch (error) {
      fail('io', 'readIdx', `cannot read "${source}": ${(error as Error).message} - expected a file - check the path.`);
    }
  }
  const response = await fetch(source);
  if (!response.ok) fail('io', 'readIdx', `"${source}" answered ${response.status} - expected a file - check the address.`);
  return new Uint8Array(await response.arrayBuffer());
}
