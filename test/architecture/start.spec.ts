import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Imports and exports of values; those of types and dynamic imports load nothing at the start. */
const STATIC_IMPORT = /^(?:import|export)(?! type\b)(?:[^;'"]*? from)? '([^']+)';/gm;

/** LangChain costs some 100 MB and a second, and only agents with tools need it (docs/AGENTS.md, LangChain parts). */
const LANGCHAIN = /^(@langchain\/|langchain(\/|$))/;

/** The files that a process loads with the entry file, each with its imports of packages. */
function filesLoadedBy(entry: string): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, readonly string[]>();
  const open = [join(root, entry)];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    // Texts of the demo hold imports of files that do not exist.
    if (files.has(file) || !existsSync(file)) continue;
    const text = readFileSync(file, 'utf8');
    const imports = [...text.matchAll(STATIC_IMPORT)].flatMap(([, specifier]) => specifier ?? []);
    files.set(
      file,
      imports.filter((specifier) => !specifier.startsWith('.')),
    );
    for (const specifier of imports) {
      if (!specifier.startsWith('.')) continue;
      open.push(join(dirname(file), specifier.replace(/\.js$/, '.ts')));
    }
  }
  return files;
}

describe('the start of a process', () => {
  it.each(['src/run.ts', 'src/app.module.ts'])('loads no module of LangChain with %s', (entry) => {
    const files = [...filesLoadedBy(entry)];
    const loading = files.filter(([, imports]) => imports.some((name) => LANGCHAIN.test(name)));
    expect(loading.map(([file]) => relative(root, file))).toEqual([]);
    expect(files.length).toBeGreaterThan(500);
  });

  it('would load it with the tools of LangChain', () => {
    const packages = [...filesLoadedBy('src/agent/runtime/tool-loop.ts').values()].flat();
    expect(packages.some((name) => LANGCHAIN.test(name))).toBe(true);
  });
});
