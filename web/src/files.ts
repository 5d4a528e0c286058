/** A file that grows: what the option `open` of callbacks that write gives. What it does is done when it returns. */
export interface FileSink {
  append(bytes: Uint8Array): void;
  /** Shows others what was appended so far. */
  flush?(): void;
  /** Returns when what was appended so far would outlive a loss of power. */
  sync?(): void;
  close?(): void;
  /** Whether there was nothing in it when it was opened. Default: true. */
  readonly empty?: boolean;
}

/** One of the system's, which may also be written over. */
export interface SystemFile extends FileSink {
  overwrite(at: number, bytes: Uint8Array): void;
}

/** A file as the module calls it: by functions that need no `this`. */
export const asFile = (file: FileSink | SystemFile) => ({
  append: (bytes: Uint8Array) => file.append(bytes),
  overwrite: (at: number, bytes: Uint8Array) => (file as SystemFile).overwrite(at, bytes),
  flush: () => file.flush?.(),
  sync: () => (file.sync ? file.sync() : file.flush?.()),
  close: () => file.close?.(),
  empty: file.empty ?? true,
});

/** All that the module does to files, at once, by functions that need no `this`; core/etude/base/vfs.hpp says what each promises. */
export interface Files {
  read(path: string): Uint8Array;
  size(path: string): number;
  open(path: string, append: boolean): SystemFile;
  syncFolder(path: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  list(folder: string): string[];
  makeFolder(path: string): void;
  kind(path: string): 'none' | 'file' | 'folder';
  /** What releases the lock; undefined if it is held elsewhere. */
  lock(path: string): (() => void) | undefined;
}
