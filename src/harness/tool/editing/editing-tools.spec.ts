import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ZodError } from 'zod';
import { checkOutside, OUTSIDE_TEXT, pathAttacks } from '../../../../test/support/path-attacks.js';
import type { PathAttack } from '../../../../test/support/path-attacks.js';
import { whileSwapped } from '../../../../test/support/swapping.js';
import { ToolWorkspace } from '../../../../test/support/tool-workspace.js';
import { decidePolicy } from '../../protocol/policy.js';
import type { PolicyDecision, Plan } from '../../protocol/policy.js';
import { filesSubject } from '../../engine/tools.js';
import { sha256 } from '../../protocol/values.js';
import { ToolError } from '../../protocol/tool-call.js';
import type { SeenFiles } from '../../protocol/tool-call.js';
import type { FilePlan, FileTool, HarnessTool } from '../tool.js';
import { toolProviders } from '../tools.js';
import { ApplyPatchTool } from './apply-patch.tool.js';
import { DeleteFileTool, EditFileTool, WriteFileTool } from './edit.tools.js';
import { Grants } from '../../../effect/index.js';

const edit = new EditFileTool();
const write = new WriteFileTool();
const patch = new ApplyPatchTool();
const remove = new DeleteFileTool();

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

/** As if the run had read every file as it is now. */
const everything: SeenFiles = {
  get: (path) => {
    try {
      return sha256(readFileSync(join(here.root, path)));
    } catch {
      return undefined;
    }
  },
};
const nothing: SeenFiles = { get: () => undefined };

function planned<Input>(
  tool: FileTool<Input>,
  input: unknown,
  seen: SeenFiles = everything,
): Promise<FilePlan> {
  return tool.plan(tool.input.parse(input), here.context({ seen }));
}

/** Plans and does it, without the write-ahead record and the policy. */
async function called<Input>(
  tool: FileTool<Input>,
  input: unknown,
  seen: SeenFiles = everything,
): Promise<FilePlan> {
  const plan = await planned(tool, input, seen);
  const { signal } = new AbortController();
  for (const { operation, afterContent } of plan.files) {
    const { path, before, after } = operation;
    if (after && afterContent) {
      const options = { mode: after.mode, expected: before, signal };
      await here.workspace.write(path, afterContent, options);
    } else if (before) await here.workspace.remove(path, { expected: before, signal });
  }
  return plan;
}

async function codeOf<Input>(
  tool: FileTool<Input>,
  input: unknown,
  seen: SeenFiles = everything,
): Promise<string> {
  try {
    await called(tool, input, seen);
    return 'done';
  } catch (error) {
    if (error instanceof ZodError) return 'INVALID_ARGUMENTS';
    if (error instanceof ToolError) return error.code;
    throw error;
  }
}

function contentOf(path: string): string {
  return readFileSync(join(here.root, path), 'utf8');
}

describe('edit_file', () => {
  it('changes a file that was read, and keeps mode, mark and line ends', async () => {
    here.put('run.sh', '\ufeff#!/bin/sh\r\necho a\r\nexit');
    chmodSync(join(here.root, 'run.sh'), 0o750);

    const plan = await called(edit, {
      path: './run.sh',
      edits: [{ oldText: 'echo a\n', newText: 'echo b\necho c\n' }],
    });

    expect(contentOf('run.sh')).toBe('\ufeff#!/bin/sh\r\necho b\r\necho c\r\nexit');
    expect(statSync(join(here.root, 'run.sh')).mode & 0o777).toBe(0o750);
    expect(plan.files).toMatchObject([
      {
        operation: {
          path: 'run.sh',
          op: 'UPDATE',
          before: { mode: 0o750 },
          after: { sha256: sha256(contentOf('run.sh')), mode: 0o750 },
          restorable: true,
        },
        unread: false,
      },
    ]);
    expect(plan.content).toContain('line 2. It now reads:\n1: #!/bin/sh\n2: echo b');
  });

  it('writes nothing while it plans', async () => {
    here.put('a.txt', 'a\n');
    await planned(edit, { path: 'a.txt', edits: [{ oldText: 'a', newText: 'b' }] });
    await planned(write, { path: 'x/y.txt', content: 'b' });
    await planned(remove, { path: 'a.txt' });
    expect(contentOf('a.txt')).toBe('a\n');
    expect(existsSync(join(here.root, 'x'))).toBe(false);
  });

  it('needs the file to be read, and unchanged since', async () => {
    here.put('a.txt', 'a\n');
    const input = { path: 'a.txt', edits: [{ oldText: 'a', newText: 'b' }] };
    expect(await codeOf(edit, input, nothing)).toBe('NOT_READ');
    expect(await codeOf(edit, input, { get: () => sha256('other') })).toBe('CHANGED_MEANWHILE');
    expect(await codeOf(edit, input)).toBe('done');
  });

  it('edits text alone', async () => {
    here.put('a.bin', Buffer.from([0x61, 0, 0x62]));
    here.put('a.latin', Buffer.from([0x61, 0xe4, 0x62]));
    here.put('a.utf16', Buffer.from('\ufeffab', 'utf16le'));
    for (const path of ['a.bin', 'a.latin', 'a.utf16']) {
      expect(await codeOf(edit, { path, edits: [{ oldText: 'a', newText: 'b' }] })).toBe(
        'NOT_TEXT',
      );
    }
    here.put('large', 'ab'.repeat(3 * 1024 * 1024));
    expect(await codeOf(edit, { path: 'large', edits: [{ oldText: 'a', newText: 'b' }] })).toBe(
      'TOO_LARGE',
    );
  });

  it('refuses what is no text and unknown arguments', async () => {
    here.put('a.txt', 'a\n');
    const input = { path: 'a.txt', edits: [{ oldText: 'a', newText: 'b' }] };
    for (const newText of ['b\ud800', 'b\0']) {
      const edits = [{ oldText: 'a', newText }];
      expect(await codeOf(edit, { path: 'a.txt', edits })).toBe('INVALID_ARGUMENTS');
    }
    expect(await codeOf(edit, { ...input, force: true })).toBe('INVALID_ARGUMENTS');
    const single = { path: 'a.txt', oldText: 'a', newText: 'b' };
    expect(await codeOf(edit, single)).toBe('INVALID_ARGUMENTS');
    expect(await codeOf(edit, { ...input, path: 'b.txt' })).toBe('NOT_FOUND');
  });

  it('applies its edits in order, all or none', async () => {
    here.put('a.txt', 'one\ntwo\n');
    const edits = [
      { oldText: 'one', newText: 'two' },
      { oldText: 'two\ntwo', newText: 'three' },
    ];
    const plan = await called(edit, { path: 'a.txt', edits });
    expect(contentOf('a.txt')).toBe('three\n');
    expect(plan.content).toContain('edit 1: line 1; edit 2: line 1.');

    const failing = [...edits, { oldText: 'four', newText: 'five' }].reverse();
    here.put('a.txt', 'one\ntwo\n');
    await expect(called(edit, { path: 'a.txt', edits: failing })).rejects.toThrow(
      'Edit 1 of 3 cannot be done, so none was.',
    );
    expect(contentOf('a.txt')).toBe('one\ntwo\n');
  });

  it('is refused when its edits undo each other', async () => {
    here.put('a.txt', 'a\n');
    const edits = [
      { oldText: 'a', newText: 'b' },
      { oldText: 'b', newText: 'a' },
    ];
    expect(await codeOf(edit, { path: 'a.txt', edits })).toBe('INVALID_ARGUMENTS');
    expect(await codeOf(edit, { path: 'a.txt', edits: [] })).toBe('INVALID_ARGUMENTS');
  });
});

describe('write_file', () => {
  it('makes files and folders without any reading', async () => {
    const plan = await called(write, { path: 'src/new/a.txt', content: 'hé\n' }, nothing);
    expect(contentOf('src/new/a.txt')).toBe('hé\n');
    expect(plan.files).toMatchObject([
      { operation: { op: 'CREATE', before: null, madeFolders: 2 }, unread: false },
    ]);
    const next = await called(write, { path: 'src/b.txt', content: '' }, nothing);
    expect(next.files[0]?.operation.madeFolders).toBeUndefined();
  });

  it('replaces files, and says when they were not read', async () => {
    here.put('a.txt', 'old');
    chmodSync(join(here.root, 'a.txt'), 0o600);
    const input = { path: 'a.txt', content: 'new' };
    expect((await planned(write, input, nothing)).files).toMatchObject([{ unread: true }]);
    expect((await planned(write, input)).files).toMatchObject([{ unread: false }]);
    expect(await codeOf(write, input, { get: () => sha256('other') })).toBe('CHANGED_MEANWHILE');
    expect(await codeOf(write, { ...input, content: 'old' })).toBe('INVALID_ARGUMENTS');
    expect(await codeOf(write, input)).toBe('done');
    expect(statSync(join(here.root, 'a.txt')).mode & 0o777).toBe(0o600);
  });

  it('writes 1 MiB at most', async () => {
    const fits = 'ä'.repeat(512 * 1024);
    expect(await codeOf(write, { path: 'a', content: fits })).toBe('done');
    expect(await codeOf(write, { path: 'b', content: `${fits}a` })).toBe('TOO_LARGE');
    expect(await codeOf(write, { path: 'b', content: fits + fits + fits })).toBe(
      'INVALID_ARGUMENTS',
    );
  });

  it('needs no more than 50 new folders', async () => {
    expect(await codeOf(write, { path: `${'a/'.repeat(51)}b`, content: '' })).toBe('PATH_INVALID');
    expect(await codeOf(write, { path: `${'a/'.repeat(50)}b`, content: '' })).toBe('done');
  });
});

describe('delete_file', () => {
  it('removes a file, keeps its content in the plan, and leaves folders', async () => {
    here.put('a/b.bin', Buffer.from([0, 1, 2]));
    const plan = await called(remove, { path: 'a/b.bin' }, nothing);
    expect(existsSync(join(here.root, 'a/b.bin'))).toBe(false);
    expect(existsSync(join(here.root, 'a'))).toBe(true);
    expect(plan.files).toMatchObject([
      { operation: { op: 'DELETE', after: null }, afterContent: null, unread: true },
    ]);
    expect(plan.files[0]?.beforeContent).toEqual(Buffer.from([0, 1, 2]));
    expect(await codeOf(remove, { path: 'a' })).toBe('NOT_A_FILE');
    expect(await codeOf(remove, { path: 'c' })).toBe('NOT_FOUND');
  });
});

describe('apply_patch', () => {
  const lines = (...text: string[]): { patch: string } => ({ patch: `${text.join('\n')}\n` });

  it('adds, changes, deletes and moves files', async () => {
    here.put('a.txt', 'one\ntwo\n');
    here.put('b.txt', 'gone\n');
    here.put('c.sh', 'run\n');
    chmodSync(join(here.root, 'c.sh'), 0o755);
    const input = lines(
      '*** Begin Patch',
      '*** Add File: new/d.txt',
      '+made',
      '*** Update File: a.txt',
      '@@',
      ' one',
      '-two',
      '+2',
      '*** Delete File: b.txt',
      '*** Update File: c.sh',
      '*** Move to: bin/c.sh',
      '@@',
      '-run',
      '+walk',
      '*** End Patch',
    );

    const plan = await called(patch, input);

    expect(contentOf('new/d.txt')).toBe('made\n');
    expect(contentOf('a.txt')).toBe('one\n2\n');
    expect(contentOf('bin/c.sh')).toBe('walk\n');
    expect(statSync(join(here.root, 'bin/c.sh')).mode & 0o777).toBe(0o755);
    expect(existsSync(join(here.root, 'b.txt'))).toBe(false);
    expect(existsSync(join(here.root, 'c.sh'))).toBe(false);
    expect(plan.files.map(({ operation }) => [operation.op, operation.path])).toEqual([
      ['CREATE', 'new/d.txt'],
      ['UPDATE', 'a.txt'],
      ['DELETE', 'b.txt'],
      ['CREATE', 'bin/c.sh'],
      ['DELETE', 'c.sh'],
    ]);
    expect(patch.title(input)).toBe('patch new/d.txt, a.txt, b.txt and 1 more');
    expect(patch.title({ patch: 'nonsense' })).toBe('apply a patch');
  });

  it('changes nothing when one part cannot be done', async () => {
    here.put('a.txt', 'one\n');
    here.put('b.txt', 'two\n');
    const change = (path: string, old: string): string[] => [
      ...[`--- a/${path}`, `+++ b/${path}`, '@@ -1 +1 @@', `-${old}`, '+new'],
    ];
    const wrong = lines(...change('a.txt', 'one'), ...change('b.txt', 'three'));
    expect(await codeOf(patch, wrong)).toBe('NO_MATCH');
    expect(contentOf('a.txt')).toBe('one\n');
    const right = lines(...change('a.txt', 'one'), ...change('b.txt', 'two'));
    expect(await codeOf(patch, right, nothing)).toBe('NOT_READ');
    expect(await codeOf(patch, right)).toBe('done');
  });

  it.each([
    ['one file in two parts', '*** Delete File: a.txt', '*** Delete File: ./a.txt'],
    ['a destination that is there', '*** Update File: a.txt', '*** Move to: b.txt'],
    ['a new file that leaves one as it is', '*** Add File: a.txt', '+one'],
    ['a file in a new file', '*** Add File: x', '+x', '*** Add File: x/y', '+y'],
  ])('is refused for %s', async (_, ...parts) => {
    here.put('a.txt', 'one\n');
    here.put('b.txt', 'two\n');
    expect(await codeOf(patch, lines('*** Begin Patch', ...parts, '*** End Patch'))).toBe(
      'PATCH_REFUSED',
    );
    expect(contentOf('a.txt')).toBe('one\n');
  });

  it('replaces a file by a new one if it was read and is unchanged, and keeps its mode', async () => {
    here.put('a.sh', 'one\n');
    chmodSync(join(here.root, 'a.sh'), 0o750);
    const input = lines('*** Begin Patch', '*** Add File: a.sh', '+two', '*** End Patch');
    expect(await codeOf(patch, input, nothing)).toBe('PATCH_REFUSED');
    expect(await codeOf(patch, input, { get: () => sha256('other') })).toBe('CHANGED_MEANWHILE');
    expect(contentOf('a.sh')).toBe('one\n');

    const plan = await called(patch, input);

    expect(contentOf('a.sh')).toBe('two\n');
    expect(statSync(join(here.root, 'a.sh')).mode & 0o777).toBe(0o750);
    expect(plan.files).toMatchObject([{ operation: { op: 'UPDATE' }, unread: false }]);
    expect(plan.content).toContain('replaced "a.sh"');
  });

  it('holds 64 MiB of contents at most', async () => {
    const parts: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      here.put(`f${index}`, Buffer.alloc(14 * 2 ** 20, index));
      parts.push(`*** Update File: f${index}`, `*** Move to: g${index}`);
    }
    const envelope = (inner: readonly string[]): object =>
      lines('*** Begin Patch', ...inner, '*** End Patch');
    await expect(planned(patch, envelope(parts))).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('Split the patch'),
    });
    // What is moved is held once.
    const { files } = await planned(patch, envelope(parts.slice(0, 8)));
    expect(files).toHaveLength(8);
  });

  it('tells no line of a file that was not read', async () => {
    here.put('.env', 'PORT=3000\nPASSWORD=hunter2\n');
    const hunk = ['@@ -1,2 +0,0 @@', '-PORT=3000', '-PASSWORD='];
    const input = lines('--- a/.env', '+++ /dev/null', ...hunk);
    const error: unknown = await planned(patch, input, nothing).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'NOT_READ' });
    expect(String(error)).not.toContain('hunter2');
    await expect(planned(patch, input)).rejects.toThrow('hunter2');
  });

  it('names 50 files at most, and a deleted file as a whole', async () => {
    const parts = Array.from({ length: 51 }, (_, index) => [`*** Add File: f${index}`, '+x']);
    const many = lines('*** Begin Patch', ...parts.flat(), '*** End Patch');
    expect(await codeOf(patch, many)).toBe('PATCH_REFUSED');
    here.put('a.txt', 'one\ntwo\n');
    const half = lines('--- a/a.txt', '+++ /dev/null', '@@ -1 +0,0 @@', '-one');
    expect(await codeOf(patch, half)).toBe('PATCH_REFUSED');
    expect(await codeOf(patch, { patch: '' })).toBe('INVALID_ARGUMENTS');
    expect(await codeOf(patch, { patch: '\n' })).toBe('PATCH_REFUSED');
  });
});

/** What is done with a call. */
type Act<T> = <Input>(tool: FileTool<Input>, input: unknown) => Promise<T>;

interface Call {
  readonly name: string;
  /** Makes a file at the path, where nothing may be yet; without it there must be one, whose text has an `e`. */
  readonly makes?: true;
  readonly of: <T>(path: string, act: Act<T>) => Promise<T>;
}

/** Each tool with a call that would change what is at the path. */
const calls: readonly Call[] = [
  {
    name: 'edit_file',
    of: (path, act) =>
      act(edit, { path, edits: [{ oldText: 'e', newText: 'X', replaceAll: true }] }),
  },
  { name: 'write_file', of: (path, act) => act(write, { path, content: 'EVIL' }) },
  {
    name: 'write_file, making',
    makes: true,
    of: (path, act) => act(write, { path, content: 'EVIL' }),
  },
  { name: 'delete_file', of: (path, act) => act(remove, { path }) },
  {
    name: 'apply_patch, adding',
    makes: true,
    of: (path, act) => act(patch, { patch: inEnvelope(`*** Add File: ${path}`, '+EVIL') }),
  },
  {
    name: 'apply_patch, deleting',
    of: (path, act) => act(patch, { patch: inEnvelope(`*** Delete File: ${path}`) }),
  },
  {
    name: 'apply_patch, moving from',
    of: (path, act) => {
      rmSync(join(here.root, 'moved.txt'), { force: true });
      return act(patch, {
        patch: inEnvelope(`*** Update File: ${path}`, '*** Move to: moved.txt'),
      });
    },
  },
  {
    name: 'apply_patch, moving to',
    makes: true,
    of: (path, act) => {
      here.put('mine.txt', 'EVIL');
      return act(patch, { patch: inEnvelope('*** Update File: mine.txt', `*** Move to: ${path}`) });
    },
  },
];

it('has a call of every tool that changes files', () => {
  const changing = toolProviders
    .filter((provider) => typeof provider === 'function')
    .map((tool) => Reflect.construct(tool, []) as HarnessTool)
    .filter(({ effectClass }) => effectClass === 'FILE')
    .map(({ name }) => name);
  // Without one the attacks below would pass the tool by.
  expect(new Set(calls.map(({ name }) => name.split(',')[0]))).toEqual(new Set(changing));
});

function inEnvelope(...parts: string[]): string {
  return ['*** Begin Patch', ...parts, '*** End Patch'].join('\n');
}

/** What a refused call may say beside the attack's own errors: the file is not there, or the patch cannot be read. */
const OTHER_REFUSALS = ['NOT_FOUND', 'PATCH_REFUSED', 'INVALID_ARGUMENTS', 'NOT_READ', 'NO_MATCH'];

const protectedNames = pathAttacks.filter(({ protection }) => protection !== undefined);

describe.each(calls)('$name', ({ name, makes, of }) => {
  it.each(pathAttacks)('changes nothing outside by $name', async (attack: PathAttack) => {
    attack.prepare(here.root, here.outside);
    const code = await of(attack.path(here.root, here.outside), codeOf);

    checkOutside(here.outside);
    const sibling = `${here.root}-evil/secret.txt`;
    if (existsSync(sibling)) expect(readFileSync(sibling, 'utf8')).toBe(OUTSIDE_TEXT);
    // A patch and an edit may have reasons of their own to refuse.
    const mayDiffer = name.startsWith('apply_patch') || attack.write.length === 0;
    const allowed = mayDiffer ? [...attack.write, ...OTHER_REFUSALS] : attack.write;
    expect(attack.write.length === 0 ? [...allowed, 'done'] : allowed).toContain(code);
  });

  it.each(protectedNames)('has the policy decide about $name', async (attack: PathAttack) => {
    const path = attack.path(here.root, here.outside);
    if (!makes) attack.prepare(here.root, here.outside);
    const subject = filesSubject(await of(path, planned), {
      workspace: here.workspace,
      // Nothing that was agreed to before spares the question.
      plan: approvedPlan(path),
      grants: new Grants([{ kind: 'PATH', subjectHash: sha256(path) }]),
    });

    expect(subject.files).toContainEqual(
      expect.objectContaining({
        path,
        protection: attack.protection,
        planned: true,
        granted: true,
      }),
    );
    const denied = expect.objectContaining({ verdict: 'deny', code: 'PROTECTED_PATH' });
    const asked = attack.protection === 'GIT' ? denied : { verdict: 'ask', grantable: false };
    for (const permissionMode of ['WORKSPACE_WRITE', 'FULL_ACCESS'] as const) {
      const decided = (approvalPolicy: 'ON_REQUEST' | 'NEVER'): PolicyDecision =>
        decidePolicy({ permissionMode, approvalPolicy }, subject);
      expect(decided('ON_REQUEST')).toEqual(asked);
      expect(decided('NEVER')).toEqual(denied);
    }
  });
});

describe('a folder that is swapped with a link', () => {
  const TEXT = 'the text of each file\n';
  const FILES = 2_000;
  const seen: SeenFiles = { get: () => sha256(TEXT) };

  /** All that lies outside, by its path. */
  function outside(): Record<string, string> {
    const entries = readdirSync(here.outside, { recursive: true, withFileTypes: true });
    const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort();
    return Object.fromEntries(
      paths.map((path) => [path, statSync(path).isFile() ? readFileSync(path, 'utf8') : 'folder']),
    );
  }

  it.each(calls)('leads $name nowhere else', async ({ makes, of }) => {
    for (let i = 0; i < FILES; i += 1) {
      // The same on both sides, so that it would work on the other one, too.
      here.put(`folder/file-${i}.txt`, TEXT);
      here.put(`../outside/folder/file-${i}.txt`, TEXT);
    }
    const before = outside();
    let next = 0;
    await whileSwapped(
      { path: join(here.root, 'folder'), target: join(here.outside, 'folder') },
      { calls: 200, swaps: 50, outcomes: ['done', 'SYMLINK_ESCAPE'] },
      async () => {
        const path = `folder/${makes ? 'new' : 'file'}-${next}.txt`;
        const code = await of(path, (tool, input) => codeOf(tool, input, seen));
        if (code === 'done') next += 1;
        return code;
      },
    );
    expect(outside()).toEqual(before);
  });
});

/** As if a person had approved a change of the file. */
function approvedPlan(path: string): Plan {
  return {
    ...{ taskId: 'task', revision: 1, summary: 'Do it', steps: [], files: [path], risks: [] },
    ...{ canonicalHash: 'hash', reviewState: 'APPROVED' },
  };
}
