import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { docxOf, zipOf } from '../../../test/support/documents/office.js';
import { isSkipped, loadFolder } from './folder.loader.js';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'plinth-folder-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
}

/** What was found, and with its reason what was not. */
async function loaded(limitBytes = 1_000, limitName = 50, recognition = false): Promise<string[]> {
  const lines: string[] = [];
  for await (const entry of loadFolder(root, { limitBytes, limitName, recognition })) {
    lines.push(isSkipped(entry) ? `${entry.name} - ${entry.skipped}` : entry.name);
  }
  return lines;
}

describe('loadFolder', () => {
  it('finds texts at every level, in an order that does not depend on the system', async () => {
    write({ 'b.md': '# b', 'a/z.txt': 'z', 'a/B.txt': 'B', 'a-b.txt': '-', 'ä.txt': 'ä' });

    expect(await loaded()).toEqual(['a/B.txt', 'a/z.txt', 'a-b.txt', 'b.md', 'ä.txt']);
  });

  it('says path and size of a file', async () => {
    write({ 'docs/a.txt': 'äö' });
    const entries = [];
    for await (const entry of loadFolder(root, { limitBytes: 10, limitName: 10 })) {
      entries.push(entry);
    }

    expect(entries).toEqual([{ name: 'docs/a.txt', path: join(root, 'docs/a.txt'), size: 4 }]);
  });

  it('leaves out what nobody wants, wherever it lies, without looking into it', async () => {
    write({
      '.git/config': 'x',
      'web/node_modules/a/readme.md': 'x',
      'web/dist/index.html': 'x',
      'web/src/build': 'a script',
      '.github/workflow.yaml': 'on: push',
    });

    expect(await loaded()).toEqual([
      '.git/ - left out always',
      '.github/workflow.yaml',
      'web/dist/ - left out always',
      'web/node_modules/ - left out always',
      'web/src/build',
    ]);
  });

  it('respects ignore files at every level, the deeper and .ignore being stronger', async () => {
    write({
      '.gitignore': '*.log\n/secret/\ndrafts/*\n!drafts/keep.md\n',
      '.ignore': '!important.log\n',
      'a.log': 'x',
      'important.log': 'x',
      'secret/plan.md': 'x',
      'other/secret/plan.md': 'x',
      'drafts/one.md': 'x',
      'drafts/keep.md': 'x',
      'deep/.gitignore': '!wanted.log\n/local.md\n',
      'deep/wanted.log': 'x',
      'deep/local.md': 'x',
      'deep/er/local.md': 'x',
      'deep/er/b.log': 'x',
    });
    const found = (await loaded()).filter((line) => !line.endsWith(' - left out always'));

    expect(found).toEqual([
      'a.log - ignored',
      'deep/er/b.log - ignored',
      'deep/er/local.md',
      'deep/local.md - ignored',
      'deep/wanted.log',
      'drafts/keep.md',
      'drafts/one.md - ignored',
      'important.log',
      'other/secret/plan.md',
      'secret/ - ignored',
    ]);
  });

  it('takes documents and texts of any encoding by their content, and no binaries', async () => {
    write({
      'a.pdf': '%PDF-1.7 …',
      'b.docx': Buffer.from('504b0304140006', 'hex'),
      'c.zip': Buffer.from('504b0304140006', 'hex'),
      'd.txt': Buffer.from('\ufeffzwölf', 'utf16le'),
      'e.txt': Buffer.from('d6d0b9facac7d2bbb8f6b9fabcd2a1a3', 'hex'),
      'f.png': Buffer.from('89504e470d0a1a0a0000', 'hex'),
      'g.txt': Buffer.from([0, 1, 2, 3, 0, 255, 254, 7, 0, 1]),
      'h.bin': 'a text by content',
    });

    expect(await loaded()).toEqual([
      'a.pdf',
      'b.docx',
      'c.zip - binary',
      'd.txt',
      'e.txt',
      'f.png - binary',
      'g.txt - binary',
      'h.bin',
    ]);
    expect(await loaded(1_000, 50, true)).toContain('f.png');
  });

  it('takes Office documents by what is inside, whatever their name', async () => {
    write({
      'a.bin': docxOf([{ paragraph: 'I am a letter.' }]),
      'b.docx': zipOf({ 'notes.txt': 'I am an archive.' }),
    });

    expect(await loaded(10_000)).toEqual(['a.bin', 'b.docx - binary']);
  });

  it('does not follow symbolic links, and skips what is empty, too large or named too long', async () => {
    write({
      'a.txt': 'a',
      'empty.txt': '',
      'large.txt': 'x'.repeat(11),
      'limit.txt': 'x'.repeat(10),
    });
    write({ [`${'n'.repeat(21)}.txt`]: 'x' });
    symlinkSync(join(root, 'a.txt'), join(root, 'link.txt'));
    symlinkSync(root, join(root, 'loop'));

    expect(await loaded(10, 24)).toEqual([
      'a.txt',
      'empty.txt - empty',
      'large.txt - too large',
      'limit.txt',
      'link.txt - symbolic link',
      'loop - symbolic link',
      `${'n'.repeat(21)}.txt - name too long`,
    ]);
  });

  it('fails when the folder itself is not there', async () => {
    rmSync(root, { recursive: true });
    await expect(loaded()).rejects.toThrow('ENOENT');
  });
});
