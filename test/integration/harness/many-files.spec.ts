import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChangedRuns, shell } from '../../support/changed-runs.js';
import type { ChangedFile } from '../../support/changed-runs.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';

const FILES = 30_000;
const PAGE = 500;

let harness: Harness;
let run: RunView;

beforeAll(async () => {
  harness = await startHarness({ files: { 'README.md': 'A project.\n' } });
  const runs = new ChangedRuns(harness);
  const session = await runs.session();
  const command = `mkdir made && cd made && for i in $(seq -w ${FILES}); do echo $i > f$i; done`;
  run = await runs.ran(session, [shell(command)]);
}, 600_000);

afterAll(() => harness.stop());

interface FilesAnswer {
  readonly data: readonly ChangedFile[];
  readonly total: number;
  readonly more: boolean;
}

interface Diff {
  readonly text?: string;
  readonly files?: readonly { readonly path: string; readonly diff: string }[];
  readonly total: number;
  readonly more: boolean;
  readonly truncated: boolean;
  readonly notice: string | null;
  readonly additions: number;
  readonly etag: string;
}

interface Report {
  readonly files: readonly { readonly path: string }[];
  readonly fileCount: number;
  readonly moreFiles: boolean;
}

async function get<Answer>(below: string): Promise<Answer> {
  const { text } = await harness.session.raw('GET', harness.path(run, below));
  return JSON.parse(text) as Answer;
}

const filesAt = (query = ''): Promise<FilesAnswer> => get(`/files${query}`);
const reportAt = async (query = ''): Promise<Report> =>
  (await get<{ readonly data: Report }>(`/report${query}`)).data;
const diffAt = async (query: string): Promise<Diff> =>
  (await get<{ readonly data: Diff }>(`/diff${query}`)).data;

const nameOf = (index: number): string => `made/f${String(index + 1).padStart(5, '0')}`;

describe('a run whose command changes 30,000 files', () => {
  it('has events of the first 500, and totals of all', async () => {
    expect(run.status).toBe('COMPLETED');
    const events = await harness.events(run);
    expect(events.filter(({ type }) => type === 'file.changed')).toHaveLength(500);
    expect(events.find(({ type }) => type === 'run.diff')?.data).toMatchObject({ files: FILES });
  });

  it('has its files in pages, all of them once, in order', async () => {
    const first = await filesAt();
    const untracked = expect.arrayContaining(['node_modules', 'dist', 'build', 'target']);
    expect(first).toMatchObject({ total: FILES, more: true, untracked });
    expect(first.data).toHaveLength(PAGE);
    expect(first.data[0]).toMatchObject({ path: nameOf(0), undoable: true });
    const second = await filesAt('?pageNum=2&pageSize=1000');
    expect(second.data.map(({ path }) => path)).toEqual(
      Array.from({ length: 1_000 }, (_, index) => nameOf(1_000 + index)),
    );
    const last = await filesAt('?pageNum=30&pageSize=1000');
    expect(last).toMatchObject({ total: FILES, more: false });
    expect(last.data.at(-1)?.path).toBe(nameOf(FILES - 1));
    const behind = await filesAt('?pageNum=31&pageSize=1000');
    expect(behind).toMatchObject({ data: [], more: false });
    const path = harness.path(run, '/files?pageSize=1001');
    expect(await harness.session.get(path)).toMatchObject({ code: 400 });
  });

  it('has its diff in pages, with a notice of what is left out and the totals of all', async () => {
    const { files, notice, ...first } = await diffAt('?format=json');
    expect(first).toMatchObject({ total: FILES, more: true, truncated: true });
    expect(files?.map(({ path }) => path)).toEqual(
      Array.from({ length: PAGE }, (_, index) => nameOf(index)),
    );
    expect(files?.[0]?.diff).toContain('+00001\n');
    expect(notice).toContain('500 of 30000 changed files');
    const next = await diffAt('?pageNum=2');
    expect(next.text).toContain('+00501\n');
    expect(next).toMatchObject({ additions: first.additions, etag: first.etag });
    const one = await diffAt(`?path=${nameOf(10_000)}`);
    expect(one).toMatchObject({
      ...{ total: 1, more: false, truncated: false, notice: null },
      text: expect.stringContaining('+10001\n'),
    });
  });

  it('has a report with a page of its files', async () => {
    const answer = await reportAt();
    expect(answer).toMatchObject({ fileCount: FILES, moreFiles: true });
    expect(answer.files).toHaveLength(PAGE);
    const next = await reportAt('?pageNum=60&pageSize=500');
    expect(next.files.at(-1)?.path).toBe(nameOf(FILES - 1));
    expect(next.moreFiles).toBe(false);
    const markdown = await harness.session.raw('GET', harness.path(run, '/report?format=markdown'));
    expect(markdown.text).toContain('These are 500 of 30000 files.');
  });
});
