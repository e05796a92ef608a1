import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const source = fileURLToPath(new URL('../../src', import.meta.url));

/** The files that start programs, and what they start. Each has one place that does it. */
const STARTERS = [
  // The parser of documents: the service's own code.
  'attach/parser/document-parser.ts',
  // LibreOffice where the operator has it, with limits, for one document in a folder of its own.
  'attach/parser/office-program.ts',
  // The program tesseract, which gets images on its input and none of this process's environment.
  'attach/recognition/text-recognition.ts',
  // pg_dump and pg_restore, for the command that backs up.
  'backup/postgres.programs.ts',
  // The simulator of the demo: the service's own code.
  'demo/demo.simulator.ts',
  // Commands of the coding harness, in bwrap and nowhere else.
  'harness/sandbox/bubblewrap.ts',
  // ripgrep.
  'harness/tool/reading/file-search.ts',
];

function sources(): { path: string; text: string }[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'))
    .map((path) => ({ path, text: readFileSync(join(source, path), 'utf8') }));
}

/** Where the pattern occurs, once for each time. */
function occurrences(pattern: RegExp): string[] {
  return sources()
    .flatMap(({ path, text }) => [...text.matchAll(pattern)].map(() => path))
    .sort();
}

// S14: a second way to start a command would be one around the sandbox.
describe('programs', () => {
  it('are started by few files, and by each in one place', () => {
    expect([...new Set(occurrences(/child_process/g))]).toEqual(STARTERS);
    const calls = /(?<![\w.])(?:spawn|fork|exec|execFile|spawnSync|execSync|execFileSync)\(/g;
    expect(occurrences(calls)).toEqual(STARTERS);
  });

  it('are started through no other module', () => {
    const modules =
      /process\.binding|process\.dlopen|node-pty|execa|cross-spawn|node:cluster|shelljs/g;
    expect(occurrences(modules)).toEqual([]);
    expect(occurrences(/shell: true/g)).toEqual([]);
  });

  it('are never a shell of the service, only one inside bwrap', () => {
    expect(
      occurrences(/\/bin\/(?:ba)?sh\b/g).filter((path) => !path.startsWith('harness/sandbox/')),
    ).toEqual([]);
    expect(occurrences(/new Bubblewrap\(/g)).toEqual(['harness/sandbox/sandbox.run.ts']);
    expect(occurrences(/'\/usr\/bin\/bwrap'/g)).toEqual(['harness/sandbox/bubblewrap.ts']);
  });
});
