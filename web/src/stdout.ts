import { inNode } from './node.js';

/** The destination of the progress bar and of warnings: in Node.js stdout and stderr, in a page the console. */
export const isTerminal = inNode && process.stdout.isTTY === true;
/** Keras's default is a bar. A page shows none. */
export const defaultVerbose = inNode ? 'auto' : 0;

const lines = [1, 2].map(() => ({ decoder: new TextDecoder(), begun: '' }));

/** Receives the output of C++ to stdout (1) or stderr (2). */
export function write(fd: number, bytes: Uint8Array): void {
  if (inNode) {
    process[fd === 2 ? 'stderr' : 'stdout'].write(bytes);
    return;
  }
  const line = lines[fd - 1];
  if (!line) return;
  const texts = (line.begun + line.decoder.decode(bytes, { stream: true })).split('\n');
  line.begun = texts.pop() ?? '';
  for (const text of texts) console[fd === 2 ? 'warn' : 'log'](text);
}
