/** The workers that run trials, as their search sees them. */
import { describe, fail } from './error.js';
import { inNode, nodeFs, nodeWorkers } from './node.js';
import type { FromTrial, ToTrial } from './trial_worker.js';

/** A Worker of Node.js, whose own types a page's project need not have. */
export interface NodeWorker {
  readonly threadId: number;
  postMessage(message: unknown): void;
  on(event: string, listener: (value: any) => void): unknown;
  terminate(): Promise<number>;
}
/** A worker: of a page, or of Node.js. */
export type TrialWorker = Worker | NodeWorker;

/** A worker that was started. */
export interface WorkerOfTrial {
  tell(message: ToTrial): void;
  /** Waits until a worker whose trial has ended has written its output, and ends it. */
  ended(): Promise<unknown>;
  /** Ends it at once. */
  terminate(): Promise<unknown>;
}
/** Starts a worker. Its output goes to a file in that folder. */
export type MakeWorker = (folder: string, receive: (message: FromTrial) => void, failed: (text: string, status?: number) => void) => WorkerOfTrial;

/** The most milliseconds that a worker of Node.js may take to exit, after its trial has ended. */
const longestExit = 2000;

export async function workerMaker(given: URL | string | (() => TrialWorker), where: string): Promise<MakeWorker> {
  if (typeof given === 'function') return (_, receive, failed) => started(given(), receive, failed);
  if (typeof given !== 'string' && !(given instanceof URL)) fail('value', where, `worker = ${describe(given)} - expected a URL, or a function that makes a worker - pass one such as new URL('./trial.mjs', import.meta.url).`);
  if (!inNode) return (_, receive, failed) => started(new globalThis.Worker(given, { type: 'module' }), receive, failed);
  const [{ Worker }, fs] = await Promise.all([nodeWorkers(), nodeFs()]);
  return (folder, receive, failed) => {
    // Without the program's options, of which some, such as --input-type, keep threads from starting.
    const worker = new Worker(given, { stdout: true, stderr: true, execArgv: [] });
    for (const output of [worker.stdout, worker.stderr]) output.on('data', (bytes: Uint8Array) => fs.appendFileSync(`${folder}/log.txt`, bytes));
    return started(worker, receive, failed);
  };
}

function started(worker: TrialWorker, receive: (message: FromTrial) => void, failed: (text: string, status?: number) => void): WorkerOfTrial {
  const heard = (message: unknown) => {
    if (typeof message === 'object' && message !== null && 'etude' in message) receive(message as FromTrial);
  };
  return 'threadId' in worker ? ofNode(worker, heard, failed) : ofPage(worker, heard, failed);
}

function ofNode(worker: NodeWorker, heard: (message: unknown) => void, failed: (text: string, status?: number) => void): WorkerOfTrial {
  const exited = new Promise<void>((resolve) => worker.on('exit', () => resolve()));
  worker.on('message', heard);
  worker.on('error', (error: unknown) => failed(error instanceof Error && error.stack ? error.stack : String(error)));
  worker.on('exit', (code) => failed(`a trial's worker exited with code ${code} before its trial had ended`, code));
  const ended = async () => {
    let timer;
    await Promise.race([exited, new Promise((resolve) => (timer = setTimeout(resolve, longestExit)))]);
    clearTimeout(timer);
    await worker.terminate();
  };
  return { tell: (message) => worker.postMessage(message), ended, terminate: () => worker.terminate() };
}

function ofPage(worker: Worker, heard: (message: unknown) => void, failed: (text: string) => void): WorkerOfTrial {
  worker.addEventListener('message', ({ data }) => heard(data));
  worker.addEventListener('error', ({ message }) => failed(message || 'a trial\'s worker does not start'));
  const terminate = async () => worker.terminate();
  return { tell: (message) => worker.postMessage(message), ended: terminate, terminate };
}
