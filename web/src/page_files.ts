import { describe, fail } from './error.js';
import type { Files } from './files.js';
import { ready, useFiles } from './module.js';

/** A page's persistent files: model.save, loadModel and callbacks use them from then on. */
export interface PageFiles {
  /**
   * Waits until all writes so far are in the browser's database. Rejects with EtudeError "io" if the browser refuses,
   * mostly for lack of space. Refused writes stay in memory, and are repeated by the next change or call.
   */
  saved(): Promise<void>;
  /** Waits for saved(), and closes the files, so that others can open them. They stay open if that rejects. */
  close(): Promise<void>;
}

const where = 'openFiles';
const store = 'files';

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

const done = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser does not say why'));
  });

/**
 * Files in memory. The changes of one turn of the event loop are written to the database after it, in one transaction:
 * whenever the page ends, the database has the files between two turns, so checkpoints are complete.
 */
class Mirror {
  readonly #entries = new Map<string, Content | 'folder'>([['', 'folder']]);
  readonly #changed = new Set<string>();
  readonly #locks = new Set<string>();
  #writing: Promise<void> | undefined;
  #refused: Error | undefined;
  #untold: Error | undefined;
  #closed = false;

  constructor(readonly database: IDBDatabase) {}

  async load(): Promise<void> {
    const files = this.database.transaction(store).objectStore(store);
    const [paths, contents] = await Promise.all([done(files.getAllKeys()), done(files.getAll())]);
    paths.forEach((path, i) => {
      const bytes: unknown = contents[i];
      const content = new Content(String(path));
      if (bytes instanceof Uint8Array) content.append(bytes);
      this.#entries.set(content.path, bytes instanceof Uint8Array ? content : 'folder');
    });
  }

  async saved(): Promise<void> {
    if (this.#changed.size > 0) this.#start();
    while (this.#writing) await this.#writing;
    if (!this.#refused) return;
    this.#untold = undefined;
    fail('io', where, `the browser keeps no more: ${this.#refused.message} - expected room for ${this.#bytes()} bytes - remove files, or ask for room by navigator.storage.persist().`);
  }

  close(): void {
    this.#closed = true;
    this.database.close();
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
        await this.#transact(paths);
        this.#refused = this.#untold = undefined;
      } catch (error) {
        this.#refused = this.#untold = error as Error;
        for (const path of paths) this.#changed.add(path);
        break;
      }
    }
    this.#writing = undefined;
  }
  #transact(paths: string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(store, 'readwrite', { durability: 'strict' });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('the transaction was aborted'));
      const files = transaction.objectStore(store);
      try {
        for (const path of paths) {
          const entry = this.#entries.get(path);
          if (entry === undefined) files.delete(path);
          else files.put(entry === 'folder' ? entry : entry.bytes(), path);
        }
      } catch (error) {
        transaction.abort(); // otherwise earlier writes would be kept without the rest
        reject(error as Error);
      }
    });
  }
  #bytes(): number {
    let sum = 0;
    for (const entry of this.#entries.values()) sum += entry === 'folder' ? 0 : entry.size;
    return sum;
  }
}

/**
 * Acquires a lock that other tabs and workers see. Returns the function that releases it, or undefined if it is held
 * elsewhere.
 */
function lockFor(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const held = navigator.locks.request(name, { ifAvailable: true }, (lock) =>
      lock ? new Promise<void>((release) => resolve(() => release())) : resolve(undefined),
    );
    held.catch(reject);
  });
}

/**
 * Gives a page, or its worker, persistent files: they are kept in the browser's IndexedDB under `name`, and in memory
 * while they are open. From then on model.save, loadModel, saveWeights and callbacks write and read them by their
 * paths.
 *
 *     const files = await et.openFiles('my page');
 *     model.save('digits');
 *     await files.saved();
 *
 * Throws EtudeError "state" if they are open elsewhere, and "io" if the browser has no database. In Node.js these are
 * the system's files.
 */
export async function openFiles(name: string): Promise<PageFiles> {
  if (typeof name !== 'string' || !name) fail('value', where, `${describe(name)} as name - expected a text that is not empty - name your page's files.`);
  if (typeof indexedDB === 'undefined')
    fail('io', where, 'there is no IndexedDB here - expected a page or its worker - in Node.js files are the system\'s, and need not be opened.');
  if (!globalThis.navigator?.locks)
    fail('io', where, 'the page is not secure, and could not see another tab at work - expected https, or localhost - serve it so.');
  await ready({ parts: ['saving'] });
  const release = await lockFor(`etude: ${name}`);
  if (!release) fail('state', where, `this page, another tab or a worker has the files ${describe(name)} open - expected them to be closed - wait until it ends, or choose another name.`);
  try {
    const opening = indexedDB.open(`etude: ${name}`, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(store);
    const mirror = new Mirror(await done(opening));
    await mirror.load();
    useFiles(mirror.files);
    return {
      saved: () => mirror.saved(),
      async close() {
        await mirror.saved();
        mirror.close();
        release();
      },
    };
  } catch (error) {
    release();
    fail('io', where, `the browser's database cannot be opened: ${(error as Error).message} - expected one that can be read and written - look whether the page may store data.`);
  }
}
