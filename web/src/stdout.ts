import { inNode } from './node.js';

/** Where the progress bar and warnings go: in Node.js to its stdout and stderr, in a page to the console. */
export const isTerminal = inNode && process.stdout.isTTY === true;
/** Keras's default is a bar; a page shows none. */
export const defaultVerbose = inNode ? 'auto' : 0;

const lines = [1, 2].map(() => ({ decoder: new TextDecoder(), begun: '' }));

/** Takes what C++ wrote to stdout (1) or stderr (2). */
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
