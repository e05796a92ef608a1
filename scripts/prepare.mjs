// Runs on the system's Node and with nothing installed: only built-in modules, nothing newer than Node 20.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants as zlib, gzip } from 'node:zlib';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Node 24, as npm installed it. */
export const node = join(root, 'node_modules', '.bin', 'node');

/** What runs: the service and most of its packages in few files (scripts/bundle.mjs). dist/src has the same modules one by one. */
export const bundle = join(root, 'dist', 'bundle');

/** Packages with native code, or with files that they read beside themselves. The bundle does not contain them. */
export const EXTERNAL_PACKAGES = [
  '@electric-sql/pglite',
  '@electric-sql/pglite-pgvector',
  '@napi-rs/canvas',
  '@node-rs/argon2',
  '@resvg/resvg-js',
  '@vscode/ripgrep',
  'piscina',
  'svg-captcha',
  'swagger-ui-dist',
  'unpdf',
];

/** Where Node keeps what it has compiled of the bundle; the build leaves all of it there. */
export const compileCache = join(bundle, 'compiled');

const installStamp = join(root, 'node_modules', '.plinth-install');

const buildStamp = join(root, 'dist', '.plinth-build');
const buildInputs = [
  'src',
  'simulator',
  'ormconfig.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'nest-cli.json',
  'scripts/bundle.mjs',
  'scripts/prepare.mjs',
  'package-lock.json',
];

/** The OpenAPI document, which the client is made from: a change that leaves it as it is builds no client. */
const apiDocument = join('dist', 'openapi.json');
const clientStamp = join(root, 'client', 'dist', '.plinth-build');
const clientInputs = [
  apiDocument,
  'client/src',
  'client/document.mjs',
  'client/generate.mjs',
  'client/package.json',
  'client/tsconfig.json',
  'client/tsconfig.build.json',
  'package-lock.json',
];

const editorStamp = join(root, 'acp', 'dist', '.plinth-build');
const editorInputs = ['acp/src', 'acp/package.json', 'client/dist', 'package-lock.json'];

const consoleFolder = join('dist', 'web');
const consoleStamp = join(root, consoleFolder, '.plinth-build');
const consoleInputs = ['web', 'client/dist', 'package-lock.json'];

/** Kinds of files that get smaller, from this many bytes on. */
const COMPRESSED = ['.js', '.css', '.html', '.svg', '.json', '.wasm', '.txt'];
const COMPRESSED_BYTES = 1_024;

/** What a build or an editor leaves beside the sources, and suites. */
const noInputs = /^(generated|node_modules|\.plinth-build)$|\.spec\.tsx?$/;

/** Installs the packages of package-lock.json, unless that is what node_modules already holds. */
export function install() {
  // A tree that a container shares with its host must not run the other one's binaries.
  const wanted = `${digest(['package-lock.json'])} ${process.platform}-${process.arch}`;
  if (existsSync(node) && stampOf(installStamp) === wanted) return;
  console.log('Installing the packages (about a minute, only this time) …');
  // npm removes node_modules first, so it must not run on the Node in there.
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter);
  // Whatever NODE_ENV and npm's settings leave out: the build needs all of it, and Node comes by an install script.
  const whole = ['--include=dev', '--include=optional', '--ignore-scripts=false'];
  const flags = [...whole, '--no-audit', '--no-fund', '--loglevel=error'];
  quietly('npm', ['ci', ...flags], { ...process.env, PATH: path });
  writeFileSync(installStamp, wanted);
}

/** Builds the service, the client package, the agent of editors and the console, each unless its sources are those that it was built from. */
export async function build() {
  buildService();
  buildClient();
  buildEditorAgent();
  await buildConsole();
}

/** Compiles the sources into dist, bundles them, and puts the OpenAPI document and an empty database there. */
function buildService() {
  const wanted = digest(buildInputs);
  if (stampOf(buildStamp) === wanted) return;
  console.log('Building …');
  const built = join(root, 'dist');
  for (const name of existsSync(built) ? readdirSync(built) : []) {
    if (name !== 'web') rmSync(join(built, name), { recursive: true, force: true });
  }
  quietly(node, [join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build']);
  quietly(node, [join(root, 'scripts', 'bundle.mjs')]);
  quietly(node, [join(bundle, 'src', 'describe.js'), join(root, apiDocument)], {
    ...process.env,
    NODE_COMPILE_CACHE: compileCache,
  });
  quietly(node, [join(bundle, 'src', 'prepare-database.js')]);
  writeFileSync(buildStamp, wanted);
}

function buildClient() {
  const wanted = digest(clientInputs);
  if (stampOf(clientStamp) === wanted) return;
  console.log('Building the client …');
  const client = join(root, 'client');
  rmSync(join(client, 'dist'), { recursive: true, force: true });
  quietly(node, [join(client, 'generate.mjs'), join(root, apiDocument)]);
  const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');
  quietly(node, [compiler, '--project', join(client, 'tsconfig.build.json')]);
  writeFileSync(clientStamp, wanted);
}

/** Bundles the agent of editors and its packages into one file, which runs without an installation. */
function buildEditorAgent() {
  const wanted = digest(editorInputs);
  if (stampOf(editorStamp) === wanted) return;
  console.log('Building the agent of editors …');
  const folder = join(root, 'acp');
  const rolldown = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs');
  const flags = ['--platform', 'node', '--format', 'esm'];
  const files = [join(folder, 'src', 'main.ts'), '--file', join(folder, 'dist', 'main.js')];
  quietly(node, [rolldown, ...files, ...flags]);
  writeFileSync(editorStamp, wanted);
}

/** Builds the console into dist/web, with a brotli and a gzip file beside each file that they make smaller. */
async function buildConsole() {
  const wanted = digest(consoleInputs);
  if (stampOf(consoleStamp) === wanted) return;
  console.log('Building the console …');
  const web = join(root, 'web');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  quietly(node, [vite, 'build', web, '--logLevel', 'warn']);
  await Promise.all(filesBelow(consoleFolder).map((path) => compress(join(root, path))));
  writeFileSync(consoleStamp, wanted);
}

/** On Node's threads, so that all cores take part. */
async function compress(file) {
  const content = readFileSync(file);
  if (!COMPRESSED.includes(extname(file)) || content.length < COMPRESSED_BYTES) return;
  const quality = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY };
  const [brotli, zipped] = await Promise.all([
    promisify(brotliCompress)(content, { params: quality }),
    promisify(gzip)(content, { level: zlib.Z_BEST_COMPRESSION }),
  ]);
  writeFileSync(`${file}.br`, brotli);
  writeFileSync(`${file}.gz`, zipped);
}

/** Shows what a program said only when it failed, and then ends this process with its exit code. */
function quietly(command, args, environment = process.env) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    env: environment,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return;
  console.error(`${stdout ?? ''}${stderr ?? ''}${error ? `${error.message}\n` : ''}`.trimEnd());
  console.error(`This failed: ${command} ${args.join(' ')}`);
  process.exit(status || 1);
}

function stampOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** SHA-256 over the names and contents of files and whole folders. */
function digest(paths) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap(filesBelow)) {
    hash.update(`${path}\n`).update(readFileSync(join(root, path)));
  }
  return hash.digest('hex');
}

function filesBelow(path) {
  if (!existsSync(join(root, path))) return [];
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .filter((name) => !noInputs.test(name))
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}

// `node scripts/prepare.mjs install build` does one or both.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('install')) install();
  if (process.argv.includes('build')) await build();
}
