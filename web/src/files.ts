import { describe, fail } from './error.js';
import type { Mirror } from './mirror.js';

/** A file that is written by appending: the result of the option `open` of callbacks. Its functions are synchronous. */
export interface FileSink {
  append(bytes: Uint8Array): void;
  /** Makes the appended bytes visible to others. */
  flush?(): void;
  /** Returns when the appended bytes would survive a loss of power. */
  sync?(): void;
  close?(): void;
  /** Whether it was empty when it was opened. Default: true. */
  readonly empty?: boolean;
}

/** A file of the system, which can also be overwritten. */
export interface SystemFile extends FileSink {
  overwrite(at: number, bytes: Uint8Array): void;
}

/** A file in the module's form: functions that need no `this`. */
export function asFile(file: FileSink | SystemFile) {
  if (typeof (file as FileSink | undefined)?.append !== 'function')
    fail('value', 'open', `${describe(file)} without append - expected an object with the function append(bytes) - return one.`);
  return {
    append: (bytes: Uint8Array) => file.append(bytes),
    overwrite: (at: number, bytes: Uint8Array) => (file as SystemFile).overwrite(at, bytes),
    flush: () => file.flush?.(),
    sync: () => (file.sync ? file.sync() : file.flush?.()),
    close: () => file.close?.(),
    empty: file.empty ?? true,
  };
}

/**
 * The module's operations on files, all synchronous, by functions that need no `this`. core/etude/base/vfs.hpp
 * documents each.
 */
export interface Files {
  read(path: string): Uint8Array;
  /** Bytes of a file from `at` on; fewer if it ends before. */
  readAt(path: string, at: number, size: number): Uint8Array;
  size(path: string): number;
  open(path: string, append: boolean): SystemFile;
  syncFolder(path: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  list(folder: string): string[];
  makeFolder(path: string): void;
  kind(path: string): 'none' | 'file' | 'folder';
  /** The function that releases the lock; undefined if it is held elsewhere. */
  lock(path: string): (() => void) | undefined;
  /** Waits until all writes so far are kept. Files that are written at once have none. */
  saved?(): Promise<void>;
  /** The storage of these files, in a page. */
  mirror?: Mirror;
}

/** Files whose bytes come later, for calls of the module that return a promise. */
export interface LaterFiles extends Omit<Files, 'read' | 'readAt'> {
  /** The bytes if they have arrived, or else a promise: when it is fulfilled, the same call returns the bytes. */
  read(path: string): Uint8Array | Arrival;
  readAt(path: string, at: number, size: number): Uint8Array | Arrival;
  /** Frees bytes that are here. */
  forget(): void;
}
/** Bytes that will be here. The load that waits for them goes on within `within`, for example with its custom classes. */
export interface Arrival extends Promise<unknown> {
  within?: Within;
}
export type Within = <R>(work: () => R) => R;
