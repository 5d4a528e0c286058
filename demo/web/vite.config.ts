import { defineConfig } from 'vite';

/** With these a page is cross-origin isolated: its threads may share memory. Elsewhere src/isolation.ts sees to that. */
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default defineConfig({
  base: './', // the built page works from any folder of a server
  build: { target: 'es2022', assetsInlineLimit: 0 },
  worker: { format: 'es' }, // the package's threads are modules
  server: { headers, fs: { allow: ['../..'] } }, // the package is a neighbour, not a download
  preview: { headers },
});
