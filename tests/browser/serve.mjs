// Serves a folder on a free port of this machine.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.gz': 'application/gzip' };

/** With these, a page is cross-origin isolated, and may share memory between threads. */
export const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

/**
 * Serves `folder`; gives {url, close()}. A file whose name contains `slow` comes in pieces of 64 kB, one every 50 ms, until
 * hurry() is called.
 */
export async function serve(folder, headers = {}, slow) {
  let hurried = false;
  async function* slowly(file) {
    for await (const piece of createReadStream(file)) {
      if (!hurried) await delay(50);
      yield piece;
    }
  }
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://host').pathname));
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    const found = existsSync(file) && statSync(file).isFile();
    response.writeHead(found ? 200 : 404, { ...headers, 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    if (found) (slow && file.includes(slow) ? Readable.from(slowly(file)) : createReadStream(file)).pipe(response);
    else response.end();
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    hurry: () => (hurried = true),
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
