// A service worker that adds to every answer the headers with which a page is cross-origin isolated, for servers that
// do not send them.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.cache === 'only-if-cached' && request.mode !== 'same-origin') return; // the browser's own, which no fetch may repeat
  event.respondWith(answer(request));
});

async function answer(request) {
  const response = await fetch(request);
  if (response.status === 0) return response; // of another origin, and opaque
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  const { status, statusText } = response;
  return new Response([101, 204, 205, 304].includes(status) ? null : response.body, { status, statusText, headers });
}
