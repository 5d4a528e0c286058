/** Finds a build of the WebAssembly module, compiles it and starts it. */
import { builds, isLite, type Build } from './builds.mjs';
import { fail } from './error.js';
import type { MainModule } from './etude.mjs';
import type { Life } from './life.js';
import { inNode, nodeParts, readFile } from './node.js';
import type { Part, Parts } from './parts.js';
import type { Variant } from './variant.js';

/** The options of et.configure. */
export interface Configuration {
  /**
   * Where the module is: the address of its file, a folder's that ends with "/" and has the package's dist/etude*.wasm, or the
   * file's bytes. Default: beside the package's script.
   */
  wasm?: string | URL | Uint8Array | ArrayBuffer | undefined;
  /**
   * Where its parts are, each by its name: addresses, or bytes. Default: beside the module's file, as
   * etude.data.wasm is beside etude.wasm; beside the package's script if `wasm` is bytes.
   */
  parts?: Partial<Record<Part, string | URL | Uint8Array | ArrayBuffer>> | undefined;
  /** The build to load. Default: the best that runs here; with a `wasm` of one file or bytes 'simd', whose file is etude.wasm. */
  build?: Variant | undefined;
  /**
   * The number of threads of kernels, as in setNumThreads; 1 also loads a build without threads. Default: one for each
   * core.
   */
  threads?: number | undefined;
}

/** The factory function of a build: starts the module that it gets. */
export type Factory = (module: object) => Promise<MainModule>;
type Wasm = Configuration['wasm'];

/** A build, or a part of it. */
export interface Piece {
  variant: Variant;
  part?: Part;
}

const scriptOf = (variant: Variant) => `etude${variant === 'simd' ? '' : `-${variant.replace('simd-', '')}`}`;
const fileOf = ({ variant, part }: Piece) => `${isLite ? scriptOf(variant).replace('etude', 'etude-lite') : scriptOf(variant)}${part ? `.${part}` : ''}.wasm`;
const sourceOf = ({ part }: Piece, { wasm, parts }: Configuration): Wasm => (part ? parts?.[part] : wasm);
export const isRemote = (wasm: Wasm): boolean => (typeof wasm === 'string' || wasm instanceof URL) && isWeb(String(wasm));
export const isOneFile = (wasm: Wasm): boolean => wasm !== undefined && !isFolder(wasm);
const isFolder = (wasm: Wasm): wasm is string | URL => (typeof wasm === 'string' || wasm instanceof URL) && String(wasm).endsWith('/');
const isBytes = (wasm: unknown): wasm is Uint8Array<ArrayBuffer> | ArrayBuffer => wasm instanceof Uint8Array || wasm instanceof ArrayBuffer;

/** The address of a file: as configured, or beside this script. */
function address(piece: Piece, configuration: Configuration): string {
  const { variant, part } = piece, { wasm } = configuration;
  const source = sourceOf(piece, configuration);
  if (source !== undefined && !isFolder(source)) return String(source);
  if (isFolder(wasm)) return `${wasm}${fileOf(piece)}`;
  const ofModule = /^(.*)\.wasm($|[?#].*)/s.exec(isBytes(wasm) || wasm === undefined ? '' : String(wasm));
  if (part && ofModule) return `${ofModule[1]}.${part}.wasm${ofModule[2]}`;
  try {
    const build = builds[variant];
    return unbundled(fileOf(piece)) ?? String(part ? build?.parts[part]?.() : build?.wasm());
  } catch {
    return fail('io', 'ready', `cannot find ${fileOf(piece)}: this script's address is unknown - expected the file's address - call et.configure({ ${fixOf(piece)} }) first.`);
  }
}
const fixOf = ({ part }: Piece) => (part ? `parts: { ${part}: url }` : 'wasm: url');

/**
 * Vite's server moves bundled files of packages to a folder without their other files: those are at the original place.
 */
function unbundled(file: string): string | undefined {
  const modules = /^(.*\/node_modules)\/\.vite\/deps[^/]*\//.exec(import.meta.url ?? '')?.[1];
  return modules && `${modules}/etude-ml/dist/${file}`;
}

/** The script of threads, if a bundler's own address of it is wrong. */
function threadScript(variant: Variant, wasm: Wasm): URL | undefined {
  const base = inNode ? `file://${process.cwd()}/` : globalThis.location?.href;
  const found = isFolder(wasm) ? `${wasm}${scriptOf(variant)}.mjs` : unbundled(`${scriptOf(variant)}.mjs`);
  return found === undefined ? undefined : new URL(found, base);
}

const advice = (piece: Piece) => `let the bundler or the server deliver ${fileOf(piece)} of the package's folder dist there, or say where it is by et.configure({ ${fixOf(piece)} }).`;
const isWasm = (bytes: Uint8Array) => [0, 97, 115, 109].every((byte, i) => bytes[i] === byte);

/** Throws EtudeError "io" with a description, unless these are the bytes of a module. */
function checkedBytes(bytes: Uint8Array, piece: Piece, from: string, answer: string): Uint8Array<ArrayBuffer> {
  if (!isWasm(bytes)) {
    const begun = new TextDecoder('latin1').decode(bytes.subarray(0, 40)).replace(/[^ -~]+/g, ' ');
    fail('io', 'ready', `${from} ${answer}, which begins with ${JSON.stringify(begun)} - expected a WebAssembly module - ${advice(piece)}`);
  }
  return bytes as Uint8Array<ArrayBuffer>;
}
const given = (bytes: Uint8Array<ArrayBuffer> | ArrayBuffer, piece: Piece) => {
  const view = new Uint8Array(bytes instanceof ArrayBuffer ? bytes : bytes.buffer, bytes instanceof ArrayBuffer ? 0 : bytes.byteOffset, bytes.byteLength);
  return checkedBytes(view, piece, piece.part ? `configure({ parts: { ${piece.part} } })` : 'configure({ wasm })', `has ${view.length} bytes`);
};
const unreadable = (url: string, piece: Piece, error: unknown) =>
  fail('io', 'ready', `cannot read "${url}": ${(error as Error).message} - expected the WebAssembly module - ${advice(piece)}`);

const isWeb = (url: string) => /^(https?|data|blob):/.test(url) || !inNode;
const pathOf = (url: string) => (url.startsWith('file:') ? new URL(url) : url);

function readNow(url: string, piece: Piece): Uint8Array {
  try {
    return (nodeParts as NonNullable<typeof nodeParts>).fs.readFileSync(pathOf(url));
  } catch (error) {
    return unreadable(url, piece, error);
  }
}

/** Compiles synchronously, in Node.js. */
export function compileNow(piece: Piece, configuration: Configuration): WebAssembly.Module {
  const source = sourceOf(piece, configuration);
  if (isBytes(source)) return new WebAssembly.Module(given(source, piece));
  const url = address(piece, configuration);
  if (isWeb(url)) fail('state', 'ready', `the module comes from "${url}", which takes time - expected the page to await it - write await et.ready(${piece.part ? `{ parts: ['${piece.part}'] }` : ''}) first.`);
  const bytes = readNow(url, piece);
  return new WebAssembly.Module(checkedBytes(bytes, piece, `"${url}"`, `has ${bytes.length} bytes`));
}

/** Compiles a fetched module, while it is downloaded if possible. */
export async function compile(piece: Piece, configuration: Configuration): Promise<WebAssembly.Module> {
  const source = sourceOf(piece, configuration);
  if (isBytes(source)) return WebAssembly.compile(given(source, piece));
  const url = address(piece, configuration);
  const failed = (error: unknown) => unreadable(url, piece, error);
  if (!isWeb(url)) {
    const bytes = await readFile(pathOf(url)).catch(failed);
    return WebAssembly.compile(checkedBytes(bytes, piece, `"${url}"`, `has ${bytes.length} bytes`));
  }
  const response = await fetch(url, { credentials: 'same-origin' }).catch(failed);
  const type = response.headers.get('content-type') ?? 'no content type';
  if (response.ok && type.startsWith('application/wasm')) return WebAssembly.compileStreaming(response).catch(failed);
  const bytes = new Uint8Array(await response.arrayBuffer().catch(failed));
  const checked = checkedBytes(response.ok ? bytes : new Uint8Array(), piece, `"${response.url || url}"`, `answered with status ${response.status} and ${type}`);
  return WebAssembly.compile(checked).catch(failed);
}

/** The script of a build; a page fetches it. */
export async function script(variant: Variant): Promise<Factory> {
  return nodeParts?.scripts[variant] ?? (await (builds[variant] as Build).script()).default;
}

const moduleOf = (life: Life, variant: Variant, wasm: Wasm) => ({
  host: life.host,
  createRequire: nodeParts?.createRequire,
  threadScript: threadScript(variant, wasm),
});

/** Starts the module synchronously, in Node.js. */
export function startNow(life: Life, variant: Variant, compiled: WebAssembly.Module, parts: Parts, { wasm }: Configuration): MainModule {
  let error: unknown;
  const module = {
    ...moduleOf(life, variant, wasm),
    instantiateWasm: (imports: WebAssembly.Imports, receive: Receive) => {
      const instance = new WebAssembly.Instance(compiled, parts.imports(compiled, imports));
      parts.begin(instance.exports);
      return receive(instance, compiled);
    },
  };
  nodeParts?.scripts[variant]?.(module).catch((reason) => (error = reason));
  // The script is synchronous, so it has finished.
  if (!('settle' in module)) fail('internal', 'ready', `the module does not start: ${error} - expected memory for it - load it by await et.ready(), whose error has more details.`);
  return module as unknown as MainModule;
}
type Receive = (instance: WebAssembly.Instance, module: WebAssembly.Module) => object;

/** Starts the module; on a page's main thread this is asynchronous. */
export async function start(life: Life, variant: Variant, compiled: WebAssembly.Module, parts: Parts, { wasm }: Configuration): Promise<MainModule> {
  const factory = await script(variant);
  return new Promise((resolve, reject) => {
    const instantiateWasm = (imports: WebAssembly.Imports, receive: Receive) => {
      WebAssembly.instantiate(compiled, parts.imports(compiled, imports))
        .then((instance) => {
          parts.begin(instance.exports);
          receive(instance, compiled);
        })
        .catch(reject);
      return {};
    };
    factory({ ...moduleOf(life, variant, wasm), instantiateWasm }).then(resolve, reject);
  });
}
