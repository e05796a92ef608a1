// Puts a release into dist/release: the files of the image, and a package that npm installs without a build. `npm pack ./dist/release`
// makes the archive. It depends on the packages that are not in the bundle, in the versions of package-lock.json.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build, bundle, EXTERNAL_PACKAGES, root } from './prepare.mjs';

const target = join(root, 'dist', 'release');
const { name, version, description, license, engines, allowScripts } = readJson('package.json');
const lock = readJson('package-lock.json');

await build();
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const isKept = (path) => !['compiled', '.plinth-build'].includes(relative(dirname(path), path));
cpSync(bundle, join(target, 'dist'), { recursive: true, filter: isKept });
for (const folder of ['web', 'database'])
  cpSync(join(root, 'dist', folder), join(target, 'dist', folder), {
    recursive: true,
    filter: isKept,
  });
cpSync(join(root, 'scripts', 'launch.mjs'), join(target, 'plinth.mjs'));
for (const file of ['CHANGELOG.md', 'LICENSE'].filter((one) => existsSync(join(root, one))))
  cpSync(join(root, file), join(target, file));

const manifest = {
  name,
  version,
  description,
  license,
  type: 'module',
  engines,
  allowScripts,
  // npm packs it and refuses to publish it.
  private: true,
  bin: { plinth: 'plinth.mjs' },
  dependencies: Object.fromEntries(
    EXTERNAL_PACKAGES.map((one) => [one, lock.packages[`node_modules/${one}`].version]),
  ),
};
writeJson('package.json', manifest);
writeJson('npm-shrinkwrap.json', {
  name,
  version,
  lockfileVersion: lock.lockfileVersion,
  requires: true,
  packages: { '': manifest, ...lockedPackages() },
});

writeJson('sbom.json', billOfMaterials());

/** CycloneDX of all packages that the service has, those in its bundle and in the files of the console as well. */
function billOfMaterials() {
  const service = npmBill('--omit=dev', '--workspaces=false');
  const whole = npmBill();
  const has = new Set(service.components.map((component) => component['bom-ref']));
  // For npm they are packages of the development: a build has put them into files.
  const ofConsole = new Set(
    readJson('dist/web/.vite/packages.json').map((one) => `${one.name}@${one.version}`),
  );
  const added = whole.components
    .filter(({ 'bom-ref': reference }) => ofConsole.has(reference) && !has.has(reference))
    .map((component) => ({ ...component, scope: 'required', properties: [] }));
  for (const { 'bom-ref': reference } of added) has.add(reference);
  const missing = [...ofConsole].filter((reference) => !has.has(reference));
  if (missing.length > 0) throw new Error(`Not in package-lock.json: ${missing.join(', ')}`);
  const dependencies = whole.dependencies
    .filter(({ ref }) => added.some((component) => component['bom-ref'] === ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => has.has(one)) }));
  return {
    ...service,
    // npm names it after the folder.
    metadata: { ...service.metadata, component: { ...service.metadata.component, name } },
    components: [...service.components, ...added],
    dependencies: [...service.dependencies, ...dependencies],
  };
}

function npmBill(...flags) {
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', ...flags];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** The entries of the lock file that the dependencies need, for every platform. */
function lockedPackages() {
  const needed = new Map();
  const waiting = EXTERNAL_PACKAGES.map((one) => ({ one, from: '' }));
  for (const { one, from } of waiting) {
    const place = placeOf(one, from);
    if (place === undefined || needed.has(place)) continue;
    const entry = lock.packages[place];
    needed.set(place, entry);
    const below = { ...entry.dependencies, ...entry.optionalDependencies };
    waiting.push(...Object.keys(below).map((next) => ({ one: next, from: place })));
  }
  return Object.fromEntries([...needed].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Where Node finds the package for a module of the folder `from`. */
function placeOf(one, from) {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
  ) {
    const place = folder === '' ? `node_modules/${one}` : `${folder}/node_modules/${one}`;
    if (lock.packages[place]) return place;
    if (folder === '') return undefined;
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

function writeJson(file, content) {
  writeFileSync(join(target, file), `${JSON.stringify(content, null, 2)}\n`);
}
