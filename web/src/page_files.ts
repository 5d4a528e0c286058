import { describe, fail } from './error.js';
import { Mirror, type Change } from './mirror.js';
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

const done = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('the browser does not say why'));
  });

/** Keeps changes in the database, in one transaction. */
const keepIn = (database: IDBDatabase) => (changes: Change[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const transaction = database.transaction(store, 'readwrite', { durability: 'strict' });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('the transaction was aborted'));
    const files = transaction.objectStore(store);
    try {
      for (const [path, entry] of changes) {
        if (entry === undefined) files.delete(path);
        else files.put(entry, path);
      }
    } catch (error) {
      transaction.abort(); // otherwise earlier writes would be kept without the rest
      reject(error as Error);
    }
  });

/** All that the database has. */
async function entriesOf(database: IDBDatabase): Promise<Change[]> {
  const files = database.transaction(store).objectStore(store);
  const [paths, contents] = await Promise.all([done(files.getAllKeys()), done(files.getAll())]);
  return paths.map((path, i) => [String(path), (contents[i] as unknown) instanceof Uint8Array ? (contents[i] as Uint8Array) : 'folder']);
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
    fail('io', where, 'no IndexedDB is available - expected a page or its worker - in Node.js use paths without openFiles.');
  if (!globalThis.navigator?.locks)
    fail('io', where, 'the page is not secure, so it cannot lock its files against other tabs - expected https, or localhost - serve it by one of them.');
  await ready({ parts: ['saving'] });
  const release = await lockFor(`etude: ${name}`);
  if (!release) fail('state', where, `this page, another tab or a worker has the files ${describe(name)} open - expected closed files - wait until it ends, or choose another name.`);
  try {
    const opening = indexedDB.open(`etude: ${name}`, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(store);
    const database = await done(opening), mirror = new Mirror(keepIn(database));
    mirror.load(await entriesOf(database));
    useFiles(mirror.files);
    return {
      saved: () => mirror.saved(),
      async close() {
        await mirror.saved();
        mirror.close();
        database.close();
        release();
      },
    };
  } catch (error) {
    release();
    fail('io', where, `the browser's database cannot be opened: ${(error as Error).message} - expected one that can be read and written - check that the page may store data.`);
  }
}
