import { describe, expect, it } from '@jest/globals';
import { planImport, importReport, planReport } from './folder-import.js';
import type { DigestedFile, ExistingDocument } from './folder-import.js';

const file = (name: string, sha256: string): DigestedFile => ({
  name,
  path: `/folder/${name}`,
  size: 1,
  sha256,
});
const held = (id: number, name: string, fileHash: string): ExistingDocument => ({
  id,
  name,
  fileHash,
  status: 2,
  metadata: {},
  remark: null,
});

/** Names of what is stored, and ids of what goes. */
function planned(files: DigestedFile[], documents: ExistingDocument[]): [string[], number[]] {
  const { toStore, outdated } = planImport(files, documents);
  return [toStore.map(({ name }) => name), outdated.map(({ document }) => document.id)];
}

describe('planImport', () => {
  it('stores what is new, replaces what has changed, and leaves the rest alone', () => {
    const documents = [held(1, 'a', 'A'), held(2, 'b', 'B'), held(3, 'gone', 'G')];
    const files = [file('a', 'A'), file('b', 'B2'), file('c', 'C')];

    expect(planned(files, documents)).toEqual([['b', 'c'], [2]]);
    expect(planImport(files, documents).unchanged).toEqual([documents[0]]);
  });

  it('knows a file that was moved by its content', () => {
    expect(planned([file('new/a', 'A')], [held(1, 'old/a', 'A')])).toEqual([[], []]);
  });

  it('takes a content once, by its first name', () => {
    const plan = planImport([file('a', 'A'), file('b', 'A')], []);

    expect(plan.toStore.map(({ name }) => name)).toEqual(['a']);
    expect(plan.skipped).toEqual([{ name: 'b', skipped: 'same content' }]);
  });

  it('never deletes a content that the folder still has, though its name has a new one', () => {
    const documents = [held(1, 'a', 'A'), held(2, 'b', 'B')];

    expect(planned([file('a', 'B'), file('b', 'A')], documents)).toEqual([[], []]);
    expect(planned([file('a', 'A2'), file('b', 'A')], documents)).toEqual([['a'], [2]]);
  });

  it('finishes a replacement that was broken off', () => {
    const documents = [held(1, 'a', 'A'), held(2, 'a', 'A2')];

    expect(planned([file('a', 'A2')], documents)).toEqual([[], [1]]);
  });
});

describe('the report of an import', () => {
  const skippedFiles = Array.from({ length: 12 }, (_, n) => ({
    name: `${n}.png`,
    skipped: 'binary' as const,
  }));
  const plan = planImport(
    [
      { name: '.git/', skipped: 'left out always' },
      file('a', 'A2'),
      file('b', 'B'),
      ...skippedFiles,
    ],
    [held(1, 'a', 'A')],
  );
  const skipped = [
    '  skipped, left out always (1): .git/',
    '  skipped, binary (12): 0.png, 1.png, 2.png, 3.png, 4.png, 5.png, 6.png, 7.png, 8.png, 9.png and 2 more',
  ];

  it('says what would be done', () => {
    expect(planReport(plan).split('\n')).toEqual([
      'Would store 1 new and 1 changed files, 0 unchanged.',
      '  changed: a',
      '  new: b',
      ...skipped,
    ]);
  });

  it('says what was done, and why something failed', () => {
    const failed = [{ name: 'b', reason: 'The document holds no text.' }];

    expect(importReport(plan, { parsed: 1, failed }).split('\n')).toEqual([
      'Imported 1 new and 1 changed files, 0 unchanged. Parsed: 1, failed: 1.',
      '  failed: b: The document holds no text.',
      ...skipped,
    ]);
  });
});
