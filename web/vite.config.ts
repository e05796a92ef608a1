import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import type { Plugin } from 'vite';

/** `npx vite` in this folder: the console from its sources, beside a running Plinth. */
const SERVICE = process.env['PLINTH_URL'] ?? 'http://127.0.0.1:6039';

/** The icons of the menu, which every page has. */
const navigation = readFileSync(join(import.meta.dirname, 'src/app/navigation.ts'), 'utf8');
const menuIcons = [...new Set(navigation.match(/\bIcon[A-Z]\w*/g))].join('|');

/** The folders of the packages in the files of the console. Workers are bundles of their own, which end before it. */
const packages = new Set<string>();

/** Lists the packages with their versions, for the bill of materials of a release (scripts/release.mjs). */
function listPackages(isWhole: boolean): Plugin {
  return {
    name: 'packages',
    generateBundle(_options, files) {
      for (const file of Object.values(files)) {
        const ids = file.type === 'chunk' ? file.moduleIds : [];
        for (const id of ids) {
          const [folder] = /^\/.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(id) ?? [];
          if (folder !== undefined) packages.add(folder);
        }
      }
      if (!isWhole) return;
      const list = [...packages].sort().map((folder) => {
        const text = readFileSync(join(folder, 'package.json'), 'utf8');
        const { name, version } = JSON.parse(text) as { name: string; version: string };
        return { name, version };
      });
      const source = JSON.stringify(list);
      this.emitFile({ type: 'asset', fileName: '.vite/packages.json', source });
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), listPackages(true)],
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
  worker: { format: 'es', plugins: () => [listPackages(false)] },
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
