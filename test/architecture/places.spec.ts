import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { notTested, places } from '../places.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of the repository without sources of its own. */
const FOREIGN = ['node_modules', 'dist', '.git', '.plinth', 'data', 'coverage'];

function suitesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return FOREIGN.includes(entry.name) ? [] : suitesBelow(path);
    return /\.(spec|test)\.[cm]?[jt]sx?$/.test(entry.name) ? [relative(root, path)] : [];
  });
}

/** What the list of durations calls a suite: one that repeats is in it twice. */
function labelsOf(path: string): string[] {
  return places
    .filter(({ folders }) => folders.some((folder) => path.startsWith(`${folder}/`)))
    .flatMap(({ name, repeat }) => [
      `${name}: ${path}`,
      ...(repeat ? [`${name}, embedded: ${path}`] : []),
    ]);
}

describe('every suite', () => {
  const folders = places.flatMap((place) => place.folders);
  const suites = suitesBelow(root).filter(
    (path) => !notTested.some((folder) => path.startsWith(`${folder}/`)),
  );

  it('is found', () => {
    expect(suites).toContain('test/architecture/places.spec.ts');
    expect(suites.length).toBeGreaterThan(200);
  });

  it('belongs to one place', () => {
    const placesOf = (path: string): string[] =>
      folders.filter((folder) => path.startsWith(`${folder}/`));

    expect(suites.filter((path) => placesOf(path).length !== 1)).toEqual([]);
  });

  it('is there that the list of durations names', () => {
    const file = fileURLToPath(new URL('../runner/durations.json', import.meta.url));
    const named = Object.keys(JSON.parse(readFileSync(file, 'utf8')) as object);
    const known = new Set(suites.flatMap(labelsOf));

    expect(named.filter((label) => !known.has(label))).toEqual([]);
    expect(named.length).toBeGreaterThan(20);
  });

  it('has the ending that the runs look for', () => {
    expect(suites.filter((path) => !path.endsWith('.spec.ts'))).toEqual([]);
  });
});

it('a run says which of its paths no suite has', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-counts-'));
  const file = join(folder, 'totals');
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  try {
    execFileSync(process.execPath, [jest, 'src/platform/http/icon.spec.ts', 'no/such/path'], {
      cwd: root,
      env: { ...process.env, PLINTH_TEST_COUNTS: file },
      stdio: 'ignore',
    });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      failed: 0,
      unmatched: ['no/such/path'],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
