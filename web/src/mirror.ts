/** A page's files, in memory while they are open. */
import { describe, fail } from './error.js';
import type { Files } from './files.js';

const where = 'openFiles';

/** A growing file. */
export class Content {
  #pieces: Uint8Array[] = [];
  size = 0;
  constructor(public path: string) {}

  append(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.size += bytes.length;
  }
  overwrite(at: number, bytes: Uint8Array): void {
    this.bytes().set(bytes, at);
  }
  bytes(): Uint8Array {
    if (this.#pieces.length === 1) return this.#pieces[0]!;
    const whole = new Uint8Array(this.size);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [whole];
    return whole;
  }
}

/** Paths without "." and doubled slashes; the root is "". */
const normal = (path: string) => path.split('/').filter((name) => name && name !== '.').join('/');
const parent = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 0));

/** The entry of a path: a file's bytes, or a folder; undefined if there is none any more. */
export type Change = [path: string, entry: Uint8Array | 'folder' | undefined];
/** Keeps some changes, all or none. */
export type Keep = (changes: Change[]) => Promise<void>;

/**
 * Files in memory. The changes of one turn of the event loop are kept after it, all together: whenever the page ends, what
 * is kept are the files between two turns, so checkpoints are complete.
 */
export class Mirror {
  readonly #entries = new Map<string, Content | 'folder'>([['', 'folder']]);
  readonly #changed = new Set<string>();
  readonly #locks = new Set<string>();
  #writing: Promise<void> | undefined;
  #refused: Error | undefined;
  #untold: Error | undefined;
  #closed = false;

  constructor(readonly keep: Keep) {}

  /** Adds files that are kept already. */
  load(entries: Change[]): void {
    for (const [path, entry] of entries) {
      const content = new Content(path);
      if (entry instanceof Uint8Array) content.append(entry);
      this.#entries.set(path, entry instanceof Uint8Array ? content : 'folder');
    }
  }
  /** Makes changes that another Mirror has made. */
  apply(changes: Change[]): void {
    this.#opened();
    for (const [path, entry] of changes) {
      const content = new Content(path);
      if (entry instanceof Uint8Array) content.append(entry);
      this.#set(path, entry instanceof Uint8Array ? content : entry);
    }
  }
  /** A folder with all that is in it, and the folders around it. */
  entriesOf(folder: string): Change[] {
    const whole = normal(folder);
    const found = [...this.#entries].filter(([path]) => path && (`${path}/`.startsWith(`${whole}/`) || whole.startsWith(`${path}/`)));
    return found.map(([path, entry]) => [path, entry === 'folder' ? entry : entry.bytes()]);
  }

  async saved(): Promise<void> {
    if (this.#changed.size > 0) this.#start();
    while (this.#writing) await this.#writing;
    if (!this.#refused) return;
    this.#untold = undefined;
    fail('io', where, `the browser cannot store more: ${this.#refused.message} - expected room for ${this.#bytes()} bytes - remove files, or request storage by navigator.storage.persist().`);
  }

  close(): void {
    this.#closed = true;
  }

  /** Functions that need no `this`. C++ converts their exceptions to errors. */
  readonly files: Files = {
    read: (path) => this.#opened().#content(path).bytes(),
    readAt: (path, at, size) => this.#opened().#content(path).bytes().subarray(at, at + size),
    size: (path) => this.#opened().#content(path).size,
    open: (path, append) => this.#opened().#open(normal(path), append),
    syncFolder: () => this.#opened().#check(),
    rename: (from, to) => this.#opened().#rename(normal(from), normal(to)),
    remove: (path) => this.#opened().#remove(normal(path)),
    list: (folder) => this.#opened().#names(normal(folder)),
    makeFolder: (path) => this.#opened().#makeFolder(normal(path)),
    kind: (path) => this.#opened().#kind(normal(path)),
    lock: (path) => this.#opened().#lock(normal(path)),
    saved: () => this.saved(),
    mirror: this,
  };

  #opened(): this {
    if (this.#closed) throw new Error('the files were closed');
    return this;
  }

  #kind(path: string): 'none' | 'file' | 'folder' {
    const entry = this.#entries.get(path);
    return entry === undefined ? 'none' : entry === 'folder' ? 'folder' : 'file';
  }
  #content(path: string): Content {
    const entry = this.#entries.get(normal(path));
    if (!(entry instanceof Content)) throw new Error(entry ? 'it is a folder' : 'no such file');
    return entry;
  }
  #names(folder: string): string[] {
    if (this.#kind(folder) !== 'folder') throw new Error('no such folder');
    const inside = [...this.#entries.keys()].filter((path) => path !== '' && parent(path) === folder);
    return inside.map((path) => path.slice(folder ? folder.length + 1 : 0)).sort();
  }

  #open(path: string, append: boolean) {
    this.#expectFolder(parent(path));
    if (this.#kind(path) === 'folder') throw new Error('it is a folder');
    const old = this.#entries.get(path);
    const content = append && old instanceof Content ? old : new Content(path);
    this.#set(path, content);
    // The database stores a file as a whole, so it is not written at every piece.
    let written = false;
    const keep = () => {
      if (written && this.#entries.get(content.path) === content) this.#change(content.path);
      written = false;
    };
    return {
      empty: content.size === 0,
      append: (bytes: Uint8Array) => {
        this.#opened();
        content.append(bytes);
        written = true;
      },
      overwrite: (at: number, bytes: Uint8Array) => {
        this.#opened();
        content.overwrite(at, bytes);
        written = true;
      },
      flush: keep,
      sync: () => {
        keep();
        this.#check();
      },
      close: keep,
    };
  }
  #rename(from: string, to: string): void {
    const entry = this.#entries.get(from);
    if (entry === undefined) throw new Error(`there is no ${describe(from)}`);
    if (from === to) return;
    this.#expectFolder(parent(to));
    const replaced = this.#kind(to);
    if (replaced === 'folder' && entry instanceof Content) throw new Error('it is a folder');
    if (replaced === 'folder' && this.#names(to).length > 0) throw new Error('it is a folder that is not empty');
    if (replaced === 'file' && entry === 'folder') throw new Error('a file has that name');
    if (to.startsWith(`${from}/`)) throw new Error('a folder cannot move into itself');
    for (const [path, moved] of [...this.#entries]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#set(path, undefined);
      this.#set(to + path.slice(from.length), moved);
    }
  }
  #remove(path: string): void {
    if (this.#kind(path) === 'none') throw new Error('no such file');
    if (this.#kind(path) === 'folder' && (path === '' || this.#names(path).length > 0)) throw new Error('it is a folder that is not empty');
    this.#set(path, undefined);
  }
  #makeFolder(path: string): void {
    if (this.#kind(path) === 'folder') return;
    if (this.#kind(path) === 'file') throw new Error('a file has that name');
    this.#makeFolder(parent(path));
    this.#set(path, 'folder');
  }
  #lock(path: string): (() => void) | undefined {
    if (this.#locks.has(path)) return undefined;
    this.#expectFolder(parent(path));
    if (this.#kind(path) === 'none') this.#set(path, new Content(path));
    this.#locks.add(path);
    return () => void this.#locks.delete(path);
  }

  #expectFolder(path: string): void {
    if (this.#kind(path) !== 'folder') throw new Error(`there is no folder ${describe(path)}`);
  }
  /** Reports a refusal once: a later write may succeed. */
  #check(): void {
    const untold = this.#untold;
    this.#untold = undefined;
    if (untold) throw untold;
  }
  #set(path: string, entry: Content | 'folder' | undefined): void {
    if (entry === undefined) this.#entries.delete(path);
    else this.#entries.set(path, entry);
    if (entry instanceof Content) entry.path = path;
    this.#change(path);
  }
  #change(path: string): void {
    this.#changed.add(path);
    this.#start();
  }
  #start(): void {
    this.#writing ??= Promise.resolve().then(() => this.#write());
  }

  /** Writes the changes, and later ones, until there are none. */
  async #write(): Promise<void> {
    while (this.#changed.size > 0) {
      const paths = [...this.#changed];
      this.#changed.clear();
      try {
        await this.keep(paths.map((path) => [path, this.#bytesOf(path)]));
        this.#refused = this.#untold = undefined;
      } catch (error) {
        this.#refused = this.#untold = error as Error;
        for (const path of paths) this.#changed.add(path);
        break;
      }
    }
    this.#writing = undefined;
  }
  #bytesOf(path: string): Uint8Array | 'folder' | undefined {
    const entry = this.#entries.get(path);
    return entry instanceof Content ? entry.bytes() : entry;
  }
  #bytes(): number {
    let sum = 0;
    for (const entry of this.#entries.values()) sum += entry === 'folder' ? 0 : entry.size;
    return sum;
  }
}
