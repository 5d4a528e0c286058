/** What only Node.js has. */
export const inNode = typeof process === 'object' && Boolean(process.versions?.node);

export async function readFile(path: string | URL): Promise<Uint8Array> {
  // Bundlers for pages leave this import alone.
  const { readFile } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeFiles)) as typeof import('node:fs/promises');
  return readFile(path);
}
const nodeFiles: string = 'node:fs/promises';
