/** Functions of Node.js only. */
import { fail } from './error.js';
import type { Factory } from './load.js';
import type { Variant } from './variant.js';

export const inNode = typeof process === 'object' && Boolean(process.versions?.node);

/** The parts that the package's entry for Node.js provides, all of them synchronous. */
export interface NodeParts {
  fs: typeof import('node:fs');
  createRequire: typeof import('node:module').createRequire;
  fileURLToPath: typeof import('node:url').fileURLToPath;
  workers: typeof import('node:worker_threads');
  /** The number of the machine's threads. */
  cores: number;
  /** The scripts of the builds. */
  scripts: Partial<Record<Variant, Factory>>;
}
/** Undefined in pages, and in bundles for pages. */
export let nodeParts: NodeParts | undefined;
export function lend(parts: NodeParts): void {
  nodeParts = parts;
}

/** Node.js's files, also without the entry for Node.js. */
export async function nodeFs(): Promise<typeof import('node:fs')> {
  // Bundlers for pages ignore this import.
  return nodeParts?.fs ?? ((await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as typeof import('node:fs'));
}
const name: string = 'node:fs', nameOfWorkers: string = 'node:worker_threads';

/** The number of the machine's threads. */
export const cores = (): number => nodeParts?.cores ?? globalThis.navigator?.hardwareConcurrency ?? 1;

/** Node.js's threads. */
export async function nodeWorkers(): Promise<typeof import('node:worker_threads')> {
  return nodeParts?.workers ?? ((await import(/* @vite-ignore */ /* webpackIgnore: true */ nameOfWorkers)) as typeof import('node:worker_threads'));
}

/** An optional package, which users install. Bundlers for pages ignore this import. */
export const optionalPackage = (name: string): Promise<unknown> => import(/* @vite-ignore */ /* webpackIgnore: true */ name);

export async function readFile(path: string | URL): Promise<Uint8Array> {
  return (await nodeFs()).promises.readFile(path);
}

/** The bytes of a file, piece by piece. */
export async function* streamFile(path: string | URL, where: string): AsyncGenerator<Uint8Array, void> {
  const { promises } = await nodeFs();
  const file = await promises.open(path).catch((error: Error) =>
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
