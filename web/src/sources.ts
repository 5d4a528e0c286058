/** Models and weights from elsewhere than the module's files: from addresses, files of a page, bytes and handlers. */
import { checkOptions, describe, fail } from './error.js';
import type { Files, LaterFiles, Within } from './files.js';
import { MemoryFiles } from './memory_files.js';
import { hostFiles, outcome, ready, withCaller, withSaving } from './module.js';
import { nodeParts } from './node.js';
import type { SaveOptions } from './options.mjs';
import { SliceFiles } from './slice_files.js';

/** A model in the form of TensorFlow.js, as its `tf.io.ModelArtifacts`. */
export interface ModelArtifacts {
  /** The layers, as in the member of a model.json. */
  modelTopology?: {} | null | undefined;
  /** The names, shapes and dtypes of the weights, as in the groups of a weightsManifest. */
  weightSpecs?: readonly {}[] | undefined;
  /** The weights in a row. */
  weightData?: ArrayBuffer | ArrayBuffer[] | undefined;
  /** The arguments of compile, as TensorFlow.js writes them. */
  trainingConfig?: {} | null | undefined;
  /** 'layers-model'. */
  format?: string | undefined;
  /** The program that wrote the model. */
  generatedBy?: string | undefined;
  /** The program that converted it; null if none did. */
  convertedBy?: string | null | undefined;
}

/** Loads or saves models anywhere, as `tf.io.IOHandler` of TensorFlow.js, such as `tf.io.browserHTTPRequest(url)`. */
export interface ModelHandler {
  /** Returns a model, for loadModel and loadWeights. */
  load?(): ModelArtifacts | Promise<ModelArtifacts>;
  /** Gets a model and the options of model.save, and must obey `overwrite`. model.save returns its result. */
  save?(artifacts: ModelArtifacts, options: SaveOptions): unknown;
}

/**
 * Where loadModel, loadWeights and loadStringLayers find a file: an address, which is fetched; a File or Blob; bytes; several
 * Files, such as a model.json, or an index of weights, with its files of weights that were dropped on a page; or a handler. A
 * relative address is a `new URL('model.json', location.href)`: a string without https://, blob: or data: is the path of a
 * file. In Node.js a file: URL is the path of a file, too.
 */
export type ModelSource = URL | `${'https' | 'http'}://${string}` | `${'blob' | 'data'}:${string}` | Blob | Uint8Array | ArrayBuffer | Iterable<File> | ModelHandler;

/** What a load by a string gives: of a path the result at once. A variable may also be an address, which gives a promise. */
export type Loaded<Path extends string, Result> = string extends Path ? Result | Promise<Result> : Result;

/** The files of a source. */
interface Gathered {
  path: string;
  files: Files | SliceFiles;
  /** Whether the progress is that of the weights, and not of what was fetched. */
  counts: boolean;
}

/** Tells how much is done: from 0 to 1. */
export type Progress = (fraction: number) => void;
/** Options of loads that take long. */
export interface ProgressOptions {
  /**
   * Called after each weight that was read, with a number from 0 to 1, which is the last. For an address, it is called while
   * its files arrive: each counts the same; a model.json counts nothing if there are files of weights beside it, as in
   * TensorFlow.js.
   */
  onProgress?: Progress | undefined;
}

/** The options of a load or a save, as checkOptions gives them. Throws EtudeError "value" unless onProgress is a function. */
export function withProgress<Options extends ProgressOptions>(given: Options | undefined, where: string, names?: readonly string[]): Options {
  const options = checkOptions(given, where, names), { onProgress } = options;
  if (onProgress !== undefined && typeof onProgress !== 'function') fail('value', where, `${describe(onProgress)} as onProgress - expected a function of a number - pass one.`);
  return options;
}

/** Loads a source by `load`, a call of the module. `within` surrounds each of its steps, for example with custom classes. */
export function loadFrom<R>(
  source: unknown,
  where: string,
  onProgress: Progress | undefined,
  load: (path: string, files: Files | LaterFiles, onProgress?: Progress) => Promise<R>,
  within: Within = (work) => work(),
): Promise<R> {
  return withCaller(async () => {
    const { path, files, counts } = await gathered(source, where, onProgress);
    const progress = counts ? onProgress : undefined;
    if (files instanceof SliceFiles) files.within = within;
    const given = files instanceof SliceFiles ? files.files : files;
    return withSaving(() => outcome(within(() => load(path, given, progress))));
  });
}

/** The path of one of the module's files, if a source is a string that is one, or in Node.js a file: URL; else undefined. */
export function pathIn(source: unknown, where: string): string | undefined {
  if (typeof source !== 'string' || /^(https?:\/\/|blob:|data:)/.test(source)) return undefined;
  return nodeParts && source.startsWith('file://') ? pathOf(source, where) : source;
}

/** The path of a file: URL, in Node.js. */
function pathOf(address: string | URL, where: string): string {
  try {
    return (nodeParts as NonNullable<typeof nodeParts>).fileURLToPath(address);
  } catch (error) {
    return fail('value', where, `"${address}": ${(error as Error).message} - expected the URL of a file on this machine - check it, or pass the path.`);
  }
}

async function gathered(source: unknown, where: string, onProgress?: Progress): Promise<Gathered> {
  if (source instanceof Uint8Array) return only('model', source);
  if (source instanceof ArrayBuffer) return only('model', new Uint8Array(source));
  if (source instanceof Blob) return { path: nameOf(source), files: new SliceFiles().add(nameOf(source), source), counts: true };
  if (typeof source === 'string' || source instanceof URL) return addressed(urlOf(source, where), where, onProgress);
  if (typeof source === 'object' && source && Symbol.iterator in source) return several([...(source as Iterable<unknown>)], where);
  const handler = source as ModelHandler | null | undefined;
  if (typeof handler?.load === 'function') return ofArtifacts(await handler.load(), where);
  return fail('value', where, `${describe(source)} - expected a path, an address, a File, a Blob, bytes, several Files, or a handler with load() - pass one.`);
}

function urlOf(address: string | URL, where: string): URL {
  try {
    return new URL(address);
  } catch {
    return fail('value', where, `${describe(address)} - expected an address such as "https://example.org/m/model.json" - check it.`);
  }
}

const isWeb = (address: URL) => /^https?:$/.test(address.protocol);
const only = (name: string, bytes: Uint8Array): Gathered => ({ path: name, files: new MemoryFiles().add(name, bytes).files, counts: true });
const nameOf = (blob: Blob) => (blob as Partial<File>).name?.replace(/[\\/]/g, '_') || 'model';

function several(given: unknown[], where: string): Gathered {
  const blobs = given.map((each) => (each instanceof Blob ? each : fail('value', where, `${describe(each)} among files - expected Files - pass those that were chosen or dropped.`)));
  const names = blobs.map(nameOf), main = names.length === 1 ? names : names.filter((name) => name.endsWith('.json'));
  if (main.length !== 1) fail('value', where, `${names.length} files, of which ${main.length} end with .json - expected one file, or one model.json or index with its files of weights - pass those.`);
  const files = new SliceFiles();
  for (const [i, blob] of blobs.entries()) files.add(names[i] as string, blob);
  return { path: main[0] as string, files, counts: true };
}

/** The bytes of an answer. `arrived` gets the part of them that has arrived; nothing if the server tells no length. */
async function bytesOf(response: Response, arrived?: Progress): Promise<Uint8Array> {
  const length = Number(response.headers.get('content-length'));
  if (!arrived || !length || !response.body) return new Uint8Array(await response.arrayBuffer());
  const pieces: Uint8Array<ArrayBuffer>[] = [], reader = response.body.getReader();
  let size = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    pieces.push(piece.value);
    size += piece.value.length;
    if (size < length) arrived(size / length); // the length of what is compressed is smaller
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

async function fetchBytes(address: URL, where: string, arrived?: Progress, signal?: AbortSignal): Promise<Uint8Array> {
  const unreadable = (reason: string) => fail('io', where, `${isWeb(address) ? `"${address}"` : describe(address.href)} ${reason} - expected a file - check the address, and that the server allows this page to read it.`);
  try {
    const response = await fetch(address, signal ? { signal } : {});
    return response.ok ? await bytesOf(response, arrived) : unreadable(`answered ${response.status}`);
  } catch (error) {
    return error instanceof TypeError ? unreadable(`cannot be read: ${error.message}`) : Promise.reject(error);
  }
}

async function addressed(address: URL, where: string, onProgress?: Progress): Promise<Gathered> {
  if (!nodeParts || address.protocol !== 'file:') return fetched(address, where, onProgress);
  const path = pathOf(address, where);
  await ready();
  return { path, files: hostFiles() as Files, counts: true };
}

/** A file of an address, and for a model.json or an index those beside it, by the same query. */
async function fetched(address: URL, where: string, onProgress?: Progress): Promise<Gathered> {
  const name = (isWeb(address) && address.pathname.split('/').pop()) || 'model';
  const bytes = await fetchBytes(address, where, name.endsWith('.json') ? undefined : onProgress);
  const memory = new MemoryFiles().add(name, bytes);
  const shards = isWeb(address) ? shardsIn(bytes) : [];
  const parts = shards.map(() => 0), others = new AbortController();
  const contents = await Promise.all(
    shards.map(async (shard, i) => {
      const at = new URL(encodeURIComponent(shard), address);
      at.search = address.search;
      const arrived = onProgress && ((part: number) => {
        parts[i] = part;
        onProgress(parts.reduce((sum, each) => sum + each, 0) / parts.length);
      });
      const content = await fetchBytes(at, where, arrived, others.signal);
      arrived?.(1);
      return content;
    }),
  ).catch((error: unknown) => {
    others.abort();
    throw error;
  });
  if (shards.length === 0) onProgress?.(1);
  for (const [i, content] of contents.entries()) memory.add(shards[i] as string, content);
  return { path: name, files: memory.files, counts: false };
}

/**
 * The names of files in the weightsManifest of a model.json, or in the weight_map of an index, as far as they are in its folder:
 * others are refused later.
 */
function shardsIn(bytes: Uint8Array): string[] {
  if (!/^\s*\{/.test(new TextDecoder().decode(bytes.subarray(0, 64)))) return [];
  try {
    const { weightsManifest, weight_map } = JSON.parse(new TextDecoder().decode(bytes)) as { weightsManifest?: { paths?: unknown[] }[]; weight_map?: Record<string, unknown> };
    const paths = [...(weightsManifest ?? []).flatMap((group) => group.paths ?? []), ...Object.values(weight_map ?? {}).flat()];
    const names = new Set(paths.map((path) => String(path).replace(/^\.\//, '')));
    return [...names].filter((name) => /^[^/\\]+$/.test(name) && !/^\.+$/.test(name));
  } catch {
    return [];
  }
}

function bytesIn(piece: unknown, where: string): Uint8Array {
  if (ArrayBuffer.isView(piece)) return new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  return fail('value', where, `${describe(piece)} as weightData of the handler - expected an ArrayBuffer, or an array of them - return that.`);
}

function ofArtifacts(artifacts: ModelArtifacts | null | undefined, where: string): Gathered {
  if (typeof artifacts !== 'object' || !artifacts) return fail('value', where, `${describe(artifacts)} from load() of the handler - expected artifacts: { modelTopology, weightSpecs, weightData } - return them.`);
  const { modelTopology, weightSpecs = [], weightData = [], trainingConfig, format } = artifacts;
  const json = { format, modelTopology, trainingConfig, weightsManifest: [{ paths: ['weights.bin'], weights: weightSpecs }] };
  const memory = new MemoryFiles().add('model.json', new TextEncoder().encode(JSON.stringify(json))).add('weights.bin', new Uint8Array());
  const weights = memory.files.open('weights.bin', true);
  for (const piece of Array.isArray(weightData) ? weightData : [weightData]) weights.append(bytesIn(piece, where));
  return { path: 'model.json', files: memory.files, counts: true };
}
