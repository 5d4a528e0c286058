/**
 * Yields to the page's frames and events, or to Node.js, by the fastest available way, never a timer, which is delayed.
 */
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
