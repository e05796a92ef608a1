import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Lets Node load the TypeScript sources: in the workers that run the tests, and in the threads and processes that the
 * sources start. Preloaded with --import in NODE_OPTIONS, which all of them inherit. `./x.js` is x.ts where there is one,
 * and `@jest/globals` is what the worker provides.
 */
const root = new URL('../../', import.meta.url);
const testGlobals = new URL('test/runner/globals.mjs', root).href;
const require = createRequire(import.meta.url);

/** Compiled modules are named by all that decides how they look, so that no entry is ever out of date. */
const cache = fileURLToPath(new URL('node_modules/.cache/plinth-tests/', root));
const compilerVersion = require('@swc/core/package.json').version;
const settings = readFileSync(new URL('.swcrc', root), 'utf8');
mkdirSync(cache, { recursive: true });

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === '@jest/globals' && isOurs(context.parentURL))
      return { url: testGlobals, shortCircuit: true };
    return nextResolve(sourceOf(specifier, context.parentURL), context);
  },
  load(url, context, nextLoad) {
    const { pathname } = new URL(url);
    if (!url.startsWith(root.href) || !pathname.endsWith('.ts')) return nextLoad(url, context);
    return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
  },
});

function isOurs(url) {
  return Boolean(url?.startsWith(root.href)) && !url.includes('/node_modules/');
}

/** A program or a worker is given by its address or its path; whatever starts it may import it. */
function sourceOf(specifier, parentURL) {
  if (!specifier.endsWith('.js') || !/^(\.{0,2}\/|file:)/.test(specifier)) return specifier;
  const source = new URL(specifier.replace(/\.js$/, '.ts'), parentURL ?? root);
  return isOurs(source.href) && existsSync(source) ? source.href : specifier;
}

function compiled(filename) {
  const source = readFileSync(filename, 'utf8');
  const key = [compilerVersion, settings, filename, source].join('\0');
  const entry = join(cache, `${createHash('sha256').update(key).digest('hex')}.mjs`);
  try {
    return readFileSync(entry, 'utf8');
  } catch {
    const code = compile(source, filename);
    // Written beside it and renamed: another worker may be reading.
    const draft = `${entry}.${process.pid}`;
    writeFileSync(draft, code);
    renameSync(draft, entry);
    return code;
  }
}

function compile(source, filename) {
  const { transformSync } = require('@swc/core');
  return transformSync(source, { filename, swcrc: true, module: { type: 'es6' } }).code;
}
