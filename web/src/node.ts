import { fail } from './error.js';
import type { FileSink } from './files.js';

/** What only Node.js has. */
export const inNode = typeof process === 'object' && Boolean(process.versions?.node);

export async function readFile(path: string | URL): Promise<Uint8Array> {
  // Bundlers for pages leave this import alone.
  const { readFile } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeFiles)) as typeof import('node:fs/promises');
  return readFile(path);
}
const nodeFiles: string = 'node:fs/promises';

/** The bytes of a file, piece by piece. */
export async function* streamFile(path: string | URL, where: string): AsyncGenerator<Uint8Array, void> {
  const { open } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeFiles)) as typeof import('node:fs/promises');
  const file = await open(path).catch((error: Error) =>
    fail('io', where, `cannot read "${path}": ${error.message} - expected a file - check the path.`),
  );
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(65536));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}


/** What opens files at once, without a promise. */
async function synchronous() {
  const files: string = 'node:fs';
  const paths: string = 'node:path';
  const { mkdirSync, openSync, fstatSync, appendFileSync, closeSync } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ files)) as typeof import('node:fs');
  const { dirname } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ paths)) as typeof import('node:path');

  return (path: string, append: boolean): FileSink => {
    try {
      mkdirSync(dirname(path), { recursive: true });
      const file = openSync(path, append ? 'a' : 'w');
      return {
        empty: fstatSync(file).size === 0,
        append: (bytes) => appendFileSync(file, bytes),
        close: () => closeSync(file),
      };
    } catch (error) {
      fail('io', 'file', `"${path}" cannot be opened: ${(error as Error).message} - expected a place that may be written to - check the path.`);
    }
  };
}
/** How callbacks open files, and make the folders that these lie in; undefined in a page. */
export const openFile = inNode ? await synchronous() : undefined;
