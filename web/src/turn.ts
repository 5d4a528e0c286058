/** Gives the page its frames and events, or Node.js its turn, by the fastest way there is: never a timer, which waits. */
export const nextTurn: () => Promise<void> = typeof setImmediate === 'function' ? byImmediate : byMessage();

function byImmediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function byMessage(): () => Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(null);
    });
}
