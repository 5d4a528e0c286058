/** A worker that runs a trial of a search, as the trial sees it: messages from and to the search. */
import type { FileSink, Files, SystemFile } from './files.js';
import { Mirror, type Change } from './mirror.js';
import { hostFiles, module, ready, useFiles } from './module.js';
import { inNode, nodeWorkers } from './node.js';

/** A message from a search to a worker: its trial, with the threads that it may use, or to end it. */
export type ToTrial = { etude: 'trial'; path: string; threads: number; files?: Change[] } | { etude: 'end' };
/**
 * A message from a worker to its search. `files`: the changes in the trial's folder, if the page keeps it. `error`: why the
 * trial has not begun.
 */
export type FromTrial = { etude: 'ready' } | { etude: 'reported' } | { etude: 'files'; changes: Change[] } | { etude: 'ended'; status: number; error?: string };

/** The trial of this worker. */
export interface WorkerTrial {
  /** The path of its trial.json. */
  readonly path: string;
  /** Whether the search has asked it to end. */
  asked: boolean;
  /** Tells the search that it has ended. */
  end(status: number): Promise<void>;
}

let current: WorkerTrial | undefined;
/** The trial of this worker, after beginWorkerTrial(). */
export const trialOfWorker = (): WorkerTrial | undefined => current;

interface Port {
  post(message: FromTrial): void;
  listen(receive: (message: ToTrial) => void): void;
  close(): void;
}

/** A port to the thread that started this worker; undefined outside of workers. */
async function portOfWorker(): Promise<Port | undefined> {
  if (inNode) {
    const { parentPort } = await nodeWorkers();
    if (!parentPort) return undefined;
    return { post: (message) => parentPort.postMessage(message), listen: (receive) => parentPort.on('message', receive), close: () => parentPort.close() };
  }
  const scope = globalThis as unknown as { DedicatedWorkerGlobalScope?: new () => object } & DedicatedWorker;
  if (!scope.DedicatedWorkerGlobalScope || !(globalThis instanceof scope.DedicatedWorkerGlobalScope)) return undefined;
  return { post: (message) => scope.postMessage(message), listen: (receive) => scope.addEventListener('message', ({ data }) => receive(data as ToTrial)), close: () => scope.close() };
}
interface DedicatedWorker {
  postMessage(message: unknown): void;
  addEventListener(name: 'message', receive: (event: { data: unknown }) => void): void;
  close(): void;
}

/** Files that report each line of metrics.jsonl that is written. */
function reporting(files: Files, report: () => void): Files {
  const open = (path: string, append: boolean): SystemFile => {
    const file = files.open(path, append);
    if (!path.endsWith('/metrics.jsonl')) return file;
    const sink = { append: (bytes: Uint8Array) => (file.append(bytes), report()) } as Partial<FileSink>;
    return Object.assign(Object.create(file) as SystemFile, sink);
  };
  return { ...files, open };
}

/** Waits for the trial that a search has for this worker; undefined if this is no worker. */
export async function beginWorkerTrial(): Promise<WorkerTrial | undefined> {
  const port = await portOfWorker();
  if (!port || current) return current;
  await ready({ parts: ['experiment'] }).catch((error: unknown) => {
    port.post({ etude: 'ended', status: 1, error: String(error) }); // a page is told only of errors that the script awaits
    throw error;
  });
  return new Promise((resolve) => {
    port.listen((message) => {
      if (message.etude === 'end' && current) current.asked = true;
      if (message.etude !== 'trial') return;
      useFilesOf(message.files, port);
      module.setNumThreads(message.threads);
      const end = async (status: number) => {
        await hostFiles()?.saved?.();
        port.post({ etude: 'ended', status });
        port.close();
      };
      resolve((current = { path: message.path, asked: false, end }));
    });
    port.post({ etude: 'ready' });
  });
}

/** The system's files; or those of the page, which this worker gets, and whose changes it gives back. */
function useFilesOf(entries: Change[] | undefined, port: Port): void {
  if (!entries) return useFiles(reporting(hostFiles() as Files, () => port.post({ etude: 'reported' })));
  const mirror = new Mirror(async (changes) => port.post({ etude: 'files', changes }));
  mirror.load(entries);
  useFiles(mirror.files);
}
