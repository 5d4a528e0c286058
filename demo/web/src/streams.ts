/** Reads a file in pieces of any size. */
export function reader(stream: ReadableStream<Uint8Array>) {
  const pieces = stream.getReader();
  let left = new Uint8Array();

  /** The next bytes, `most` at most; null at the end. */
  async function some(most: number) {
    while (!left.length) {
      const { value, done } = await pieces.read();
      if (done) return null;
      left = value as Uint8Array<ArrayBuffer>;
    }
    const piece = left.subarray(0, most);
    left = left.subarray(piece.length);
    return piece;
  }
  async function skip(count: number) {
    for (let piece; count > 0 && (piece = await some(count)); ) count -= piece.length;
  }
  return { some, skip };
}

/** The unpacked content of a gzipped file, as a stream; a server may have unpacked it already. */
export async function expanded(address: string): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(address);
  if (!response.ok || !response.body) throw new Error(`[page] "${address}" answered ${response.status} - expected a file - check the server.`);
  const [peeked, all] = response.body.tee();
  const peek = peeked.getReader();
  const first = await peek.read();
  void peek.cancel();
  const isGzip = first.value?.[0] === 0x1f && first.value?.[1] === 0x8b;
  return isGzip ? all.pipeThrough(new DecompressionStream('gzip') as ReadableWritablePair<Uint8Array, Uint8Array>) : all;
}
