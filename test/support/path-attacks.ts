import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { PathProtection } from '../../src/harness/protocol/policy.js';
import type { ToolErrorCode } from '../../src/harness/protocol/tool-call.js';

/** Stands in every file outside of the workspace; nothing that a tool answers may hold it. */
export const OUTSIDE_TEXT = 'THE-TEXT-OF-THE-OUTSIDE';
/** Stands in every secret file inside. */
export const SECRET_TEXT = 'TOKEN=THE-TEXT-OF-A-SECRET';
/** Not of any service. In parts, so that no scanner takes this file for one with a secret. */
export const PRIVATE_KEY = `${['-----BEGIN PRIVATE', 'KEY-----'].join(' ')}\n${'MIIE'.repeat(12)}\n`;

/** A way to reach what lies outside of the workspace, or what is protected in it. */
export interface PathAttack {
  readonly name: string;
  /** Lays it out. Both are absolute folders that stand beside each other; the outside holds what layOutside has made. */
  prepare(workspace: string, outside: string): void;
  /** What a model gives as the path. */
  path(workspace: string, outside: string): string;
  /** The errors that reading the path as a file may give; none: it may be read. */
  readonly read: readonly ToolErrorCode[];
  /** The errors that writing there may give; none: the policy decides, by the protection. */
  readonly write: readonly ToolErrorCode[];
  readonly protection?: PathProtection;
}

/** Makes the outside. Its files are secret.txt and folder/secret.txt. */
export function layOutside(outside: string): void {
  put(join(outside, 'secret.txt'), OUTSIDE_TEXT);
  put(join(outside, 'folder', 'secret.txt'), OUTSIDE_TEXT);
}

/** Throws when anything outside was made, removed or changed. */
export function checkOutside(outside: string): void {
  const found = readdirSync(outside, { recursive: true, encoding: 'utf8' }).sort();
  const expected = ['folder', 'folder/secret.txt', 'secret.txt'];
  if (found.join() !== expected.join()) throw new Error(`The outside now holds ${found.join()}.`);
  for (const name of ['secret.txt', 'folder/secret.txt']) {
    const text = readFileSync(join(outside, name), 'utf8');
    if (text !== OUTSIDE_TEXT) throw new Error(`${name} was changed to ${text}.`);
  }
}

const nothing = (): void => undefined;

/** An attack by the text of the path alone. */
const byText = (name: string, path: string, ...codes: ToolErrorCode[]): PathAttack => ({
  name,
  prepare: nothing,
  path: () => path,
  read: codes,
  write: codes,
});

/** The path is a file in the workspace that is protected by its name. */
const byName = (path: string, protection: PathProtection): PathAttack => ({
  name: `the protected name ${JSON.stringify(path)}`,
  prepare: (workspace) => put(join(workspace, path), 'protected'),
  path: () => path,
  read: [],
  write: protection === 'GIT' ? ['PROTECTED_PATH'] : [],
  protection,
});

const byLink = (
  name: string,
  prepare: (workspace: string, outside: string) => void,
  { path, read = ['SYMLINK_ESCAPE'] }: { path: string; read?: readonly ToolErrorCode[] },
): PathAttack => ({ name, prepare, path: () => path, read, write: ['SYMLINK_ESCAPE'] });

const texts: readonly PathAttack[] = [
  byText('a step up', '../outside/secret.txt', 'OUTSIDE_WORKSPACE'),
  byText('steps down and up', 'a/b/../../../outside/secret.txt', 'OUTSIDE_WORKSPACE'),
  byText('steps up only', '../../../../etc/passwd', 'OUTSIDE_WORKSPACE'),
  byText('the folder above', '..', 'OUTSIDE_WORKSPACE'),
  byText('an absolute path', '/etc/passwd', 'OUTSIDE_WORKSPACE'),
  byText('the memory of the service', '/proc/self/environ', 'OUTSIDE_WORKSPACE'),
  byText('doubled slashes', '//etc//passwd', 'OUTSIDE_WORKSPACE'),
  byText('backslashes', '..\\outside\\secret.txt', 'PATH_INVALID'),
  byText('a NUL', 'a\0.txt', 'PATH_INVALID'),
  byText('a NUL before steps up', 'a\0/../../outside/secret.txt', 'PATH_INVALID'),
  byText('a line break', 'a\nb', 'PATH_INVALID'),
  byText('a control character', 'a\u001b[2Jb', 'PATH_INVALID'),
  byText('half a character', 'a\ud800b', 'PATH_INVALID'),
  byText('a path of 5,000 bytes', 'a/'.repeat(2_500) + 'b', 'PATH_INVALID'),
  byText('a name of 300 bytes', 'a'.repeat(300), 'PATH_INVALID'),
  byText('a name of 300 bytes in 100 characters', '世'.repeat(100), 'PATH_INVALID'),
  byText('the workspace itself', '.', 'NOT_A_FILE'),
  byText('no path', '', 'NOT_A_FILE'),
  {
    name: 'the absolute path of the outside',
    prepare: nothing,
    path: (_, outside) => join(outside, 'secret.txt'),
    read: ['OUTSIDE_WORKSPACE'],
    write: ['OUTSIDE_WORKSPACE'],
  },
  {
    name: 'a sibling whose name begins like the workspace',
    prepare: (workspace) => put(`${workspace}-evil/secret.txt`, OUTSIDE_TEXT),
    path: (workspace) => `${workspace}-evil/secret.txt`,
    read: ['OUTSIDE_WORKSPACE'],
    write: ['OUTSIDE_WORKSPACE'],
  },
  {
    name: 'steps up out of the absolute workspace',
    prepare: nothing,
    path: (workspace) => `${workspace}/../outside/secret.txt`,
    read: ['OUTSIDE_WORKSPACE'],
    write: ['OUTSIDE_WORKSPACE'],
  },
];

const links: readonly PathAttack[] = [
  byLink('a link to a file', (w, o) => link(join(o, 'secret.txt'), w, 'link.txt'), {
    path: 'link.txt',
  }),
  byLink('a relative link to a file', (w) => link('../outside/secret.txt', w, 'link.txt'), {
    path: 'link.txt',
  }),
  byLink('a link to a folder', (w, o) => link(join(o, 'folder'), w, 'link'), {
    path: 'link/secret.txt',
  }),
  byLink('a link to a folder, for a new file', (w, o) => link(join(o, 'folder'), w, 'link'), {
    path: 'link/new.txt',
  }),
  byLink('a link to a folder, for new folders', (w, o) => link(join(o, 'folder'), w, 'link'), {
    path: 'link/a/b/new.txt',
  }),
  byLink('a link to the folder above', (w) => link('..', w, 'up'), {
    path: 'up/outside/secret.txt',
  }),
  byLink('a link to the root', (w) => link('/', w, 'root'), { path: 'root/etc/passwd' }),
  byLink('a dangling link', (w, o) => link(join(o, 'new.txt'), w, 'dangling.txt'), {
    path: 'dangling.txt',
  }),
  byLink('a dangling link inside', (w) => link('new.txt', w, 'dangling.txt'), {
    path: 'dangling.txt',
    read: ['NOT_FOUND'],
  }),
  byLink(
    'a chain of links',
    (w, o) => {
      link('two', w, 'one');
      link('a/three', w, 'two');
      link(join(o, 'secret.txt'), w, 'a/three');
    },
    { path: 'one' },
  ),
  byLink(
    'a link through a link to a folder',
    (w, o) => {
      link(o, w, 'a/out');
      link('a/out/folder/secret.txt', w, 'one');
    },
    { path: 'one' },
  ),
  byLink(
    'a ring of links',
    (w) => {
      link('two', w, 'one');
      link('one', w, 'two');
    },
    { path: 'one' },
  ),
  byLink('a link to a device', (w) => link('/dev/zero', w, 'zero'), { path: 'zero' }),
  byLink('a link to the environment', (w) => link('/proc/self/environ', w, 'env'), { path: 'env' }),
  byLink('a link to the handles', (w) => link('/proc/self/fd', w, 'fd'), { path: 'fd/0' }),
  byLink('a link to the working folder', (w) => link('/proc/self/cwd', w, 'cwd'), {
    path: 'cwd/package.json',
  }),
  byLink(
    'a link to a secret file inside',
    (w) => {
      put(join(w, '.env'), SECRET_TEXT);
      link('.env', w, 'notes.txt');
    },
    { path: 'notes.txt', read: ['SECRET_PATH'] },
  ),
  byLink(
    'a link to the folder of a secret file',
    (w) => {
      put(join(w, '.ssh/config'), SECRET_TEXT);
      link('.ssh', w, 'notes');
    },
    { path: 'notes/config', read: ['SECRET_PATH'] },
  ),
];

const files: readonly PathAttack[] = [
  {
    name: 'a hard link to a file',
    prepare: (workspace, outside) =>
      linkSync(join(outside, 'secret.txt'), join(workspace, 'hard.txt')),
    path: () => 'hard.txt',
    // Only who may read and write the outside can make it, and package managers make many.
    read: [],
    write: ['HARD_LINK'],
  },
  {
    name: 'a pipe',
    prepare: (workspace) => void execFileSync('mkfifo', [join(workspace, 'pipe')]),
    path: () => 'pipe',
    read: ['NOT_A_FILE'],
    write: ['NOT_A_FILE'],
  },
  {
    name: 'a device, or a pipe where none can be made',
    prepare: (workspace) => {
      try {
        execFileSync('mknod', [join(workspace, 'zero'), 'c', '1', '5'], { stdio: 'ignore' });
      } catch {
        execFileSync('mkfifo', [join(workspace, 'zero')]);
      }
    },
    path: () => 'zero',
    read: ['NOT_A_FILE'],
    write: ['NOT_A_FILE'],
  },
  {
    name: 'a folder',
    prepare: (workspace) => put(join(workspace, 'folder', 'file.txt'), 'inside'),
    path: () => 'folder',
    read: ['NOT_A_FILE'],
    write: ['NOT_A_FILE'],
  },
  {
    name: 'a path through a file',
    prepare: (workspace) => put(join(workspace, 'file.txt'), 'inside'),
    path: () => 'file.txt/below.txt',
    read: ['NOT_A_FOLDER', 'NOT_FOUND'],
    write: ['NOT_A_FOLDER'],
  },
];

const names: readonly PathAttack[] = [
  byName('.git/hooks/pre-commit', 'GIT'),
  byName('.GIT/hooks/pre-commit', 'GIT'),
  byName('.ｇｉｔ/hooks/pre-commit', 'GIT'),
  byName('.g\u200dit/hooks/pre-commit', 'GIT'),
  byName('.git./hooks/pre-commit', 'GIT'),
  byName('GIT~1/hooks/pre-commit', 'GIT'),
  byName('a/b/.git/config.lock', 'GIT'),
  byName('node_modules/x/.git', 'GIT'),
  byName('.vscode/tasks.json', 'PROTECTED'),
  byName('.VSCode/tasks.json', 'PROTECTED'),
  byName('.idea/workspace.xml', 'PROTECTED'),
  byName('.agents/skills/x/SKILL.md', 'PROTECTED'),
  byName('.Claude/settings.json', 'PROTECTED'),
  byName('.codex/config.toml', 'PROTECTED'),
  byName('.GitHub/Workflows/ci.yml', 'PROTECTED'),
  byName('a/.github/workflows/ci.yml', 'PROTECTED'),
  byName('.mcp.json', 'PROTECTED'),
  byName('.ＭＣＰ.json', 'PROTECTED'),
  byName('.bashrc', 'PROTECTED'),
  byName('node_modules/x/.Husky/pre-commit', 'PROTECTED'),
];

/** Every attack. The table serves each tool that takes a path, and each method of the workspace. */
export const pathAttacks: readonly PathAttack[] = [...texts, ...links, ...files, ...names];

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function link(target: string, workspace: string, path: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  symlinkSync(target, join(workspace, path));
}
