import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import type { Caller } from '../../../src/platform/access/index.js';
import { FolderImport } from '../../../src/attach/index.js';
import { UserCallers } from '../../../src/identity/index.js';
import { KnowledgeService } from '../../../src/knowledge/index.js';
import { attachmentsOf, createKnowledge, fragmentsOf, PARSED } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const MODEL = 'sim-embed-64';

describe('the import of a folder', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let caller: Caller;
  let folder: string;
  let knowledgeId: number;
  let bases = 0;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({ UPLOAD_LIMIT_MB: '1' });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    await createModel(admin, {
      category: 'vector',
      modelName: MODEL,
      modelDimension: 64,
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
    });
    const found = await plinth.app.get(UserCallers).named('admin', '000000', '000000');
    if (!found) throw new Error('There is no admin.');
    caller = found;
  });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
    bases += 1;
    knowledgeId = await createKnowledge(admin, { name: `Import ${bases}`, embeddingModel: MODEL });
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  function write(files: Record<string, string>): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
  }

  /** One run of the command's steps. */
  async function runImport(
    as: Caller = caller,
    signal = new AbortController().signal,
  ): Promise<{ stored: string[]; unchanged: string[]; skipped: string[]; failed: string[] }> {
    const knowledge = await plinth.app.get(KnowledgeService).writable(as, knowledgeId);
    const folders = plinth.app.get(FolderImport);
    const run = { caller: as, knowledge, signal, report: () => undefined };
    const plan = await folders.plan(run, folder);
    const { failed } = await folders.run(run, plan);
    return {
      stored: plan.toStore.map(({ name }) => name),
      unchanged: plan.unchanged.map(({ name }) => name).sort(),
      skipped: plan.skipped.map(({ name, skipped }) => `${name} - ${skipped}`),
      failed: failed.map(({ name, reason }) => `${name}: ${reason}`),
    };
  }

  it('makes every file a parsed document named by its path, and tells what it left out', async () => {
    write({
      'README.md': '# Harbour\n\nThe harbour opens at six.',
      'guide/tides.txt': 'High tide is at noon.',
      'guide/.gitignore': '*.tmp\n',
      'guide/notes.tmp': 'not this',
      'src/tide.ts': 'export function tide(): number {\n  return 12;\n}\n',
      'copy.txt': 'High tide is at noon.',
      'large.txt': 'x'.repeat(2 ** 20 + 1),
    });

    expect(await runImport()).toEqual({
      stored: ['README.md', 'copy.txt', 'src/tide.ts'],
      unchanged: [],
      skipped: [
        'guide/.gitignore - left out always',
        'guide/notes.tmp - ignored',
        'large.txt - too large',
        'guide/tides.txt - same content',
      ],
      failed: [],
    });
    const rows = await attachmentsOf(admin, knowledgeId);
    expect(rows.map(({ name, status }) => [name, status]).sort()).toEqual([
      ['README.md', PARSED],
      ['copy.txt', PARSED],
      ['src/tide.ts', PARSED],
    ]);
    const tide = rows.find(({ name }) => name === 'src/tide.ts');
    expect((await fragmentsOf(admin, tide?.docId ?? ''))[0]?.content).toContain('function tide()');
    const file = await admin.raw('GET', `/system/attach/${tide?.id ?? 0}/content`);
    expect(file.text).toContain('return 12;');
    expect(file.headers['content-disposition']).toContain('tide.ts');
  });

  it('leaves unchanged files alone, and replaces a changed one with all it had', async () => {
    write({ 'a.txt': 'The first version.', 'b.txt': 'This one stays.' });
    await runImport();
    const before = await attachmentsOf(admin, knowledgeId);
    const changed = before.find(({ name }) => name === 'a.txt');
    const metadata = { department: 'sales' };
    done(await admin.put(`/system/attach/${changed?.id}/metadata`, { metadata }));
    write({ 'a.txt': 'The second version.' });

    expect(await runImport()).toMatchObject({ stored: ['a.txt'], unchanged: ['b.txt'] });
    const after = await attachmentsOf(admin, knowledgeId);
    expect(after.map(({ name }) => name).sort()).toEqual(['a.txt', 'b.txt']);
    const idOf = (rows: typeof after, name: string): number =>
      rows.find((row) => row.name === name)?.id ?? 0;
    expect(idOf(after, 'b.txt')).toBe(idOf(before, 'b.txt'));
    expect(idOf(after, 'a.txt')).not.toBe(idOf(before, 'a.txt'));
    expect(await fragmentsOf(admin, changed?.docId ?? '')).toEqual([]);
    expect(after.find(({ name }) => name === 'a.txt')).toMatchObject({ metadata });

    expect(await runImport()).toMatchObject({ stored: [], unchanged: ['a.txt', 'b.txt'] });
  });

  it('says why a file failed, and tries it again in the next run', async () => {
    write({ 'blank.md': '   \n\n', 'a.txt': 'Words.' });
    const failed = ['blank.md: The document holds no text. Upload one that does.'];

    expect(await runImport()).toMatchObject({ stored: ['a.txt', 'blank.md'], failed });
    expect(await runImport()).toMatchObject({ stored: [], failed });
  });

  it('is refused to a user who may not change documents, and stores nothing', async () => {
    write({ 'a.txt': 'Words.' });
    const reader = { ...caller, permissions: new Set(['system:attach:list']) };

    await expect(runImport(reader)).rejects.toThrow('You are not allowed to do this.');
    expect(await attachmentsOf(admin, knowledgeId)).toEqual([]);
  });

  it('ends when it is interrupted', async () => {
    write({ 'a.txt': 'Words.' });

    await expect(runImport(caller, AbortSignal.abort())).rejects.toThrow('aborted');
    expect(await attachmentsOf(admin, knowledgeId)).toEqual([]);
  });
});
