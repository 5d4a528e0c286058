/** Models and weights to elsewhere than the module's files: as bytes, as downloads of a page, and to handlers. */
import { describe, fail } from './error.js';
import type { Files } from './files.js';
import { MemoryFiles } from './memory_files.js';
import { withSaving } from './module.js';
import type { SaveOptions } from './options.mjs';
import type { ModelArtifacts, ModelHandler } from './sources.js';

/** A format of `toBytes`: a file of the model for Keras, or one of its weights. */
export type FileFormat = 'keras' | 'safetensors' | 'npz' | 'weights.h5';
const formats: readonly FileFormat[] = ['keras', 'safetensors', 'npz', 'weights.h5'];

type Writer = (path: string, files: Files, weights: boolean) => void;

/** The files that a call writes. */
const written = (write: (files: Files) => void): Promise<[string, Uint8Array][]> =>
  withSaving(() => {
    const memory = new MemoryFiles();
    write(memory.files);
    return memory.entries();
  });

function checkFormat(format: FileFormat, where: string): void {
  if (!formats.includes(format)) fail('value', where, `${describe(format)} as format - expected one of ${formats.map((each) => `"${each}"`).join(', ')} - pass one.`);
}

export async function bytesOf(format: FileFormat, write: Writer): Promise<Uint8Array> {
  checkFormat(format, 'toBytes');
  const [file] = await written((files) => write(`model.${format}`, files, format !== 'keras'));
  return (file as [string, Uint8Array])[1];
}

/** A file of the origin private file system that a worker has opened: a FileSystemSyncAccessHandle. */
export interface SyncFile {
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}
interface SyncOpener {
  createSyncAccessHandle(): Promise<SyncFile>;
}

/** One file, which the module writes piece by piece, under any name. */
function filesOf(file: SyncFile): Files {
  const write = (at: number, bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length; ) {
      const count = file.write(bytes.subarray(done), { at: at + done });
      if (!(count > 0)) throw new Error('the browser cannot store more');
      done += count;
    }
  };
  const { files } = new MemoryFiles();
  let isOpen = false;
  return {
    ...files,
    open() {
      let end = 0;
      file.truncate(0);
      isOpen = true;
      const append = (bytes: Uint8Array) => {
        write(end, bytes);
        end += bytes.length;
      };
      return { append, overwrite: write, flush: () => file.flush(), sync: () => file.flush() };
    },
    rename: () => void (isOpen = false),
    remove: () => file.truncate(0),
    kind: (path) => (isOpen ? 'file' : files.kind(path)),
  };
}

const isSync = (handle: unknown): handle is SyncFile => typeof (handle as SyncFile | undefined)?.truncate === 'function';
const opensSync = (handle: unknown): handle is SyncOpener => typeof (handle as SyncOpener | undefined)?.createSyncAccessHandle === 'function';
const isHandle = (handle: unknown): handle is FileSystemFileHandle => typeof (handle as FileSystemFileHandle | undefined)?.createWritable === 'function';

export async function writeTo(handle: unknown, format: FileFormat, write: Writer): Promise<void> {
  checkFormat(format, 'writeTo');
  if (isSync(handle)) return withSaving(() => write(`model.${format}`, filesOf(handle), format !== 'keras'));
  if (opensSync(handle)) {
    // In a worker, handles of showSaveFilePicker have it, too, but it refuses them.
    const file = await handle.createSyncAccessHandle().catch((error: unknown) => (isHandle(handle) ? undefined : Promise.reject(error)));
    if (file)
      try {
        return await writeTo(file, format, write);
      } finally {
        file.close();
      }
  }
  if (!isHandle(handle)) fail('value', 'writeTo', `${describe(handle)} - expected a FileSystemFileHandle, or a FileSystemSyncAccessHandle of a worker - pass one.`);
  const bytes = await bytesOf(format, write), stream = await handle.createWritable();
  try {
    await stream.write(bytes as Uint8Array<ArrayBuffer>);
  } catch (error) {
    await stream.abort().catch(() => undefined); // the file keeps its contents, and is unlocked
    throw error;
  }
  await stream.close();
}

export async function download(name: string, write: Writer): Promise<void> {
  if (typeof document === 'undefined') fail('state', 'download', 'no page - expected a page, whose browser stores downloads - call save(path) or toBytes().');
  if (!/^[^/\\]+\.(keras|json|safetensors|npz|weights\.h5)$/.test(name))
    fail('value', 'download', `${describe(name)} as name - expected one that ends with .keras, .json, .safetensors, .npz or .weights.h5 - name it so.`);
  for (const [file, bytes] of await written((files) => write(name, files, !/\.(keras|json)$/.test(name)))) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it later
  }
}

interface ModelJson extends ModelArtifacts {
  weightsManifest: { paths: string[]; weights: object[] }[];
}

export async function saveTo(handler: ModelHandler, options: SaveOptions, write: (path: string, files: Files) => void): Promise<unknown> {
  if (typeof handler.save !== 'function') fail('value', 'Model.save', `${describe(handler)} - expected a path, or a handler with save(artifacts) - pass one.`);
  const files = new Map(await written((files) => write('model.json', files)));
  const { weightsManifest, ...artifacts } = JSON.parse(new TextDecoder().decode(files.get('model.json'))) as ModelJson;
  const pieces = weightsManifest.flatMap(({ paths }) => paths).map((path) => files.get(path) as Uint8Array<ArrayBuffer>);
  const weightData = await new Blob(pieces).arrayBuffer();
  return handler.save({ ...artifacts, weightSpecs: weightsManifest.flatMap(({ weights }) => weights), weightData }, options);
}
