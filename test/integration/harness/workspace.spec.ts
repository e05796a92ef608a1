import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CODER, freshKey, startHarness } from '../../support/harness.js';
import type { Harness, SessionView } from '../../support/harness.js';
import {
  checkOutside,
  layOutside,
  OUTSIDE_TEXT,
  pathAttacks,
  SECRET_TEXT,
} from '../../support/path-attacks.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Answer, Session } from '../../support/session.js';

const SESSIONS = '/coding/harness/sessions';
const OTHER = '400001';
const READING = ['read_file', 'list_files', 'search_text', 'glob_files'] as const;

let harness: Harness;
let other: Session;
let otherId: number;
let theirs: string;

beforeAll(async () => {
  harness = await startHarness();
  const tenant = await makeTenant(harness.plinth, harness.session, OTHER);
  other = tenant.admin;
  otherId = tenant.id;
  theirs = join(harness.plinth.dataDir, 'workspaces', OTHER);
  mkdirSync(join(theirs, 'project'), { recursive: true });
});

afterAll(() => harness.stop());

beforeEach(() => harness.simulator.reset());

function create(
  workspacePath: string | undefined,
  by: Session = harness.session,
): Promise<Answer<SessionView>> {
  return by.post<SessionView>(SESSIONS, {
    model: CODER,
    permissionMode: 'READ_ONLY',
    title: 'Example',
    idempotencyKey: freshKey(),
    workspacePath,
  });
}

/** What a client learns of a refusal. */
async function refusal(
  workspacePath: string,
  by: Session = harness.session,
): Promise<[number, unknown]> {
  const { code, data } = await create(workspacePath, by);
  return [code, (data as { errorCode?: unknown } | null)?.errorCode];
}

/** Runs calls of different tools, all in one message, and answers the tool messages in the order of the calls. */
async function called(
  session: SessionView,
  calls: readonly { name: string; arguments: Record<string, string> }[],
): Promise<Record<string, unknown>[]> {
  harness.script({ toolCalls: [...calls] }, { text: 'Done.' });
  const run = await harness.createRun(session.sessionId);
  expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
  const messages = (await harness.messages(run)).filter(
    ({ runId, role }) => runId === run.runId && role === 'TOOL',
  );
  // Reads run side by side.
  return calls.flatMap(({ name }) => messages.filter(({ toolName }) => toolName === name));
}

describe('the workspace of a session', () => {
  it('is a folder below a root of the tenant, told without links', async () => {
    symlinkSync(harness.workspace, join(harness.root, 'alias'));
    for (const path of [harness.workspace, 'example', 'alias', './example/']) {
      expect(done(await create(path)).data['workspace']).toBe(harness.workspace);
    }
    expect(done(await create(undefined)).data['workspace']).toBe(harness.root);
  });

  it('is not found elsewhere, whatever is there', async () => {
    writeFileSync(join(harness.root, 'file'), '');
    symlinkSync('/etc', join(harness.root, 'etc'));
    const paths = ['nothing', '..', '/', '/etc', 'etc', 'file', theirs, `${harness.root}-evil`];
    for (const path of paths) {
      expect(await refusal(path)).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    }
  });

  it('is refused to a tenant without a root, with the variable to set', async () => {
    const { code, msg, data } = await create(harness.workspace, other);
    expect([code, data]).toEqual([400, { errorCode: 'WORKSPACE_NOT_ALLOWED' }]);
    expect(msg).toContain('HARNESS_ROOTS');
  });

  it('is refused where settings or secrets lie', async () => {
    mkdirSync(join(harness.workspace, '.git'), { recursive: true });
    expect(await refusal('example/.git')).toEqual([400, 'WORKSPACE_NOT_ALLOWED']);
    rmSync(join(harness.workspace, '.git'), { recursive: true });
  });

  it('is gone for a run when it was replaced meanwhile', async () => {
    mkdirSync(join(harness.root, 'moving'));
    const session = done(await create('moving')).data;
    renameSync(join(harness.root, 'moving'), join(harness.root, 'moved'));
    mkdirSync(join(harness.root, 'moving'));
    harness.script({ text: 'Never asked.' });

    const run = await harness.createRun(session.sessionId);

    expect(await harness.ended(run)).toMatchObject({
      status: 'FAILED',
      stopReason: 'WORKSPACE_GONE',
    });
  });

  it('goes with its tenant where it lies in the data', async () => {
    expect(existsSync(theirs)).toBe(true);
    done(await harness.session.delete(`/system/tenant/${otherId}`));
    expect(existsSync(theirs)).toBe(false);
    expect(existsSync(harness.workspace)).toBe(true);
  });
});

describe('the list of workspaces', () => {
  interface WorkspaceView {
    readonly path: string;
    readonly name: string;
    readonly root: string;
    readonly kind: string;
  }
  const WORKSPACES = '/coding/harness/workspaces';

  it('has the roots and the folders in them, for each of which a session can be made', async () => {
    const listed = join(harness.root, 'listed');
    for (const name of ['b', 'a', '.git', '.ssh']) {
      mkdirSync(join(harness.root, name), { recursive: true });
    }
    mkdirSync(join(listed, 'deep'), { recursive: true });
    writeFileSync(join(harness.root, 'file.txt'), '');
    symlinkSync('/etc', join(harness.root, 'outside'));

    const { data, more } = done(await harness.session.get<WorkspaceView[]>(WORKSPACES)) as {
      readonly data: WorkspaceView[];
      readonly more?: unknown;
    };

    const { root } = harness;
    expect(data[0]).toEqual({ path: root, name: '', root, kind: 'ROOT' });
    const names = data.slice(1).map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining(['a', 'b', 'example', 'listed']));
    for (const name of ['.git', 'file.txt', 'outside', 'deep']) expect(names).not.toContain(name);
    expect(data[1]).toEqual({ path: join(root, 'a'), name: 'a', root, kind: 'FOLDER' });
    expect(more).toBe(false);
    for (const { path } of data) done(await create(path));
  });

  it('is empty for a tenant without a root, and needs the permission', async () => {
    const { admin } = await makeTenant(harness.plinth, harness.session, '400002');
    expect(done(await admin.get<WorkspaceView[]>(WORKSPACES)).data).toEqual([]);
    const none = await makeRole(harness.session, 'without-harness', ['system:dict:list']);
    const person = await makeUser(harness.plinth, harness.session, 'without-harness', [none]);
    expect(await person.session.get(WORKSPACES)).toMatchObject({ code: 403 });
  });
});

describe('a read-only run', () => {
  it('gets nothing of the outside and of secrets out of any reading tool, by no path', async () => {
    const place = join(harness.root, 'attacked');
    const outside = join(place, 'outside');
    const session = async (): Promise<SessionView> =>
      done(await create(join(place, 'workspace'))).data;
    const attacks = pathAttacks.filter(
      ({ name, read }) => read.length > 0 && !name.includes('hard'),
    );
    for (const attack of attacks.filter((_, index) => index % 2 === 0)) {
      rmSync(place, { recursive: true, force: true });
      mkdirSync(join(place, 'workspace'), { recursive: true });
      layOutside(outside);
      attack.prepare(join(place, 'workspace'), outside);
      const path = attack.path(join(place, 'workspace'), outside);
      const calls = READING.map((name) => ({ name, arguments: argumentsOf(name, path) }));

      const messages = await called(await session(), calls);

      expect(messages).toHaveLength(calls.length);
      expect(messages[0]).toMatchObject({ toolName: 'read_file', toolError: true });
      expect(JSON.stringify(messages)).not.toContain(OUTSIDE_TEXT);
      expect(JSON.stringify(messages)).not.toContain(SECRET_TEXT);
      checkOutside(outside);
    }
  });

  it('is denied a secret file, by its name and by a link to it', async () => {
    harness.write({ '.env': SECRET_TEXT, '.ENV': SECRET_TEXT, '.env.example': 'TOKEN=' });
    symlinkSync('.env', join(harness.workspace, 'notes.txt'));
    const paths = ['.env', '.ENV', 'notes.txt', '.env.example'];
    const messages: Record<string, unknown>[] = [];
    for (const path of paths) {
      messages.push(
        ...(await called(await session(), [{ name: 'read_file', arguments: { path } }])),
      );
    }

    expect(messages.map(({ toolError }) => toolError)).toEqual([true, true, true, false]);
    expect(codesOf(messages)).toEqual(['SECRET_PATH', 'SECRET_PATH', 'SECRET_PATH', undefined]);
    expect(JSON.stringify(messages)).not.toContain(SECRET_TEXT);
  });

  it('reads, lists, finds and searches', async () => {
    harness.write({ 'src/deep/found.ts': 'const needle = 1;\n' });
    const [read, list, search, glob] = await called(await session(), [
      { name: 'read_file', arguments: { path: 'src/deep/found.ts' } },
      { name: 'list_files', arguments: { path: 'src/deep' } },
      { name: 'search_text', arguments: { pattern: 'needle' } },
      { name: 'glob_files', arguments: { pattern: '**/found.*' } },
    ]);
    expect(read?.['content']).toContain('1\tconst needle = 1;');
    expect(list?.['content']).toContain('src/deep/found.ts (18 bytes)');
    expect(search?.['content']).toContain('1: const needle = 1;');
    expect(glob?.['content']).toContain('src/deep/found.ts');
  });

  async function session(): Promise<SessionView> {
    return done(await create(harness.workspace)).data;
  }
});

function argumentsOf(name: (typeof READING)[number], path: string): Record<string, string> {
  switch (name) {
    case 'search_text':
      return { pattern: 'T', path };
    case 'glob_files':
      return { pattern: '**/*', path };
    default:
      return { path };
  }
}

function codesOf(messages: readonly Record<string, unknown>[]): unknown[] {
  return messages.map(({ metadata }) => (metadata as { code?: unknown } | undefined)?.code);
}
