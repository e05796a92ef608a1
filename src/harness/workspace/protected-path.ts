import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { PathProtection } from '../protocol/policy.js';
import type { OpenFile } from '../../platform/filesystem/index.js';

/**
 * Files and folders by which a workspace acts on its host: programs of developers run what they name, or obey them, when the folder is
 * opened, entered, committed, or pushed. Code of the project, and what a build of it reads, is none of them: a person starts that.
 */
interface ObeyedFiles {
  /** The kind of program that obeys them. */
  readonly by: string;
  /** Documentation of the behaviour. */
  readonly source: string;
  /** All that is in such a folder, at any depth. A name with a slash counts in that folder alone. */
  readonly folders?: readonly string[];
  /** Names without regard to case; `*` stands for any text. A name with a slash counts in that folder alone. */
  readonly files?: readonly string[];
}

/** Files of version control. Unlike all others, these folders also count in package folders. */
const VERSION_CONTROL: ObeyedFiles = {
  by: 'version control',
  source:
    'Mercurial: hgrc(5) [hooks] and [extensions]. Sapling: sapling-scm.com, "Configuration". Jujutsu: jj-vcs.dev, "Settings" (fix.tools, ui.editor). Subversion: svn-book, "Externals Definitions". Breezy: bzr help configuration. Darcs: darcs.net, "posthook" in _darcs/prefs/defaults. Fossil: fossil-scm.org, "Hooks". CVS: cvs manual, CVS/Root with :ext:. repo: .repo/repo/main.py is run. git: githooks(5), gitattributes(5), gitmodules(5)',
  folders: [
    ...['.hg', '.sl', '.jj', '.svn', '.bzr', '_darcs', '.fossil', '.fossil-settings', '.pijul'],
    ...['_mtn', '.repo', 'cvs'],
  ],
  files: [
    ...['.hgrc', '.hgsub', '.hgsubstate', '.fslckout', '_fossil_', '.arcconfig', '.arclint'],
    ...['.gitmodules', '.gitattributes', '.gitconfig'],
  ],
};

const OBEYED_FILES: readonly ObeyedFiles[] = [
  VERSION_CONTROL,
  {
    by: 'agents',
    source:
      'Claude Code: code.claude.com/docs, "Hooks" and "MCP". Codex: developers.openai.com/codex, "Configuration". Cursor: cursor.com/docs, "Hooks". Gemini CLI: settings.json. Windsurf, Kiro, Roo, Continue, Trae, Cline, Qwen Code, Amazon Q, Factory, Junie, Augment, Goose: hooks and MCP servers of a project. opencode: opencode.ai/docs/config. Crush: crush.json (mcp, lsp). aider: aider.chat, lint-cmd and test-cmd in .aider.conf.yml. GitHub Copilot: .github/hooks',
    folders: [
      ...['.agents', '.claude', '.codex', '.cursor', '.gemini', '.windsurf', '.kiro', '.roo'],
      ...['.continue', '.opencode', '.trae', '.crush', '.cline', '.clinerules', '.kilocode'],
      ...['.qwen', '.amazonq', '.factory', '.junie', '.augment', '.goose', '.codebuddy', '.pi'],
      ...['.github/hooks', '.github/agents'],
    ],
    files: [
      ...['.mcp.json', 'mcp.json', 'opencode.json', 'opencode.jsonc', 'crush.json', '.crush.json'],
      '.aider*',
    ],
  },
  {
    by: 'editors',
    source:
      'VS Code: code.visualstudio.com/docs, "Tasks" and "Workspaces". JetBrains: "Run/debug configurations" (.run). Zed: zed.dev/docs/tasks. Vim: :help exrc and .vimrc. Neovim: :help exrc (.nvim.lua, .nvimrc). Emacs: "Per-Directory Local Variables". Helix: .helix/languages.toml. Sublime Text: build systems of a project. YouCompleteMe: .ycm_extra_conf.py. Sourcegraph, Nova: project settings',
    folders: ['.vscode', '.idea', '.run', '.zed', '.fleet', '.helix', '.nova', '.vim'],
    files: [
      ...['*.code-workspace', '*.sublime-project', '*.sublime-workspace', '.exrc', '.vimrc'],
      ...['.gvimrc', '.lvimrc', '.nvimrc', '.nvim.lua', '.dir-locals*', '.emacs', '.projectile'],
      '.ycm_extra_conf.py',
    ],
  },
  {
    by: 'environments of development',
    source:
      'containers.dev, "devcontainer.json" (lifecycle scripts, .devcontainer.json at the root). Gitpod: .gitpod.yml. Replit: .replit. Firebase Studio: .idx/dev.nix. devfile.io. direnv: .envrc. mise: mise.jdx.dev, "Hooks". asdf: .tool-versions. devbox.json and devenv.nix: hooks of the shell',
    folders: ['.devcontainer', '.gitpod', '.idx', '.mise'],
    files: [
      ...['.devcontainer.json', '.gitpod.yml', '.gitpod.yaml', '.replit', 'devfile.yaml'],
      ...['.devfile.yaml', '.envrc', 'mise.toml', '.mise.toml', 'mise.*.toml', '.mise.*.toml'],
      ...['.tool-versions', 'devbox.json', 'devenv.nix'],
    ],
  },
  {
    by: 'hooks of commits',
    source:
      'pre-commit.com. lefthook.dev, "Configuration". typicode.github.io/husky. github.com/sds/overcommit. github.com/toplenboren/simple-git-hooks. github.com/lint-staged/lint-staged. captainhook.info. grumphp: github.com/phpro/grumphp. docs.trunk.io',
    folders: ['.husky', '.githooks', '.git-hooks', '.lefthook', '.overcommit', '.trunk'],
    files: [
      ...['.pre-commit-config.yaml', '.pre-commit-config.yml', '.pre-commit-hooks.yaml'],
      ...['lefthook.*', '.lefthook.*', 'lefthook-local.*', '.lefthook-local.*', '.huskyrc*'],
      ...['.overcommit.yml', '.simple-git-hooks.*', 'simple-git-hooks.*', '.lintstagedrc*'],
      ...['lint-staged.config.*', 'captainhook.json', 'grumphp.yml', 'grumphp.yml.dist'],
    ],
  },
  {
    by: 'pipelines',
    source:
      'GitHub: docs.github.com/actions. GitLab: docs.gitlab.com/ci/yaml. Forgejo and Gitea: workflows in .forgejo and .gitea. TeamCity: "Kotlin DSL" (.teamcity). CircleCI, Buildkite, Woodpecker, Drone, Travis, AppVeyor, Bitbucket, Azure, Jenkins, Google Cloud Build, Cirrus, Semaphore, sourcehut, Tekton, Zuul, Codemagic, Bitrise, AWS CodeBuild, Harness: file of the repository',
    folders: [
      ...['.github/workflows', '.github/actions', '.forgejo', '.gitea', '.gitlab', '.teamcity'],
      ...['.circleci', '.buildkite', '.woodpecker', '.semaphore', '.builds', '.tekton', '.harness'],
      ...['.zuul.d', '.azure-pipelines', '.azuredevops'],
    ],
    files: [
      ...['.gitlab-ci*', '.travis.yml', 'bitbucket-pipelines.yml', 'azure-pipelines*'],
      ...['jenkinsfile*', '.drone.*', '.woodpecker.*', 'appveyor.yml', '.appveyor.yml'],
      ...['cloudbuild.yaml', 'cloudbuild.yml', '.cirrus.*', '.build.yml', '.zuul.yaml'],
      ...['codemagic.yaml', 'bitrise.yml', 'buildspec.yml', 'buildspec.yaml', '.vela.yml'],
      'screwdriver.yaml',
    ],
  },
  {
    by: 'tools of builds and packages',
    source:
      'Cargo: doc.rust-lang.org/cargo, "Configuration" (runner, linker, rustc-wrapper). Maven: .mvn/extensions.xml and jvm.config. Gradle: init scripts. Bazel: .bazelrc. npm, Yarn and pnpm: .npmrc, yarnPath, .pnpmfile.cjs. Bun: preload in bunfig.toml. Bundler: .bundle/config. RubyGems: .gemrc. pip: pip.conf. NuGet: nuget.config. Ansible: ansible.cfg of the folder. sbt and JVM: .sbtopts, .jvmopts',
    folders: ['.mvn', '.yarn/releases', '.yarn/plugins'],
    files: [
      ...[
        '.cargo/config.toml',
        '.cargo/config',
        '.bundle/config',
        '.bazelrc',
        '.npmrc',
        '.yarnrc',
        '.yarnrc.yml',
      ],
      ...['.pnpmfile.cjs', 'bunfig.toml', '.bunfig.toml', 'init.gradle', 'init.gradle.kts'],
      ...['.gemrc', 'pip.conf', 'nuget.config', 'ansible.cfg', '.ansible.cfg', '.sbtopts'],
      '.jvmopts',
    ],
  },
  {
    by: 'shells and sessions',
    source:
      'bash(1), zsh(1), ksh(1), csh(1), fish(1), "Files". readline: .inputrc. X: .xprofile, .xinitrc, .xsession. pam_env(8). tmux(1), screen(1). OpenSSH: ssh_config(5). curl(1) and wget(1): .curlrc, .wgetrc. ripgrep, ack: --pre and --pager in .ripgreprc and .ackrc',
    folders: ['.ssh', '.gnupg'],
    files: [
      ...['.profile', '.xprofile', '.xinitrc', '.xsession', '.xsessionrc', '.pam_environment'],
      ...['.login', '.logout', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout'],
      ...['.bash_aliases', '.zshrc', '.zprofile', '.zshenv', '.zlogin', '.zlogout', '.kshrc'],
      ...['.cshrc', '.tcshrc', 'config.fish', '.inputrc', '.tmux.conf', '.screenrc', '.curlrc'],
      ...['.wgetrc', '.ripgreprc', '.ackrc'],
    ],
  },
  {
    by: 'interpreters and debuggers',
    source:
      'GDB: .gdbinit. LLDB: .lldbinit. R: ?Startup (.Rprofile, .Renviron). irb and pry: .irbrc, .pryrc. pdb: .pdbrc. GHCi: .ghci. OCaml: .ocamlinit. Elixir: .iex.exs. Erlang: .erlang. Octave: .octaverc. PsySH: .psysh.php. psql: .psqlrc. SQLite: .sqliterc. mongosh: .mongoshrc.js. rizin and radare2: .rizinrc, .radare2rc. sbcl: .sbclrc',
    files: [
      ...['.gdbinit', '.gdbearlyinit', '.lldbinit', '.rprofile', '.renviron', '.irbrc', '.pryrc'],
      ...['.pdbrc', '.pdbrc.py', '.pythonrc', '.pythonrc.py', '.pythonstartup', '.ghci'],
      ...['.ocamlinit', '.iex.exs', '.erlang', '.octaverc', '.psysh.php', '.psqlrc', '.sqliterc'],
      ...['.mongorc.js', '.mongoshrc.js', '.rizinrc', '.radare2rc', '.sbclrc', '.utoprc'],
    ],
  },
];

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

/** Paths that classifyPath calls secret, as case-insensitive gitignore patterns; samples of `.env` included. */
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
  // Unfinished writes of the harness itself (unfinished-file.ts).
  '.plinth-*.tmp',
];

/** Samples, which list variables without values. */
const SAMPLE = /^\.env\.(example|sample|template|dist)$|^(example|sample|template)\.env$/;
/** The public half of a key is no secret, and neither is source code that merely begins with id_. */
const PUBLIC_KEY = /^id_.*\.pub$/;
const PRIVATE_KEY_NAME = /^id_[^.]+$/;
/** Files in a folder of git, also for a submodule or a worktree: addresses of remotes may hold passwords. */
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

/** Whether a name is one of these, in which `*` matches any text. */
function anyOf(names: readonly string[]): RegExp {
  const alternatives = names.map((name) =>
    name.replace(/[.+]/g, String.raw`\$&`).replaceAll('*', '.*'),
  );
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}

/** Class of an unrestricted path. */
export const UNPROTECTED: PathClass = { protection: 'NONE', secret: false };

/**
 * Protection of a path, at any depth and also in folders such as node_modules. Names are compared as on a file system
 * that ignores case and differences between compatible characters: `.GIT`, `.ｇｉｔ` and `.git` are one.
 */
export function classifyPath(path: string): PathClass {
  let above = '';
  let pathClass = UNPROTECTED;
  for (const name of path.split('/')) {
    pathClass = classifyName(name, above, pathClass);
    above = name;
  }
  return pathClass;
}

/** Same as `classifyPath`, for a name in a folder whose name and class are known. */
export function classifyName(name: string, folder: string, folderClass: PathClass): PathClass {
  const foldedName = folded(name);
  const place = LAST_NAMES.has(foldedName) ? `${folded(folder)}/${foldedName}` : '';
  const protection = stricter(folderClass.protection, protectionOf(foldedName, place));
  const isGitConfig = folderClass.protection === 'GIT' && GIT_CONFIG.test(foldedName);
  const isNamedSo = isSecretName(foldedName) || SECRET_PLACES.includes(place) || isGitConfig;
  const secret = folderClass.secret || isNamedSo;
  return protection === 'NONE' && !secret ? UNPROTECTED : { protection, secret };
}

function stricter(one: PathProtection, other: PathProtection): PathProtection {
  if (one === 'GIT' || other === 'GIT') return 'GIT';
  return one === 'NONE' ? other : one;
}

function protectionOf(name: string, place: string): PathProtection {
  // NTFS may call a .git folder git~1.
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
  const foldedNames = new Set(names.map(folded));
  return (
    foldedNames.has('head') &&
    (foldedNames.has('commondir') || (foldedNames.has('objects') && foldedNames.has('refs')))
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

/** Entries right below a repository's folder: 'control' tells git what to do, 'content' is its data. */
export type RepositoryPart = 'control' | 'content';

export function repositoryPart(name: string): RepositoryPart | undefined {
  return REPOSITORY_PARTS[folded(name)];
}

/** ASCII names, in which only the case is folded. */
const PLAIN = /^[\x21-\x7e]*[\x21-\x2d\x2f-\x7e]$/;

/** Folds case, compatible forms, invisible characters, and dots and spaces at the end, which Windows drops. */
function folded(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[. ]+$/, '');
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Bytes read per file. A longer file with the name of a secret counts as one without being read. */
const MAX_READ_BYTES = 256 * 1_024;

/** Their content says nothing that could be looked for: keys in a binary form, lists of passwords, one bare token. */
const ALWAYS =
  /\.(p12|pfx|jks|keystore|kdbx)$|^(id_(rsa|dsa|ecdsa|ed25519).*|\.(git-credentials|netrc|pgpass|htpasswd|vault-token|vault_pass.*|mylogin\.cnf)|_netrc|pgpass\.conf|\.plinth-.*\.tmp)$/;

/** Text files for people, in which a token may be an example. */
const TEXT_NAME = /\.(txt|csv)$/;

/**
 * Names of settings and of data that programs are configured with. In such a file, whatever it is called, a private key or a token of a
 * known form counts; in a text for people a private key. Source code is left out: its tests are full of examples.
 */
const SETTINGS_NAME =
  /^\.[^.]+$|^[^.]+$|\.(json[5c]?|ya?ml|toml|ini|cfg|cnf|conf|config|properties|xml|plist|env|tfvars|tfstate|txt|csv|asc|gpg|ppk|bak|old|orig|backup|secret|secrets|token|creds?)$/;

/*
 * All patterns are read in time in proportion to the text, whatever it is: files are looked at between other requests. So
 * a part that may be long ends at a character with which no other match can begin.
 */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|PuTTY-User-Key-File-\d: |-----BEGIN OpenVPN Static key|AGE-SECRET-KEY-1[0-9A-Z]{50}|^PrivateKey\s*=\s*[A-Za-z0-9+/]{42,43}=/m;

/** The same with its content: texts about keys have the first line alone. */
const WHOLE_PRIVATE_KEY =
  /(?:PRIVATE KEY(?: BLOCK)?|Static key V1)-----[^]{0,200}?[A-Za-z0-9+/]{30}|SSH2 ENCRYPTED PRIVATE KEY ----|PuTTY-User-Key-File-\d: |AGE-SECRET-KEY-1[0-9A-Z]{50}|^PrivateKey\s*=\s*[A-Za-z0-9+/]{42,43}=/m;

/** Forms of tokens as the services document them; those of 2026-11 in the rules of gitleaks and secretlint. */
const TOKENS: readonly RegExp[] = [
  // AWS, GitHub, GitLab, Slack, Google, Stripe, OpenAI and Anthropic
  /\b((?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}|gh[pousr]_\w{30,}|github_pat_\w{30,}|gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|soat)-[\w-]{20}|xox[abeprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1\/\/0[\w-]{30,}|[rs]k_live_\w{16,}|whsec_\w{20,}|sk-[\w-]{20,})/,
  // HashiCorp, DigitalOcean, Shopify, SendGrid, npm, PyPI, RubyGems, NuGet, Atlassian, Docker, Hugging Face, Linear, Databricks,
  // Postman, Pulumi, Tailscale, Figma, Telegram, Square
  /\b(hv[sbr]\.[\w-]{20,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|SG\.[\w-]{16,}\.[\w-]{16,}|npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{50,}|rubygems_[a-f0-9]{48}|oy2[a-z0-9]{43}|ATATT3[\w=-]{50,}|dckr_[po]at_[\w-]{20,}|hf_[A-Za-z]{30,}|lin_api_\w{40}|dapi[a-f0-9]{32}|PMAK-[a-f0-9]{24}|pul-[a-f0-9]{40}|tskey-[a-z]+-[\w-]{20,}|figd_[\w-]{40}|\d{8,10}:AA[\w-]{33}|sq0csp-[\w-]{43})/,
];

const PATTERNS: readonly RegExp[] = [
  PRIVATE_KEY,
  ...TOKENS,
  // The password in an address; a reference to a variable is none.
  /:\/\/[^\s/:@'"]*:(?!(?:\$\w+|\$\{\w+\}|%\w+%|[{<][^\s/@'"]*)@)[^\s/@'"]{3,}@/,
  // The same in the list of a connection string, as in Endpoint=…;AccountKey=…
  /[;=]["']?\s*(account_?key|shared_?access_?(?:key|signature)|password|pwd)\s*=\s*(?!\$\w+(?:[;"'\s]|$)|\$\{\w+\}|[%{<])[^\s;"']{3,}/i,
  // Addresses that are enough to post a message
  /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/-]{20,}|\bdiscord(?:app)?\.com\/api\/webhooks\/\d+\/[\w-]{20,}/i,
  // .npmrc, .yarnrc.yml, .pypirc, git's extra headers
  /(_auth|_authtoken|_password|npmauthtoken|npmauthident)["']?\s*[=:]\s*(?!["']?(?:[%{<]|\$\w+["']?(?:\s|$)|\$\{))\S{6,}/i,
  /authorization["']?\s*[=:]\s*["']?(basic|bearer|token)\s+(?![$%{<])\S{6,}/i,
  // JSON web tokens
  /\.(?<=\beyJ[\w-]{10,}\.)eyJ[\w-]{10,}\.[\w-]+/,
];

/** `NAME_WITH_A_WORD_OF_THESE = value`, in the forms of shells, YAML, JSON and INI files. */
const ASSIGNMENT =
  /^[ \t]*(?:export\s+)?["']?(?=[\w.-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|private|(?:api|access|account|admin|aes|app|auth|cipher|cookie|crypto|encrypt|encryption|hmac|jwt|license|master|root|server|service|session|shared|sign|signing|storage)[_-]?key|(?<![a-z])pw(?![a-z])|auth(?!or)|dsn|salt))[\w.-]+["']?[ \t]*[=:][ \t]*(.*)$/gim;
/** Placeholders and switches, which are no secret values. */
const NO_VALUE =
  /^(true|false|yes|no|on|off|null|none|undefined|\d{1,5}|change_?-?me.*|replace_?-?me.*|example.*|dummy.*|fake.*|test(ing)?|secret|password|x+|\*+|\.+|todo|your[-_ ].*|<.*>|\$\w+|\$\{[\w.]+(?::?\?[^}]*|:?-)?\}|%[\w().-]+%|\{.*)$/i;
/** A random text of some length, whatever it is called. */
const RANDOM = /[=:]\s*["']?(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[A-Za-z0-9+/_-]{32,}={0,2}["']?\s*$/im;

const KEY_FILE = /\.(pem|key)$/;
/** Certificates and public keys, as PEM has them. */
const PUBLIC_BLOCKS =
  /^(?:\s*-----BEGIN ([A-Z0-9 ]*(?:CERTIFICATE|PUBLIC KEY|PARAMETERS|CRL))-----[^-]*-----END \1-----)*\s*$/;
const SETTINGS_FILE = /^(\.(env.*|npmrc)|.*\.env)$/;
/** Nothing, a comment, a section or an assignment. */
const SETTING = /^\s*([#;].*|\[.*\]|(export\s+)?[^\s=]+\s*=.*)?$/;

interface NamedContent {
  /** The last name of its path. */
  readonly name: string;
  /** Whether its path is that of a secret (classifyPath). */
  readonly isNamedSo: boolean;
}

/** Whether the content of the file can make it a secret. */
export function isJudgedByContent({ name, isNamedSo }: NamedContent): boolean {
  return isNamedSo || SETTINGS_NAME.test(name.toLowerCase());
}

/**
 * Whether a file holds a secret, by its content. Whatever its name: a private key, or a token of a known form in settings. Of a file
 * that has the name of a secret also: a password in an address, a value of a variable whose name says that it is one, a random text.
 * A file with the name of a secret counts as one when it cannot be read, is not what its name says, or exceeds 256 KiB.
 */
export async function holdsSecret(path: Buffer, named: NamedContent): Promise<boolean> {
  if (!isJudgedByContent(named)) return false;
  if (named.isNamedSo && ALWAYS.test(named.name.toLowerCase())) return true;
  return isSecretContent(await beginningOf(path), named);
}

/** Same as `holdsSecret`, for an open file. */
export async function opensSecret(file: OpenFile, named: NamedContent): Promise<boolean> {
  if (!isJudgedByContent(named)) return false;
  return isSecretContent(await file.part(0, MAX_READ_BYTES + 1), named);
}

/** Same as `holdsSecret`, for the first 256 KiB and a byte of the content; undefined: it could not be read. */
export function isSecretContent(
  content: Buffer | undefined,
  { name, isNamedSo }: NamedContent,
): boolean {
  const lowerName = name.toLowerCase();
  if (!isNamedSo) {
    if (content === undefined || !SETTINGS_NAME.test(lowerName)) return false;
    const beginning = content.subarray(0, MAX_READ_BYTES);
    // A program may have such texts in it.
    if (beginning.includes(0)) return false;
    const text = beginning.toString('latin1');
    const holdsToken = !TEXT_NAME.test(lowerName) && TOKENS.some((token) => token.test(text));
    return holdsToken || WHOLE_PRIVATE_KEY.test(text);
  }
  if (ALWAYS.test(lowerName) || content === undefined) return true;
  if (content.length > MAX_READ_BYTES || content.includes(0)) return true;
  const text = content.toString('utf8');
  if (KEY_FILE.test(lowerName)) return !PUBLIC_BLOCKS.test(text);
  if (SETTINGS_FILE.test(lowerName) && !text.split('\n').every((line) => SETTING.test(line)))
    return true;
  return isSecret(text);
}

/** A configuration of git without what `holdsSecret` finds in it: addresses stay, passwords in them go. */
export async function withoutSecrets(path: Buffer): Promise<string> {
  const content = await beginningOf(path);
  const isRead = content !== undefined && content.length <= MAX_READ_BYTES && !content.includes(0);
  const lines = isRead ? content.toString('utf8').split('\n') : [];
  return lines.map((line) => withoutPassword(line)).join('\n');
}

function withoutPassword(line: string): string {
  const visible = line.replace(/:\/\/[^\s/@]*@/g, '://');
  return isSecret(visible) ? '# A line with a secret is not shown to commands.' : visible;
}

function isSecret(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text)) || RANDOM.test(text) || hasValue(text);
}

/*
 * Settings stand one to a line, or several in braces, or in elements and attributes of XML: all become lines. What begins a reference,
 * such as `${A}` or `{{ a }}`, is not torn apart.
 */
const BETWEEN = /(?<![$%{])[{[]|,/g;
const ELEMENT = /<([\w:.-]+)(?:\s[^<>]*)?>([^<>]*)(?=<\/)/g;
const NAMED_VALUE =
  /\b(?:key|name|id)\s*=\s*["']([\w:.-]+)["'][^<>]{0,200}?(?:\bvalue\s*=\s*["']|>)([^"'<>]*)/g;
const ATTRIBUTE = /\s([\w:.-]+)\s*=\s*["']([^"'<>]*)["']/g;
const PLIST = /<key>([^<>]*)<\/key>\s*<string>([^<>]*)/g;

function settingsIn(text: string): string {
  const lines = text.replaceAll(BETWEEN, '\n');
  if (!text.includes('<')) return lines;
  const pairs = [ELEMENT, NAMED_VALUE, ATTRIBUTE, PLIST].flatMap((form) =>
    [...text.matchAll(form)].map(([, name = '', value = '']) => `${name}="${value}"`),
  );
  return [lines, ...pairs].join('\n');
}

function hasValue(text: string): boolean {
  return [...settingsIn(text).matchAll(ASSIGNMENT)].some(([, rawValue = '']) => {
    const value = withoutClosing(rawValue.trim())
      .replace(/[,;]$/, '')
      .replace(/^(["'])(.*)\1.*$/, '$2')
      .replace(/\s#.*$/, '')
      .trim()
      .replace(/^["']+$/, '');
    return value !== '' && !NO_VALUE.test(value);
  });
}

/** The value without closing brackets that belong to an earlier line. */
function withoutClosing(value: string): string {
  if (/[{[]/.test(value)) return value;
  let end = value.length;
  while (end > 0 && '}] '.includes(value.charAt(end - 1))) end -= 1;
  return value.slice(0, end);
}

/** At most 256 KiB and a byte; undefined when it cannot be read. */
async function beginningOf(path: Buffer): Promise<Buffer | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, MAX_READ_BYTES) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
