import type { Arrival, LaterFiles, Within } from './files.js';

interface Range {
  path: string;
  at: number;
  bytes: Uint8Array;
}

/** Smaller reads get whole blocks of this size, because their neighbours are mostly read next. */
const block = 1 << 16;
/** The bytes of blocks that are kept for later steps. */
const kept = 1 << 20;

/**
 * Files and Blobs of a page, all in one folder, that are read by slices. A browser gives their bytes later: reading returns a
 * promise until they are here, and then the same read returns them. They stay until `forget`.
 */
export class SliceFiles {
  readonly #blobs = new Map<string, Blob>();
  /** The ranges that are here, the newest last. */
  #ranges: Range[] = [];
  /** The last ranges that follow one another: where they end, and their bytes. */
  #row = { path: '', end: -1, size: 0 };
  /** Runs the waiting load when it continues. */
  within: Within = (work) => work();

  add(name: string, blob: Blob): this {
    this.#blobs.set(nameOf(name), blob);
    return this;
  }

  /** Functions that need no `this`. C++ converts their exceptions to errors. */
  readonly files: LaterFiles = {
    read: (path) => this.#read(path, 0, this.#blob(path).size),
    readAt: (path, at, size) => this.#read(path, at, Math.max(0, Math.min(size, this.#blob(path).size - at))),
    size: (path) => this.#blob(path).size,
    forget: () => this.#forget(),
    list: () => [...this.#blobs.keys()].sort(),
    kind: (path) => (['', '.', '/'].includes(path) ? 'folder' : this.#blobs.has(nameOf(path)) ? 'file' : 'none'),
    open: refuse,
    syncFolder: refuse,
    rename: refuse,
    remove: refuse,
    makeFolder: refuse,
    lock: refuse,
  };

  #read(path: string, at: number, size: number): Uint8Array | Arrival {
    const name = nameOf(path), pieces: Uint8Array[] = [];
    let reached = at;
    while (reached < at + size) {
      const range = this.#ranges.find((each) => each.path === name && each.at <= reached && reached < each.at + each.bytes.length);
      if (!range) return this.#fetch(name, reached, at + size);
      const piece = range.bytes.subarray(reached - range.at, at + size - range.at);
      pieces.push(piece);
      reached += piece.length;
    }
    if (pieces.length === 1) return pieces[0] as Uint8Array;
    const whole = new Uint8Array(size);
    let filled = 0;
    for (const piece of pieces) {
      whole.set(piece, filled);
      filled += piece.length;
    }
    return whole;
  }

  #fetch(path: string, from: number, to: number): Arrival {
    const blob = this.#blob(path), small = to - from < block;
    const begin = small ? Math.floor(from / block) * block : from;
    const wanted = small ? Math.ceil(to / block) * block : to;
    // A step that reads many pieces in a row starts again after each wait, so each wait doubles the row.
    const before = this.#row.path === path && this.#row.end === begin ? this.#row.size : 0;
    const end = Math.min(blob.size, Math.max(wanted, begin + before));
    this.#row = { path, end, size: before + end - begin };
    const arrived = blob.slice(begin, end).arrayBuffer().then((buffer) => {
      if (buffer.byteLength !== end - begin) throw new Error('it ended while it was read');
      this.#ranges.push({ path, at: begin, bytes: new Uint8Array(buffer) });
    });
    arrived.catch(() => {}); // the load that waits gets the error
    return Object.assign(arrived, { within: this.within });
  }

  /** Frees all but the newest blocks. */
  #forget(): void {
    let left = kept;
    this.#ranges = this.#ranges.reverse().filter(({ bytes }) => bytes.length <= block && (left -= bytes.length) >= 0).reverse();
    this.#row = { path: '', end: -1, size: 0 };
  }

  #blob(path: string): Blob {
    const blob = this.#blobs.get(nameOf(path));
    if (!blob) throw new Error('it is not among the files that were passed');
    return blob;
  }
}

const nameOf = (path: string) => path.replace(/^(\.?\/)+/, '');
function refuse(): never {
  throw new Error('it is a file of the page, which is only read');
}
