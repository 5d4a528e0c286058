// A service worker that adds the headers for cross-origin isolation to every response, for servers that do not send
// them.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.cache === 'only-if-cached' && request.mode !== 'same-origin') return; // a request of the browser itself, which fetch must not repeat
  event.respondWith(answer(request));
});

async function answer(request) {
  const response = await fetch(request);
  if (response.status === 0) return response; // opaque, from another origin
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
  const { status, statusText } = response;
  return new Response([101, 204, 205, 304].includes(status) ? null : response.body, { status, statusText, headers });
}
