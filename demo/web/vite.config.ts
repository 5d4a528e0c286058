import { defineConfig } from 'vite';

export default defineConfig({
  base: './', // the built page works from any folder of a server
  build: { target: 'es2022', assetsInlineLimit: 0 },
  worker: { format: 'es' }, // the package's threads are modules
  server: { fs: { allow: ['../..'] } }, // the package is a neighbour, not a download
});
