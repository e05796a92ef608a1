import type { PathProtection } from '../protocol/policy.js';
import { OBEYED_FILES, VERSION_CONTROL } from './obeyed-files.js';

export interface PathClass {
  readonly protection: PathProtection;
  /** Its content is likely to be a credential. */
  readonly secret: boolean;
}

/** Folders of the table, all in lower case. */
export const PROTECTED_FOLDERS: readonly string[] = OBEYED_FILES.flatMap(
  ({ folders = [] }) => folders,
);

/** Files of the table, some of them with a `*`. */
export const PROTECTED_FILES: readonly string[] = OBEYED_FILES.flatMap(({ files = [] }) => files);

const VERSION_CONTROL_FOLDERS: ReadonlySet<string> = new Set(VERSION_CONTROL.folders);

/** Endings of settings: source code may be named `secrets`. */
const SECRET_ENDINGS = ['yml', 'yaml', 'json', 'toml', 'ini', 'properties', 'xml', 'txt', 'env'];
const SECRET_PLACES = ['.docker/config.json', '.kube/config', '.config/gh/hosts.yml', '.hg/hgrc'];

/** What classifyPath calls secret, as patterns of gitignore without regard to case; the samples of `.env` included. */
export const SECRET_PATTERNS: readonly string[] = [
  ...[
    '.env*',
    '*.env',
    '*.pem',
    '*.key',
    '*.p12',
    '*.pfx',
    '*.jks',
    '*.keystore',
    '*.kdbx',
    '*.ppk',
  ],
  ...['*.ovpn', '*.tfvars', '*.tfvars.json', '*.tfstate', '*.tfstate.backup'],
  ...['id_rsa*', 'id_dsa*', 'id_ecdsa*', 'id_ed25519*'],
  ...['.npmrc', '.netrc', '_netrc', '.pgpass', 'pgpass.conf', '.pypirc', '.htpasswd', '.my.cnf'],
  ...['.mylogin.cnf', '.s3cfg', '.boto', '.dockercfg', '.terraformrc', 'terraform.rc'],
  ...['.vault-token', '.vault_pass*', '.git-credentials', 'kubeconfig', '*.kubeconfig'],
  ...['rclone.conf', '.rclone.conf', 'local.settings.json', 'sftp-config.json'],
  ...['credentials*', '*-credentials.json', '*_credentials.json', 'client_secret*.json'],
  ...['*service-account*.json', '*service_account*.json', '*serviceaccount*.json'],
  ...['*firebase-adminsdk*.json', 'application_default_credentials.json'],
  ...['.secret', '.secrets'],
  ...SECRET_ENDINGS.flatMap((ending) => [`secret.${ending}`, `secrets.${ending}`]),
  ...['.ssh', '.aws', '.gnupg'],
  ...SECRET_PLACES.map((place) => `**/${place}`),
  '**/.git/config',
  // What the harness itself had not finished writing when it was stopped (unfinished-file.ts).
  '.plinth-*.tmp',
];

/** They show which variables there are, and no value. */
const SAMPLE = /^\.env\.(example|sample|template|dist)$|^(example|sample|template)\.env$/;
/** The public half of a key is no secret, and neither is source code that merely begins with id_. */
const PUBLIC_KEY = /^id_.*\.pub$/;
const PRIVATE_KEY_NAME = /^id_[^.]+$/;
/** In a folder of git, also for a submodule or a worktree: addresses of remotes may hold passwords. */
const GIT_CONFIG = /^config(\.worktree)?$/;

const PROTECTED = [...PROTECTED_FOLDERS, ...PROTECTED_FILES];
const NAMES: ReadonlySet<string> = new Set(PROTECTED.filter((name) => !/[/*]/.test(name)));
/** Places that only count in a certain folder. */
const PLACES: ReadonlySet<string> = new Set(PROTECTED.filter((name) => name.includes('/')));
const PATTERN = anyOf(PROTECTED.filter((name) => name.includes('*')));
const SECRET_NAME = anyOf(SECRET_PATTERNS.filter((pattern) => !pattern.includes('/')));
const LAST_NAMES: ReadonlySet<string> = new Set(
  [...PLACES, ...SECRET_PLACES].map((path) => path.slice(path.lastIndexOf('/') + 1)),
);

/** Whether a name is one of these, in which `*` stands for any text. */
function anyOf(names: readonly string[]): RegExp {
  const alternatives = names.map((name) =>
    name.replace(/[.+]/g, String.raw`\$&`).replaceAll('*', '.*'),
  );
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}

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
  return NAMES.has(name) || PLACES.has(place) || PATTERN.test(name) ? 'PROTECTED' : 'NONE';
}

/** Whether version control other than git keeps its state in a folder of this name. */
export function isVersionControl(name: string): boolean {
  return VERSION_CONTROL_FOLDERS.has(folded(name));
}

/** A folder may have such a name: what is in it is as secret as it. */
function isSecretName(name: string): boolean {
  if (SAMPLE.test(name) || PUBLIC_KEY.test(name)) return false;
  return SECRET_NAME.test(name) || PRIVATE_KEY_NAME.test(name);
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
