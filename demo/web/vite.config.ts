import { defineConfig } from 'vite';

/** These headers make a page cross-origin isolated, so that threads can share memory. On other servers src/isolation.ts does it. */
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default defineConfig({
  base: './', // the built page works from any folder of a server
  build: { target: 'es2022', assetsInlineLimit: 0 },
  worker: { format: 'es' }, // the package's threads are modules
  server: { headers, fs: { allow: ['../..'] } }, // the package is in a sibling folder
  preview: { headers },
});
