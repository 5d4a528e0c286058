import type { Files } from './files.js';

/** Node.js's files, by synchronous functions. */
export function systemFiles(fs: typeof import('node:fs')): Files {
  const withOpen = <R>(path: string, flags: string, work: (file: number) => R) => {
    const file = fs.openSync(path, flags);
    try {
      return work(file);
    } finally {
      fs.closeSync(file);
    }
  };
  const kind = (path: string) => {
    try {
      const status = fs.lstatSync(path, { throwIfNoEntry: false });
      return !status ? 'none' : status.isDirectory() ? 'folder' : 'file';
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOTDIR') return 'none'; // a file where the path has a folder
      throw error;
    }
  };

  return {
    read: (path) => fs.readFileSync(path),
    readAt: (path, at, size) =>
      withOpen(path, 'r', (file) => {
        const bytes = new Uint8Array(size);
        for (let filled = 0; filled < size; ) {
          const count = fs.readSync(file, bytes, filled, size - filled, at + filled);
          if (count === 0) return bytes.subarray(0, filled);
          filled += count;
        }
        return bytes;
      }),
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
    // Windows needs no sync of names, and opens no folders.
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
 * Node.js has no file locks of the system. A file with the process's number is the lock, while that process lives. A
 * process that finds the file of a dead process removes it by a rename, which succeeds in only one of several
 * processes. A native process locks the file, writes its number and a word, and leaves the empty file behind.
 */
function lock(fs: typeof import('node:fs'), path: string): (() => void) | undefined {
  const own = `${path}.${process.pid}`;
  const holderIn = (file: string) => Number.parseInt(fs.readFileSync(file, 'utf8')) || 0;
  for (;;) {
    fs.writeFileSync(own, `${process.pid}`);
    try {
      fs.linkSync(own, path); // atomic, including its contents
      const name = fs.realpathSync(path);
      held.add(name);
      return () => {
        held.delete(name);
        fs.rmSync(path, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      fs.rmSync(own, { force: true });
    }
    try {
      if (held.has(fs.realpathSync(path))) return undefined;
      const holder = holderIn(path);
      if (holder !== process.pid && isAlive(holder)) return undefined;
      fs.renameSync(path, own);
      const taken = holderIn(own);
      if (taken !== holder) fs.linkSync(own, path); // another process was faster and holds the lock
      fs.rmSync(own);
      if (taken !== holder) return undefined;
    } catch (error) {
      // The holder has released the lock meanwhile, unless the path is a link to nothing.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw error;
    }
  }
}
/** The locks of this thread, by their real paths. Other threads of the process are not noticed. */
const held = new Set<string>();

function isAlive(id: number): boolean {
  try {
    return id > 0 && process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
