import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { classifyPath, PROTECTED_FILES, PROTECTED_FOLDERS } from './protected-path.js';

describe('the protection of a path', () => {
  it.each([
    '.git',
    '.git/hooks/pre-commit',
    'a/b/.git/HEAD',
    'node_modules/x/.git/config',
    '.GIT/config',
    '.Git',
    '.ｇｉｔ/x',
    '．git/x',
    '.g\u200cit/x',
    '.git./x',
    '.git /x',
    'git~1/x',
  ])('of %j is that of git', (path) => {
    expect(classifyPath(path).protection).toBe('GIT');
  });

  it.each([
    ...PROTECTED_FOLDERS.map((folder) => `${folder}/x`),
    ...PROTECTED_FOLDERS,
    ...PROTECTED_FILES.map((name) => `a/b/${name.replace('*', 'x')}`),
    'a/b/.vscode/tasks.json',
    'node_modules/.bin/.agents/x',
    '.VsCode/x',
    '.ＶＳＣＯＤＥ/x',
    '.GitHub/WORKFLOWS/ci.yml',
    'a/.github/workflows',
    '.Bashrc',
    'home/.zshrc',
    'Jenkinsfile',
    '.githooks/pre-push',
    'lefthook.yml',
    'sub/.zed/tasks.json',
    '.gemini/settings.json',
    '.windsurf/hooks.json',
    '.kiro/hooks/x',
    '.roo/mcp.json',
    '.continue/config.yaml',
    '.opencode/plugin/x.ts',
    '.trae/mcp.json',
    '.fleet/run.json',
    'mise.toml',
    '.buildkite/pipeline.yml',
    '.drone.yml',
    '.woodpecker.yml',
    'appveyor.yml',
    'cloudbuild.yaml',
    '.xprofile',
    '.lldbinit',
    '.bazelrc',
    '.hg/hgrc',
    'a/_darcs/prefs/defaults',
    'CVS/Root',
    '.devcontainer.json',
    '.forgejo/workflows/a.yml',
    'opencode.json',
    '.aider.conf.yml',
    '.nvim.lua',
    '.cargo/config.toml',
    '.mvn/jvm.config',
    '.Rprofile',
    'team.code-workspace',
    '.run/All.run.xml',
  ])('of %j is that of settings', (path) => {
    expect(classifyPath(path).protection).toBe('PROTECTED');
  });

  it.each([
    '',
    'src/main.ts',
    '.github/CODEOWNERS',
    'workflows/ci.yml',
    '.gitignore',
    'git/x',
    'a.git/x',
    '.gitx',
    'vscode/x',
    // Notes that people let agents edit
    'cargo/config.toml',
    'config.toml',
    'code-workspace.md',
    'aider.md',
    'claude.md',
    'AGENTS.md',
    'bashrc',
  ])('of %j is none', (path) => {
    expect(classifyPath(path).protection).toBe('NONE');
  });

  it.each([
    '.env',
    '.env.local',
    '.envrc',
    '.ENV',
    '.ｅｎｖ',
    'a/.env.production',
    'server.pem',
    'a/tls.KEY',
    'store.p12',
    'id_rsa',
    'id_ed25519',
    'id_ed25519_sk',
    'id_rsa.old',
    'id_deploy',
    '.npmrc',
    'node_modules/x/.npmrc',
    '.netrc',
    '.pgpass',
    'credentials',
    'credentials.json',
    '.aws/credentials',
    '.aws/config',
    '.git-credentials',
    '.git/config',
    'a/.git/modules/lib/config',
    '.git/worktrees/fix/config.worktree',
    'a/.ssh/config',
    'service-account.json',
    'app.jks',
    'prod.env',
    'secrets.yml',
    'terraform.tfvars',
    '.my.cnf',
    '.vault-token',
    '.env.pub',
    'credentials.pub',
    'a/.hg/hgrc',
    '.docker/config.json',
    `a/.plinth-${'0'.repeat(32)}.tmp`,
  ])('makes %j a secret', (path) => {
    expect(classifyPath(path).secret).toBe(true);
  });

  it.each([
    '.env.example',
    '.env.sample',
    'a/.env.template',
    'example.env',
    'env.ts',
    'secrets.ts',
    'src/keyboard.ts',
    'id_rsa.pub',
    'id_map.ts',
    'pem.txt',
    'my-credentials.md',
    'docker/config.json',
    'config.json',
    '.git/HEAD',
    'git/modules/lib/config',
  ])('makes %j no secret', (path) => {
    expect(classifyPath(path).secret).toBe(false);
  });

  it('is the same however a name is written', () => {
    const name = fc.constantFrom('.git', '.vscode', '.mcp.json', '.env', 'id_rsa');
    const above = fc.array(fc.constantFrom('a', 'node_modules', 'ü'));
    fc.assert(
      fc.property(fc.mixedCase(name), above, (written, folders) => {
        const path = [...folders, written].join('/');
        expect(classifyPath(path)).toEqual(classifyPath(written.toLowerCase()));
      }),
    );
  });
});
