// `npm run check` runs every stage and says at the end which ones failed. `npm run check:changed` checks the files that differ
// from the main branch (on it: from the last commit): their format, lint, the types of their projects, and their suites.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { servers } from '../test/places.mjs';
import { node, root } from './prepare.mjs';

// `lint` reports what the compiler reports as well.
const STAGES = ['format', 'lint', 'dependencies', 'unused', 'config', 'size'];
const PROJECTS = ['acp', 'client', 'web'];
const tool = (...path) => join(root, 'node_modules', ...path);
const failed = [];

if (process.argv.includes('--changed')) checkChanged();
else for (const name of STAGES) stage(name, 'npm', ['run', '--silent', `check:${name}`]);

console.log(failed.length === 0 ? 'Everything passed.' : `Failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function stage(name, command, args, environment = process.env) {
  const start = performance.now();
  console.log(`== ${name}`);
  const { status } = spawnSync(command, args, { cwd: root, env: environment, stdio: 'inherit' });
  if (status !== 0) failed.push(name);
  const seconds = Math.round((performance.now() - start) / 1_000);
  console.log(`== ${name}: ${status === 0 ? 'passed' : 'FAILED'}, ${seconds} s`);
}

function checkChanged() {
  const files = changedFiles();
  const sources = files.filter((file) => /\.(ts|tsx|mts|mjs)$/.test(file));
  if (files.length === 0) return console.log('No file has changed.');
  stage('format', node, [
    tool('oxfmt', 'bin', 'oxfmt'),
    '--check',
    '--no-error-on-unmatched-pattern',
    ...files,
  ]);
  if (sources.length === 0) return;
  stage('lint', node, [tool('oxlint', 'bin', 'oxlint'), '--disable-nested-config', ...sources]);
  for (const project of projectsOf(sources)) stage(`types of ${project}`, node, typesOf(project));
  const suites = suitesOf(sources);
  if (suites.length === 0) return console.log('No suite stands beside these files.');
  const environment = { ...process.env };
  for (const { variable } of servers) delete environment[variable];
  stage(
    'suites',
    node,
    [tool('jest', 'bin', 'jest.js'), '--runTestsByPath', ...suites],
    environment,
  );
}

/** Files that are added or changed since the branch left main, committed or not. */
function changedFiles() {
  const head = git('rev-parse', 'HEAD')[0];
  const mergeBase = git('merge-base', 'HEAD', 'main')[0] ?? head;
  const since =
    mergeBase === head ? (git('rev-parse', '--verify', '--quiet', 'HEAD~1')[0] ?? head) : mergeBase;
  const names = [
    ...git('diff', '--name-only', '--diff-filter=d', since),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
  return [...new Set(names)];
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
}

function projectsOf(files) {
  const projects = files.map((file) => PROJECTS.find((name) => file.startsWith(`${name}/`)) ?? '.');
  return new Set(projects);
}

function typesOf(project) {
  const folder = tool('.cache');
  mkdirSync(folder, { recursive: true });
  const state = join(folder, `types-${project.replace('.', 'service')}.tsbuildinfo`);
  const compiler = tool('typescript-7', 'bin', 'tsc');
  return [compiler, '--noEmit', '--incremental', '--tsBuildInfoFile', state, '--project', project];
}

/** The changed suites, and for each other file the suite of its name, or those of its folder. */
function suitesOf(files) {
  const suites = files.flatMap((file) => {
    if (file.endsWith('.spec.ts')) return [file];
    if (!file.endsWith('.ts')) return [];
    const suite = file.replace(/\.ts$/, '.spec.ts');
    if (existsSync(join(root, suite))) return [suite];
    const folder = dirname(file);
    return readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.spec.ts'))
      .map((name) => join(folder, name));
  });
  return [...new Set(suites)];
}
