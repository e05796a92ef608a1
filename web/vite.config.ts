import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npx vite` in this folder: the console from its sources, beside a running Plinth. */
const SERVICE = process.env['PLINTH_URL'] ?? 'http://127.0.0.1:6039';

/** The icons of the menu, which every page has. */
const navigation = readFileSync(join(import.meta.dirname, 'src/app/navigation.ts'), 'utf8');
const menuIcons = [...new Set(navigation.match(/\bIcon[A-Z]\w*/g))].join('|');

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // Newer than that of the scripts: light-dark() would be rewritten for the system's scheme, not for the chosen one.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
    // scripts/console-size.mjs reads it.
    manifest: true,
    // An inlined file would be a data address, which the content security policy refuses for scripts and fonts.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // What every page needs, in one file: together it compresses better than in its parts.
          groups: [
            { name: 'menu', test: new RegExp(`/icons-react/.*/(${menuIcons})\\.m?js$`) },
            {
              name: 'base',
              test: /node_modules\/(react|react-dom|scheduler|i18next|react-i18next|use-sync-external-store|@floating-ui\/[\w-]+|@tanstack\/(query-core|react-query|react-router|router-core|history|react-store|store))\//,
            },
            // With all that they import: first what the sign-in needs too, then what every page behind it has.
            { name: 'start', test: /\/web\/src\/main\.tsx$/ },
            { name: 'frame', test: /\/web\/src\/app\/shell\.tsx$/ },
          ],
        },
      },
    },
  },
  // A worker loads its parts when it needs them.
  worker: { format: 'es' },
  server: {
    port: 5173,
    proxy: {
      // What a page does not answer belongs to the service: everything that is not a navigation or a source.
      '^/(auth|system|resource|monitor|chat/|agent/|media/|mcp|workflow|coding|health|docs)': {
        target: SERVICE,
        // Sign-ins by a provider are navigations.
        bypass: (request) =>
          request.headers.accept?.includes('text/html') && !request.url?.startsWith('/auth/sso/')
            ? '/index.html'
            : undefined,
      },
    },
  },
});
