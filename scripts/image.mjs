// Follows the Dockerfile without Docker: `node scripts/image.mjs <folder>` leaves the last stage's files in <folder>.
// It runs the lines that decide what is in the image (WORKDIR, COPY and RUN npm) and names the others that it left out.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { root } from './prepare.mjs';

/** They say how the container runs, or what a build can be given, not what is in it. */
const SETTINGS = [
  'ARG',
  'ENV',
  'LABEL',
  'USER',
  'VOLUME',
  'EXPOSE',
  'STOPSIGNAL',
  'HEALTHCHECK',
  'CMD',
];

const LEFT_OUT =
  /\.spec\.tsx?$|(^|\/)node_modules$|^acp\/dist$|^client\/(dist|src\/generated|python\/plinth\/generated)$/;

const target = resolve(process.argv[2] ?? 'image');
const stages = [];

for (const line of instructions()) {
  const [word, ...rest] = line.split(/\s+/);
  if (word === 'FROM') startStage(rest);
  else if (word === 'WORKDIR') stages.at(-1).workdir = rest[0];
  else if (word === 'COPY') copy(rest);
  else if (word === 'RUN' && rest[0] === 'npm') runNpm(rest);
  else if (SETTINGS.includes(word) || word === 'RUN') console.log(`not run: ${line.slice(0, 100)}`);
  else throw new Error(`scripts/image.mjs does not know the instruction ${word}.`);
}
const last = stages.at(-1);
renameSync(inStage(last, last.workdir), target);
console.log(`The image's ${last.workdir} is in ${target}`);

function instructions() {
  return readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function startStage([image, , name = 'image']) {
  const folder = join(`${target}-stages`, name);
  mkdirSync(folder, { recursive: true });
  stages.push({ name, image, folder, workdir: '/' });
}

/** Where a path of a stage's file system is on this machine. */
function inStage({ folder, workdir }, path) {
  return join(folder, resolve(workdir, path));
}

function copy(words) {
  const option = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  const to = paths.pop();
  const stage = stages.at(-1);
  const from = stages.find(({ name }) => name === option);
  for (const path of paths) {
    const source = from ? inStage(from, path) : join(root, path);
    if (!existsSync(source)) throw new Error(`COPY ${path}: there is no such file.`);
    const destination = inStage(stage, to.endsWith('/') ? join(to, basename(path)) : to);
    // The stages are folders of one file system, and none changes its files after they were copied from it.
    if (from && link(source, destination)) continue;
    cpSync(source, destination, { recursive: true, verbatimSymlinks: true, filter: isKept });
  }
}

/** What .dockerignore keeps out of the folders that the Dockerfile copies. */
function isKept(path) {
  const place = relative(root, path);
  return place.startsWith('..') || !LEFT_OUT.test(place);
}

function runNpm(command) {
  console.log(`${stages.at(-1).name}: ${command.join(' ')}`);
  if (command[1] === 'ci' && !command.includes('--omit=dev') && linkPackages()) return;
  if (command[1] === 'run') copyBuild();
  const { status, stdout, stderr } = spawnSync(command[0], command.slice(1), {
    cwd: inStage(stages.at(-1), '.'),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`);
}

/**
 * Gives the stage the packages of this tree, which the same lock file has installed: they need not be fetched twice. False
 * where they cannot be linked, such as across file systems.
 */
function linkPackages() {
  const target = inStage(stages.at(-1), '.');
  return ['node_modules', join('web', 'node_modules')]
    .filter((folder) => existsSync(join(root, folder)))
    .every((folder) => link(join(root, folder), join(target, folder)));
}

function link(source, destination) {
  mkdirSync(dirname(destination), { recursive: true });
  return spawnSync('cp', ['-alT', source, destination]).status === 0;
}

/** Gives the stage what this tree has built. The build keeps it only where the stage's sources have the same digest. */
function copyBuild() {
  const target = inStage(stages.at(-1), '.');
  const folders = ['dist', 'acp/dist', 'client/dist', 'client/src/generated'];
  for (const folder of folders) {
    if (existsSync(join(root, folder))) {
      cpSync(join(root, folder), join(target, folder), { recursive: true });
    }
  }
}
