import type { Files } from './files.js';
import { Content } from './mirror.js';

const nameOf = (path: string) => path.replace(/^(\.?\/)+/, '');

/** Files in memory, all in one folder: sources of a load, or targets of a save. */
export class MemoryFiles {
  readonly #contents = new Map<string, Content>();

  add(name: string, bytes: Uint8Array): this {
    this.#new(nameOf(name)).append(bytes);
    return this;
  }
  /** The names and the bytes of all files, in the order in which they were made. */
  entries(): [string, Uint8Array][] {
    return [...this.#contents].map(([name, content]) => [name, content.bytes()]);
  }

  /** Functions that need no `this`. C++ converts their exceptions to errors. */
  readonly files: Files = {
    read: (path) => this.#content(path).bytes(),
    readAt: (path, at, size) => this.#content(path).bytes().subarray(at, at + size),
    size: (path) => this.#content(path).size,
    open: (path, append) => {
      const content = (append && this.#contents.get(nameOf(path))) || this.#new(nameOf(path));
      return {
        empty: content.size === 0,
        append: (bytes) => content.append(bytes),
        overwrite: (at, bytes) => content.overwrite(at, bytes),
      };
    },
    syncFolder: () => {},
    rename: (from, to) => {
      const content = this.#content(from);
      this.#contents.delete(nameOf(from));
      this.#contents.set(nameOf(to), content);
    },
    remove: (path) => {
      this.#content(path);
      this.#contents.delete(nameOf(path));
    },
    list: () => [...this.#contents.keys()].sort(),
    makeFolder: () => {},
    kind: (path) => (['', '.', '/'].includes(path) ? 'folder' : this.#contents.has(nameOf(path)) ? 'file' : 'none'),
    lock: () => () => {},
  };

  #new(name: string): Content {
    const content = new Content(name);
    this.#contents.set(name, content);
    return content;
  }
  #content(path: string): Content {
    const content = this.#contents.get(nameOf(path));
    if (!content) throw new Error('it is not among the files that were passed');
    return content;
  }
}
