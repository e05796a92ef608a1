/**
 * Files and folders by which a workspace acts on its host: programs of developers run what they name, or obey them, when the folder is
 * opened, entered, committed, or pushed. Code of the project, and what a build of it reads, is none of them: a person starts that.
 */
export interface ObeyedFiles {
  /** The kind of program that obeys them. */
  readonly by: string;
  /** Where that is documented. */
  readonly source: string;
  /** All that is in such a folder, at any depth. A name with a slash counts in that folder alone. */
  readonly folders?: readonly string[];
  /** Names without regard to case; `*` stands for any text. A name with a slash counts in that folder alone. */
  readonly files?: readonly string[];
}

/** Of version control. Unlike all others its folders count in folders of packages, too. */
export const VERSION_CONTROL: ObeyedFiles = {
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

export const OBEYED_FILES: readonly ObeyedFiles[] = [
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
