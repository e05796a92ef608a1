import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Lets a thread or child process that the sources start load the TypeScript sources, as Jest does for the tests
 * themselves: Node runs it outside of Jest. Preloaded with --import in NODE_OPTIONS, which both inherit. `./x.js` is x.ts
 * where there is no x.js.
 */
const root = new URL('../../', import.meta.url);
const require = createRequire(import.meta.url);

registerHooks({
  resolve(specifier, context, nextResolve) {
    try {
      return nextResolve(specifier, context);
    } catch (error) {
      if (!isOurs(context.parentURL, specifier) || !specifier.endsWith('.js')) throw error;
      return nextResolve(specifier.replace(/\.js$/, '.ts'), context);
    }
  },
  load(url, context, nextLoad) {
    if (!url.startsWith(root.href) || !url.endsWith('.ts')) return nextLoad(url, context);
    const filename = fileURLToPath(url);
    // Only threads and child processes come here; loading the compiler is their cost alone.
    const { transformSync } = require('@swc/core');
    const { code } = transformSync(readFileSync(filename, 'utf8'), {
      filename,
      swcrc: true,
      module: { type: 'es6' },
    });
    return { format: 'module', source: code, shortCircuit: true };
  },
});

function isOurs(parentURL, specifier) {
  if (specifier.startsWith(root.href) || specifier.startsWith(fileURLToPath(root))) return true;
  return parentURL?.startsWith(root.href) && !parentURL.includes('/node_modules/');
}
