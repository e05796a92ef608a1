import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run dev` in this folder: the console from its sources, beside a running Plinth. */
const SERVICE = process.env['PLINTH_URL'] ?? 'http://127.0.0.1:6039';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    sourcemap: false,
    // An inlined file would be a data address, which the content security policy refuses for scripts and fonts.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
  },
  server: {
    port: 5173,
    proxy: {
      // What a page does not answer belongs to the service: everything that is not a navigation or a source.
      '^/(auth|system|resource|monitor|chat/|agent/|media/|mcp|workflow|coding|health|docs)': {
        target: SERVICE,
        bypass: (request) =>
          request.headers.accept?.includes('text/html') ? '/index.html' : undefined,
      },
    },
  },
});
