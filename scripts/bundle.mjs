// Bundles the compiled service into dist/bundle, with the packages that it loads: a start reads some 60 files instead of 4,600.
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { EXTERNAL_PACKAGES, root } from './prepare.mjs';

const compiled = join(root, 'dist');
const target = join(compiled, 'bundle');

/** Packages that others can use and that are not installed. */
const ABSENT_PACKAGES = [
  '@fastify/static',
  '@nestjs/microservices',
  '@nestjs/websockets',
  'pg-native',
];

/** Files that the service finds by their place: assets, and the migrations, which import only types. */
const FOUND_BY_PLACE = [
  'src/**/builtin/**/*.*',
  'src/platform/database/migrations/*.js*',
  'simulator/**/*.mp4',
];

/** Modules of the service, and of no package. */
const SERVICE = new RegExp(`^${RegExp.escape(join(compiled, '/'))}(src|simulator)/`);

/** It looks for what TypeORM 1 no longer has, which loads a second TypeORM. */
const TYPEORM_COMPAT = /\/@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/;

/** A module that the service starts as a thread or a child process. */
const STARTED_MODULE = /new URL\('(\.[^']+)\.js', import\.meta\.url\)/g;

const modules = globSync(['src/**/*.js', 'simulator/**/*.js'], { cwd: compiled }).map((file) => ({
  entry: file.slice(0, -'.js'.length),
  code: readFileSync(join(compiled, file), 'utf8'),
}));

/** Modules of src/ that do something and export nothing. */
const programs = modules
  .filter(({ entry, code }) => dirname(entry) === 'src' && !/^export [^{]/m.test(code))
  .map(({ entry }) => entry);

const workers = modules.flatMap(({ entry, code }) =>
  [...code.matchAll(STARTED_MODULE)].map(([, path]) => join(dirname(entry), path)),
);

rmSync(target, { recursive: true, force: true });
await bundle(programs, ['src/start.js', 'src/run.js']);
await bundle(workers, []);
for (const file of globSync(FOUND_BY_PLACE, { cwd: compiled, exclude: ['bundle/**'] }))
  cpSync(join(compiled, file), join(target, file));

/**
 * What `first` imports statically goes into two files, in the order in which it would have been loaded: many files that share modules could not
 * keep that order. The others import what they share.
 */
async function bundle(entries, first) {
  const started = new Set();
  const output = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)])),
    platform: 'node',
    external: [...EXTERNAL_PACKAGES, ...ABSENT_PACKAGES].map((name) => new RegExp(`^${name}(/|$)`)),
    plugins: [
      {
        name: 'plinth',
        load: { filter: { id: [SERVICE, TYPEORM_COMPAT] }, handler: load },
        buildEnd() {
          for (const file of first)
            addImports(join(compiled, file), started, (id) => this.getModuleInfo(id)?.importedIds);
        },
        renderChunk: placeUrls,
        generateBundle: dropPackageMaps,
      },
    ],
    onLog(level, log) {
      const isExpected = log.code === 'INVALID_OPTION' || log.code === 'INEFFECTIVE_DYNAMIC_IMPORT';
      if (level !== 'info' && !isExpected) console.warn(log.message);
    },
  });
  await output.write({
    dir: target,
    format: 'esm',
    // Names of classes are those of entities, providers and log lines.
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: true, annotation: false, jsdoc: false },
    entryFileNames: '[name].js',
    chunkFileNames: 'src/shared/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: 'packages', test: (id) => started.has(id) && id.includes('/node_modules/') },
        { name: 'service', test: (id) => started.has(id) },
      ],
    },
  });
  await output.close();
}

function addImports(id, modules, importsOf) {
  if (modules.has(id)) return;
  modules.add(id);
  for (const imported of importsOf(id) ?? []) addImports(imported, modules, importsOf);
}

/** A module of the service with the map to its source, and its own URL where it asks for that. */
function load(id) {
  if (TYPEORM_COMPAT.test(id))
    return 'export const Connection = undefined; export const AbstractRepository = undefined;';
  const place = JSON.stringify(`place:${relative(compiled, id)}`);
  return {
    code: readFileSync(id, 'utf8').replaceAll(
      'import.meta.url',
      `new URL(${place}, import.meta.url).href`,
    ),
    map: JSON.parse(readFileSync(`${id}.map`, 'utf8')),
  };
}

/** The URL of a module is the one that it would have without the bundle: files are found by it. */
function placeUrls(code, { fileName }) {
  if (!code.includes('"place:')) return null;
  const replaced = code.replaceAll(/"place:([^"]+)"/g, (_, place) =>
    JSON.stringify(relative(dirname(fileName), place)),
  );
  return { code: replaced, map: null };
}

/** Source maps of packages would be read with the first stack trace, and take 100 MB of memory. */
function dropPackageMaps(_options, files) {
  for (const { type, fileName, moduleIds } of Object.values(files))
    if (type === 'chunk' && !moduleIds.some((id) => SERVICE.test(id)))
      delete files[`${fileName}.map`];
}
