import { fail } from './error.js';
import type { Files } from './files.js';

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

/** Node.js's files, which do all at once, without a promise. */
async function synchronous(): Promise<Files> {
  const name: string = 'node:fs';
  const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as typeof import('node:fs');
  const withOpen = <R>(path: string, flags: string, work: (file: number) => R) => {
    const file = fs.openSync(path, flags);
    try {
      return work(file);
    } finally {
      fs.closeSync(file);
    }
  };
  const kind = (path: string) => {
    const status = fs.lstatSync(path, { throwIfNoEntry: false });
    return !status ? 'none' : status.isDirectory() ? 'folder' : 'file';
  };

  return {
    read: (path) => fs.readFileSync(path),
    size: (path) => fs.statSync(path).size,
    open(path, append) {
      const file = fs.openSync(path, append ? 'a' : 'w');
      return {
        empty: fs.fstatSync(file).size === 0,
        append: (bytes) => fs.appendFileSync(file, bytes),
        overwrite(at, bytes) {
          for (let written = 0; written < bytes.length; ) written += fs.writeSync(file, bytes, written, bytes.length - written, at + written);
        },
        sync: () => fs.fsyncSync(file),
        close: () => fs.closeSync(file),
      };
    },
    // Windows keeps names without being asked, and opens no folder.
    syncFolder: (path) => process.platform !== 'win32' && withOpen(path, 'r', fs.fsyncSync),
    rename: (from, to) => fs.renameSync(from, to),
    remove: (path) => (kind(path) === 'folder' ? fs.rmdirSync(path) : fs.unlinkSync(path)),
    list: (folder) => fs.readdirSync(folder).sort(),
    makeFolder: (path) => void fs.mkdirSync(path, { recursive: true }),
    kind,
    lock: (path) => lock(fs, path),
  };
}

/**
 * Node.js has no locks of the system's: a file that holds the process's number is one, as long as that process lives. Who finds
 * that of a process which is gone takes it away, by a rename, which only one of several can do.
 */
function lock(fs: typeof import('node:fs'), path: string): (() => void) | undefined {
  const own = `${path}.${process.pid}`;
  for (;;) {
    fs.writeFileSync(own, `${process.pid}`);
    try {
      fs.linkSync(own, path); // at once, with what it holds
      held.add(path);
      return () => {
        held.delete(path);
        fs.rmSync(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      fs.rmSync(own, { force: true });
    }
    if (held.has(path)) return undefined;
    const holder = Number(fs.readFileSync(path, 'utf8'));
    if (holder !== process.pid && isAlive(holder)) return undefined;
    fs.renameSync(path, own);
    const taken = Number(fs.readFileSync(own, 'utf8'));
    if (taken !== holder) fs.linkSync(own, path); // somebody was faster, and has locked it since
    fs.rmSync(own);
    if (taken !== holder) return undefined;
  }
}
const held = new Set<string>();

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Node.js's files; undefined in a page. */
export const systemFiles = inNode ? await synchronous() : undefined;
