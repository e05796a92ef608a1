import { describe, expect, it } from '@jest/globals';
import { commandGrant, pathGrants } from './policy.js';
import { Grants, subjectHash } from '../../effect/index.js';
import { sha256 } from './values.js';

const before = { sha256: sha256('old'), size: 3, mode: 0o644 };
const asked = {
  toolName: 'edit_file',
  input: { path: 'src/a.ts', oldText: 'a', newText: 'b' },
  operations: [{ path: 'src/a.ts', before }],
};

describe('the hash of what is asked', () => {
  it('does not depend on the order of keys and files', () => {
    const { path, oldText, newText } = asked.input;
    expect(subjectHash({ ...asked, input: { newText, path, oldText } })).toBe(subjectHash(asked));
    const two = [...asked.operations, { path: 'b', before: null }];
    expect(subjectHash({ ...asked, operations: two })).toBe(
      subjectHash({ ...asked, operations: two.toReversed() }),
    );
  });

  it.each([
    ['another tool', { toolName: 'write_file' }],
    ['another input', { input: { ...asked.input, newText: 'c' } }],
    ['one more field', { input: { ...asked.input, replaceAll: true } }],
    ['another file', { operations: [{ path: 'src/b.ts', before }] }],
    [
      'other content',
      { operations: [{ path: 'src/a.ts', before: { ...before, sha256: sha256('x') } }] },
    ],
    ['a file that has gone', { operations: [{ path: 'src/a.ts', before: null }] }],
    ['no files', { operations: [] }],
  ])('is another one for %s', (_, over) => {
    expect(subjectHash({ ...asked, ...over })).not.toBe(subjectHash(asked));
    expect(subjectHash({ ...asked, ...over })).toMatch(/^[\da-f]{64}$/);
  });
});

describe('a consent for the session', () => {
  const file = { protection: 'NONE', secret: false, destructive: false } as const;

  it('grants the paths that are not allowed yet', () => {
    expect(
      pathGrants([
        { ...file, path: 'a', planned: true, granted: false },
        { ...file, path: 'b', planned: false, granted: true },
        { ...file, path: 'c', planned: false, granted: false },
      ]),
    ).toEqual([{ kind: 'PATH', subject: 'c' }]);
  });

  it.each([
    'npm test && rm -rf /',
    'npm test; id',
    'npm test > /tmp/x',
    'npm test $(id)',
    'npm  test',
    ' npm test',
    'npm test\n',
    'npm test -- --x',
    'npm tes',
    '$[ a[$(id)] ]',
    '${x@P}',
    '${x:=y}',
    '${!x}',
    'export PATH=/tmp; npm test',
  ])('never reaches another command: %j', (command) => {
    const { kind, subject } = commandGrant('npm test');
    const grants = new Grants([{ kind, subjectHash: sha256(subject) }]);
    expect(grants.command('npm test')).toBe(true);
    expect(grants.command(command)).toBe(false);
    expect(grants.path('npm test')).toBe(false);
  });

  it('holds for the very path', () => {
    const grants = new Grants([{ kind: 'PATH', subjectHash: sha256('src/a.ts') }]);
    expect(
      ['src/a.ts', 'src', 'src/a.ts.bak', 'SRC/a.ts'].map((path) => grants.path(path)),
    ).toEqual([true, false, false, false]);
    expect(grants.command('src/a.ts')).toBe(false);
  });
});
