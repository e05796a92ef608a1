import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { WorkspaceSnapshots } from '../../../src/harness/change/snapshot/workspace.snapshots.js';
import { Sandbox } from '../../../src/harness/sandbox/sandbox.js';
import type { ToolContext, ShellOutcome } from '../../../src/harness/tool/tool.js';
import { SecretMask } from '../../../src/harness/store/secret-mask.js';
import { ShellCommandTool } from '../../../src/harness/tool/shell.tool.js';
import { pendingOf } from '../../support/approvals.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done } from '../../support/people.js';
import { describeSandboxed } from '../../support/sandbox.js';
import { ToolWorkspace } from '../../support/tool-workspace.js';
import { eventually } from '../../support/wait.js';

const describe = await describeSandboxed();

const RUNNER = fileURLToPath(new URL('../../support/sandbox-runner.ts', import.meta.url));
const SHOWN_BYTES = 48 * 1_024;

let harness: Harness;
let tool: ShellCommandTool;

beforeAll(async () => {
  harness = await startHarness();
  tool = harness.plinth.app.get(ShellCommandTool, { strict: false });
  await harness.plinth.app.get(Sandbox, { strict: false }).ready();
});

afterAll(() => harness.stop());

beforeEach(() => harness.simulator.reset());

const COMMIT =
  'git init -q . && git add -A && git -c user.name=a -c user.email=a@example.com commit -qm one';

interface Called extends ShellOutcome {
  readonly files: ToolWorkspace;
  readonly started: (string | undefined)[];
}

interface How {
  readonly files?: Record<string, string>;
  readonly over?: Partial<ToolContext>;
  readonly by?: ShellCommandTool;
  /** Commits the files. */
  readonly commit?: boolean;
  /** Ends the call once the command has made the file. */
  readonly abortAt?: string;
}

/** Calls the tool as a run does, in a workspace of its own with the files. */
async function call(
  input: Record<string, unknown>,
  { files = {}, over = {}, by = tool, commit = false, abortAt }: How = {},
): Promise<Called> {
  const place = await ToolWorkspace.make();
  try {
    for (const [path, content] of Object.entries(files)) place.put(path, content);
    if (commit) execFileSync('bash', ['-c', COMMIT], { cwd: place.root, stdio: 'ignore' });
    const started: (string | undefined)[] = [];
    const aborted = new AbortController();
    const context = place.context({ signal: aborted.signal, ...over });
    const running = by.run(tool.input.parse(input), context, async (digest) => {
      started.push(digest);
    });
    const aborting = async (path: string): Promise<void> => {
      await eventually(() => existsSync(join(place.root, path)), Boolean);
      aborted.abort();
    };
    const [outcome] = await Promise.all([running, abortAt && aborting(abortAt)]);
    return { ...outcome, files: place, started };
  } finally {
    await place.remove();
  }
}

describe('the shell tool', () => {
  it('answers output, exit code and what has changed', async () => {
    const command = 'echo hello; echo more > a.txt; rm b.txt';
    const done = await call({ command }, { files: { 'a.txt': 'x', 'b.txt': 'y' } });
    expect(done).toMatchObject({
      content: 'exit code 0\nhello\n',
      exitCode: 0,
      truncated: false,
    });
    expect(done.failure).toBeUndefined();
    expect(done.whole).toBeUndefined();
    expect(done.summary).toMatch(/^exit code 0 after \d+\.\d s$/);
    expect(done.changes.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'DELETE b.txt',
      'UPDATE a.txt',
    ]);
    expect(done.started).toEqual([expect.stringMatching(/^[\da-f]{64}$/)]);
  });

  it('says what was kept from a command, and what of it was removed', async () => {
    const command = 'cat .env; mkdir -p sub/.vscode; touch sub/.vscode/tasks.json';
    const files = { '.env': 'API_KEY=canary-of-the-test' };
    const { content, summary, changes } = await call({ command }, { files });
    expect(changes).toMatchObject([{ op: 'CREATE', path: 'sub' }]);
    expect(content).toContain('[Secrets are kept from commands: ');
    expect(content).toContain('".env"');
    expect(content).toContain('[Removed, because commands must not make ');
    expect(content).toContain('"sub/.vscode"');
    expect(summary).toMatch(/; 1 protected paths removed$/);
  });

  it('says that what is committed can be read from the history', async () => {
    const command = 'cat .env 2>&1; git -c safe.directory="*" show HEAD:.env';
    const files = { '.env': 'API_KEY=committed-in-the-test\n' };
    const { content } = await call({ command }, { files, commit: true });
    // The file itself is hidden: this is the one that git has.
    expect(content.match(/committed-in-the-test/g)).toHaveLength(1);
    expect(content).toContain('Permission denied');
    expect(content).toContain(
      '[Secrets are kept from commands: these files cannot be read, or are shown without them: ".env". What is committed can be read from the history all the same.]',
    );
  });

  it('masks a secret that lies where long output is cut', async () => {
    const secret = 'sk-cut-in-the-middle-of-it';
    harness.plinth.app.get(SecretMask, { strict: false }).learn([secret]);
    // The head ends and the tail begins somewhere in a long row of them; a step of 7 meets them at every place.
    for (let shift = 0; shift < secret.length; shift += 7) {
      const padding = `head -c ${shift} /dev/zero | tr '\\0' x`;
      const command = `${padding}; yes ${secret} | tr -d '\\n' | head -c ${26 * 4_000}; ${padding}`;
      const { content, truncated } = await call({ command });
      expect(truncated).toBe(true);
      expect(content.length).toBeGreaterThan(10_000);
      expect(content.replaceAll('[secret]', '')).toMatch(
        /^exit code 0\nx*\n\[The output [^\n]+\]\nx*$/,
      );
    }
  });

  it('fails with what a command does, and still says what that has changed', async () => {
    const failed = await call({ command: 'echo x > made; echo broken >&2; exit 3' });
    expect(failed).toMatchObject({ failure: 'COMMAND_FAILED', exitCode: 3 });
    expect(failed.content).toBe('exit code 3\nbroken\n');
    expect(failed.changes).toMatchObject([{ op: 'CREATE', path: 'made' }]);
    const late = await call({ command: 'echo x > made; sleep 30', timeoutMs: 5_000 });
    expect(late).toMatchObject({ failure: 'TIMED_OUT', exitCode: null });
    expect(late.content).toBe('timed out: ended after 5000 ms\n[No output.]');
    expect(late.changes).toHaveLength(1);
    const ended = await call({ command: 'touch begun; sleep 30' }, { abortAt: 'begun' });
    expect(ended).toMatchObject({ failure: 'CANCELLED', exitCode: null });
  });

  it('says which limit a command has gone over', async () => {
    const { app } = harness.plinth;
    const config = { ...app.get<Config>(CONFIG), HARNESS_COMMAND_MEMORY_MB: 64 };
    const sandbox = new Sandbox(config);
    const snapshots = app.get(WorkspaceSnapshots, { strict: false });
    const by = new ShellCommandTool(sandbox, snapshots, app.get(SecretMask, { strict: false }));
    const command = `echo x > made; perl -e '$m = 200 << 20; $x = "x" x $m; sleep 99'`;
    const ended = await call({ command }, { by });
    await sandbox.onApplicationShutdown();
    expect(ended).toMatchObject({ failure: 'COMMAND_FAILED', exitCode: null });
    expect(ended.content).toMatch(
      /^ended: it used more than 64 MiB of memory\n\[No output\.\]\n\[The limit is for all processes/,
    );
    expect(ended.summary).toMatch(/^ended: it used more than 64 MiB of memory after /);
    expect(ended.changes).toMatchObject([{ op: 'CREATE', path: 'made' }]);
  });

  it('answers what a command has said whose changes are too many to be told', async () => {
    const { app } = harness.plinth;
    /** Of a workspace that has more than 250,000 files after the command, which takes a minute to make. */
    class Overfull extends WorkspaceSnapshots {
      override changesSince = async (): Promise<undefined> => undefined;
    }
    const snapshots = new Overfull(app.get<Config>(CONFIG));
    const sandbox = app.get(Sandbox, { strict: false });
    const mask = app.get(SecretMask, { strict: false });
    const said = await call(
      { command: 'echo counted; exit 4' },
      { by: new ShellCommandTool(sandbox, snapshots, mask) },
    );
    await snapshots.onApplicationShutdown();
    expect(said).toMatchObject({ failure: 'COMMAND_FAILED', exitCode: 4, changes: [] });
    expect(said.content).toMatch(
      /^exit code 4\ncounted\n\n\[What the command has changed is not known/,
    );
  });

  it('shows the beginning and the end of what is long, and keeps it whole', async () => {
    const long = await call({ command: 'echo first; yes 文字 | head -c 3000000; echo last' });
    expect(Buffer.byteLength(long.content)).toBeLessThanOrEqual(SHOWN_BYTES);
    expect(Buffer.byteLength(long.content)).toBeGreaterThan(SHOWN_BYTES - 1_024);
    expect(long.content).toMatch(/^exit code 0\nfirst\n文字\n/);
    expect(long.content).toMatch(/last\n$/);
    expect(long.content).toContain('[The output has 3000011 bytes;');
    expect(long.content).not.toContain('\ufffd文字\n文');
    expect(long.truncated).toBe(true);
    expect(long.whole?.length).toBe(3_000_011);
    const flood = await call({ command: 'yes | head -c 9000000' });
    expect(flood.whole?.length).toBeLessThan(5 * 2 ** 20 + 100);
    expect(Buffer.byteLength(flood.content)).toBeLessThanOrEqual(SHOWN_BYTES);
  });

  it('makes text of what is none', async () => {
    const colours = await call({
      command: String.raw`printf '\033[31mred\033[0m \033]0;title\007x\000y\a'`,
    });
    expect(colours.content).toBe('exit code 0\nred x\ufffdy\ufffd');
    const binary = await call({ command: 'head -c 40000 /dev/urandom' });
    expect(Buffer.byteLength(binary.content)).toBeLessThanOrEqual(SHOWN_BYTES);
    expect(binary.content).not.toContain('\0');
  });

  // S13
  it.each([
    [{}],
    [{ command: '' }],
    [{ command: '  \n' }],
    [{ command: 'true', cwd: '/' }],
    [{ command: 'true', env: { A: 'b' } }],
    [{ command: 'true', sandbox: false }],
    [{ command: 'echo a\0b' }],
    [{ command: 'x'.repeat(8 * 1_024 + 1) }],
    [{ command: 'true', timeoutMs: 600_001 }],
    [{ command: 'true', timeoutMs: 0 }],
    [{ command: 'true', timeoutMs: 1.5 }],
    [{ command: ['ls'] }],
  ])('refuses %j', (input) => {
    expect(tool.input.safeParse(input).success).toBe(false);
  });

  it('takes as much as it says', () => {
    expect(tool.input.parse({ command: 'x'.repeat(8 * 1_024), timeoutMs: 600_000 })).toBeTruthy();
    expect(tool.input.parse({ command: 'ls' })).toEqual({ command: 'ls', timeoutMs: 120_000 });
    // What is shown of a title is cut, and made visible, for all tools alike.
    const described = {
      command: 'rm -f important.txt',
      timeoutMs: 1,
      description: 'run the tests',
    };
    expect(tool.title(described)).toBe('run rm -f important.txt');
    expect(tool.modelDescription(described)).toBe('run the tests');
  });
});

describe('a run with commands', () => {
  it('runs them without asking with full access, and records what they change', async () => {
    const command = 'cat package.json; echo hi > said.txt';
    const run = await building({ permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' }, command);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    expect(readFileSync(join(harness.workspace, 'said.txt'), 'utf8')).toBe('hi\n');
    const events = await harness.events(run);
    expect(events.find(({ type }) => type === 'file.changed')?.data).toMatchObject({
      path: 'said.txt',
      op: 'CREATE',
    });
    const results = (await harness.messages(run)).filter(({ role }) => role === 'TOOL');
    expect(results.at(-1)?.['content']).toContain('"name": "example"');
  });

  it('records links and folders that they change, and takes them back and does them again', async () => {
    const workspace = (path: string): string => join(harness.workspace, path);
    harness.write({ 'target.txt': 'text', 'filled/a.txt': 'a' });
    symlinkSync('target.txt', workspace('goes'));
    mkdirSync(workspace('empty'));
    mkdirSync(workspace('locked'));
    const command =
      'rm goes; ln -s target.txt made; rmdir empty; mkdir -p new/folder; chmod 700 locked; rm -r filled; ln -s target.txt filled; touch new/file';
    const run = await building({ permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' }, command);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    const { data } = done(
      await harness.session.get<{ path: string; op: string; kind: string; undoable: boolean }[]>(
        harness.path(run, '/files'),
      ),
    );
    expect(data.map(({ op, kind, path }) => `${op} ${kind} ${path}`)).toEqual([
      'DELETE folder empty',
      'UPDATE link filled',
      'DELETE file filled/a.txt',
      'DELETE link goes',
      'UPDATE folder locked',
      'CREATE link made',
      'CREATE file new/file',
      'CREATE folder new/folder',
    ]);
    const diff = done(await harness.session.get<{ text: string }>(harness.path(run, '/diff')));
    expect(diff.data.text).toContain('new file mode 120000');

    done(await harness.post(run, '/undo'));
    expect(readlinkSync(workspace('goes'))).toBe('target.txt');
    expect(readFileSync(workspace('filled/a.txt'), 'utf8')).toBe('a');
    expect(statSync(workspace('empty')).isDirectory()).toBe(true);
    expect(statSync(workspace('locked')).mode & 0o777).toBe(0o755);
    for (const path of ['made', 'new']) expect(existsSync(workspace(path))).toBe(false);

    done(await harness.post(run, '/redo'));
    expect(readlinkSync(workspace('filled'))).toBe('target.txt');
    expect(readlinkSync(workspace('made'))).toBe('target.txt');
    expect(statSync(workspace('locked')).mode & 0o777).toBe(0o700);
    expect(statSync(workspace('new/folder')).isDirectory()).toBe(true);
    for (const path of ['goes', 'empty']) expect(existsSync(workspace(path))).toBe(false);
  });

  it('leaves a folder that a command has made where others have put something into it', async () => {
    const run = await building(
      { permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' },
      'mkdir shared',
    );
    await harness.ended(run);
    harness.write({ 'shared/of-a-person.txt': 'x' });
    const refused = await harness.post(run, '/undo');
    expect(refused).toMatchObject({ code: 409 });
    expect(existsSync(join(harness.workspace, 'shared/of-a-person.txt'))).toBe(true);
  });

  // S3, S8, S16, S17, S21, S23: no command is allowed for how it looks.
  it.each([
    'ls',
    'echo a && rm -rf b',
    'echo $(id) `id` ${x:=$(id)} ${y@P} ${!z}',
    'export PATH=/evil; typeset -x A=1',
    'echo $[ a[$(id)] ]',
    `${'true; '.repeat(60)}rm x`,
  ])('asks for each in a session that must ask: %s', async (command) => {
    const run = await building({}, `touch ran; ${command}`);
    const reviewed = await harness.waitFor(run, 'WAITING_FOR_INPUT');
    const plan = done(await harness.session.get<Plan>(harness.path(reviewed, '/plan'))).data;
    const { taskId, expectedRevision, canonicalHash: expectedHash } = plan;
    const body = { taskId, expectedRevision, expectedHash, idempotencyKey: freshKey() };
    done(await harness.post(run, '/plan/approve', body));
    const waiting = await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    expect(pendingOf(waiting)).toMatchObject([{ toolName: 'shell' }]);
    expect(existsSync(join(harness.workspace, 'ran'))).toBe(false);
    done(await harness.post(run, '/cancel'));
    expect(await harness.ended(run)).toMatchObject({ status: 'CANCELLED' });
    expect(existsSync(join(harness.workspace, 'ran'))).toBe(false);
  });
});

interface Plan {
  readonly taskId: string;
  readonly expectedRevision: number;
  readonly canonicalHash: string;
}

/** A run that plans, and then calls the shell once. */
async function building(session: Record<string, unknown>, command: string): Promise<RunView> {
  const { sessionId } = await harness.createSession(session);
  const planned = { summary: 'Run it', steps: [{ text: 'Run it' }], files: [] };
  harness.script(
    { toolCalls: [{ name: 'plan_create', arguments: planned }] },
    { toolCalls: [{ name: 'shell', arguments: { command } }] },
    { text: 'Done.' },
  );
  return harness.createRun(sessionId);
}

// S28
describe('on a machine without sandboxes', () => {
  it.each([
    ['the program is missing', ['--tmpfs', '/usr/bin'], "install Debian's package bubblewrap"],
    [
      'there are no user namespaces',
      ['--unshare-user', '--disable-userns', '--proc', '/proc'],
      'user.max_user_namespaces',
    ],
    ['the program is not to be run', ['--ro-bind', '/dev/null', '/usr/bin/bwrap'], 'EACCES'],
  ])('a command is refused and the reason named: %s', async (_, mounts, reason) => {
    const place = await ToolWorkspace.make();
    try {
      const answer = await runElsewhere(mounts, place.root);
      expect(answer).toMatchObject({ available: false, refused: 'SANDBOX_UNAVAILABLE' });
      expect(answer['reason']).toContain(reason);
      expect(existsSync(join(place.root, 'ran'))).toBe(false);
    } finally {
      await place.remove();
    }
  });
});

/** What the sandbox answers in a process that sees the machine otherwise. */
async function runElsewhere(
  mounts: readonly string[],
  workspace: string,
): Promise<Record<string, unknown>> {
  const machine = ['--dev-bind', '/', '/', ...mounts];
  const program = [process.execPath, RUNNER, workspace, 'echo x > ran'];
  const child = spawn('/usr/bin/bwrap', [...machine, ...program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let answer = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (answer += text));
  await once(child, 'close');
  return JSON.parse(answer.split('\n').at(-1) ?? '') as Record<string, unknown>;
}
