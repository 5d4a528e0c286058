/** Where the progress bar goes: the terminal at once, so that it moves; elsewhere line by line. */
const inNode = typeof process === 'object' && typeof process.stdout?.write === 'function';
export const isTerminal = inNode && process.stdout.isTTY === true;
/** Keras's default is a bar; in a page nobody looks at one. */
export const defaultVerbose = inNode ? 'auto' : 0;

const decoder = new TextDecoder();
let bytes: number[] = [];

function take(): string {
  const text = decoder.decode(Uint8Array.from(bytes), { stream: true });
  bytes = [];
  return text;
}

/** Takes one byte of stdout that is no terminal. */
export function toLines(byte: number | null): void {
  if (byte !== null && byte !== 10) bytes.push(byte);
  else if (inNode) process.stdout.write(`${take()}\n`);
  else console.log(take());
}

/** Takes one byte for the terminal. */
export function toTerminal(byte: number | null): void {
  if (byte === null) return;
  if (bytes.length === 0) queueMicrotask(() => process.stdout.write(take()));
  bytes.push(byte);
}
