import type { PathProtection } from '../protocol/policy.js';

export interface PathClass {
  readonly protection: PathProtection;
  /** Its content is likely to be a credential. */
  readonly secret: boolean;
}

/** Folders whose files other programs run or obey: agents, editors, hooks, pipelines. */
export const PROTECTED_FOLDERS: readonly string[] = [
  '.agents',
  '.claude',
  '.codex',
  '.cursor',
  '.vscode',
  '.idea',
  '.zed',
  '.fleet',
  '.gemini',
  '.windsurf',
  '.kiro',
  '.roo',
  '.continue',
  '.opencode',
  '.trae',
  '.husky',
  '.githooks',
  '.devcontainer',
  '.circleci',
  '.buildkite',
  '.woodpecker',
  '.ssh',
  '.github/workflows',
  '.github/actions',
];

/** Files of the same kind. */
export const PROTECTED_FILES: readonly string[] = [
  '.mcp.json',
  '.gitlab-ci.yml',
  '.gitlab-ci.yaml',
  '.travis.yml',
  'bitbucket-pipelines.yml',
  'azure-pipelines.yml',
  'jenkinsfile',
  '.drone.yml',
  '.woodpecker.yml',
  '.woodpecker.yaml',
  'appveyor.yml',
  '.appveyor.yml',
  'cloudbuild.yaml',
  'cloudbuild.yml',
  '.pre-commit-config.yaml',
  'lefthook.yml',
  'lefthook.yaml',
  '.lefthook.yml',
  '.lefthook.yaml',
  'lefthook-local.yml',
  '.gitmodules',
  '.gitattributes',
  '.gitconfig',
  '.envrc',
  'mise.toml',
  '.mise.toml',
  '.bazelrc',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.profile',
  '.xprofile',
  '.login',
  '.logout',
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.zshrc',
  '.zprofile',
  '.zshenv',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.inputrc',
  '.vimrc',
  '.exrc',
  '.gdbinit',
  '.lldbinit',
  'config.fish',
];

/** What classifyPath calls secret, as patterns of gitignore without regard to case; the samples of `.env` included. */
export const SECRET_PATTERNS: readonly string[] = [
  '.env*',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  'id_{rsa,dsa,ecdsa,ed25519}*',
  '.npmrc',
  '.netrc',
  '.pgpass',
  '.pypirc',
  '.htpasswd',
  'credentials*',
  '.git-credentials',
  '.ssh',
  '.aws',
  '**/.docker/config.json',
  '**/.kube/config',
  '**/.git/config',
  // What the harness itself had not finished writing when it was stopped (unfinished-file.ts).
  '.plinth-*.tmp',
];

/** They show which variables there are, and no value. */
const SAMPLE = /^\.env\.(example|sample|template|dist)$/;
/** The public half of a key is no secret, and neither is source code that merely begins with id_. */
const SECRET_NAME =
  /^(\.env.*|.*\.(pem|key|p12|pfx)|id_(rsa|dsa|ecdsa|ed25519)(?!.*\.pub$).*|id_[^.]+|credentials.*|\.plinth-.*\.tmp|\.(git-credentials|ssh|aws|npmrc|netrc|pgpass|pypirc|htpasswd))$/;
const SECRET_PLACES = ['.docker/config.json', '.kube/config'];
/** In a folder of git, also for a submodule or a worktree: addresses of remotes may hold passwords. */
const GIT_CONFIG = /^config(\.worktree)?$/;

const NAMES: ReadonlySet<string> = new Set([...PROTECTED_FOLDERS, ...PROTECTED_FILES]);
/** The last names of places that only count in a certain folder. */
const LAST_NAMES: ReadonlySet<string> = new Set(
  [...PROTECTED_FOLDERS, ...SECRET_PLACES]
    .filter((path) => path.includes('/'))
    .map((path) => path.slice(path.lastIndexOf('/') + 1)),
);

/** Of a path in whose way nothing stands. */
export const UNPROTECTED: PathClass = { protection: 'NONE', secret: false };

/**
 * What stands in the way of a path, at any depth and also in folders such as node_modules. Names are compared as a
 * file system could that knows no case and no difference between compatible characters: `.GIT`, `.ｇｉｔ` and `.git` are one.
 */
export function classifyPath(path: string): PathClass {
  let above = '';
  let found = UNPROTECTED;
  for (const name of path.split('/')) {
    found = classifyName(name, above, found);
    above = name;
  }
  return found;
}

/** As `classifyPath`, for a name in a folder of which the name and the class are known. */
export function classifyName(name: string, folder: string, folderClass: PathClass): PathClass {
  const known = folded(name);
  const place = LAST_NAMES.has(known) ? `${folded(folder)}/${known}` : '';
  const protection = stricter(folderClass.protection, protectionOf(known, place));
  const isGitConfig = folderClass.protection === 'GIT' && GIT_CONFIG.test(known);
  const isNamedSo = isSecretName(known) || SECRET_PLACES.includes(place) || isGitConfig;
  const secret = folderClass.secret || isNamedSo;
  return protection === 'NONE' && !secret ? UNPROTECTED : { protection, secret };
}

function stricter(one: PathProtection, other: PathProtection): PathProtection {
  if (one === 'GIT' || other === 'GIT') return 'GIT';
  return one === 'NONE' ? other : one;
}

function protectionOf(name: string, place: string): PathProtection {
  // What NTFS may call a .git folder.
  if (name === '.git' || name === 'git~1') return 'GIT';
  return NAMES.has(name) || PROTECTED_FOLDERS.includes(place) ? 'PROTECTED' : 'NONE';
}

/** A folder may have such a name: what is in it is as secret as it. */
function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !SAMPLE.test(name);
}

/**
 * Whether a folder with these names in it is a repository to git, whatever the folder is called: programs that git runs
 * are named in its `config` and lie in its `hooks`.
 */
export function isRepository(names: readonly string[]): boolean {
  const found = new Set(names.map(folded));
  return (
    found.has('head') && (found.has('commondir') || (found.has('objects') && found.has('refs')))
  );
}

/** Whether a folder is a repository only with this name in it. */
export function isHead(name: string): boolean {
  return folded(name) === 'head';
}

const REPOSITORY_PARTS: Readonly<Record<string, RepositoryPart>> = {
  head: 'control',
  config: 'control',
  'config.worktree': 'control',
  hooks: 'control',
  info: 'control',
  commondir: 'control',
  modules: 'control',
  worktrees: 'control',
  objects: 'content',
  refs: 'content',
};

/** What a file or folder right below a repository's folder is: 'control' tells git what to do, 'content' is its data. */
export type RepositoryPart = 'control' | 'content';

export function repositoryPart(name: string): RepositoryPart | undefined {
  return REPOSITORY_PARTS[folded(name)];
}

/** Nothing to fold but its case. */
const PLAIN = /^[\x21-\x7e]*[\x21-\x2d\x2f-\x7e]$/;

/** Case, compatible forms, invisible characters, and dots and spaces at the end, which Windows drops. */
function folded(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[. ]+$/, '');
}
