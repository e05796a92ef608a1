import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, install, node, root, run } from './prepare.mjs';

/** The servers that the tests use when they are given one, and what stands in for each otherwise. */
const servers = [
  { name: 'DATABASE_URL', without: 'the embedded database', everyPlinth: true },
  { name: 'REDIS_URL', without: 'events and rate limits in process', everyPlinth: true },
  { name: 'QDRANT_URL', without: 'a stand-in that checks the requests', everyPlinth: false },
];

const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const hooks = pathToFileURL(join(root, 'test', 'support', 'typescript-hooks.mjs')).href;
const nodeOptions = `--experimental-vm-modules --disable-warning=ExperimentalWarning --import ${hooks}`;
const countsFolder = mkdtempSync(join(tmpdir(), 'plinth-counts-'));
const given = servers.filter(({ name }) => process.env[name]);
const missing = servers.filter(({ name }) => !process.env[name]);

install();
build();

const runs = [await runTests('nothing', {})];
if (given.length > 0) {
  const names = given.map(({ name }) => name);
  console.log(`\nOnce more on ${names.join(' and ')}: the suites that use them`);
  const environment = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  const specs = specsThatUse(given);
  if (specs.length > 0)
    runs.push(await runTests('servers', { ...environment, PLINTH_SPECS: specs.join(',') }));
}
rmSync(countsFolder, { recursive: true, force: true });

const total = (key) => runs.reduce((sum, { counts }) => sum + counts[key], 0);
console.log('');
for (const server of missing) {
  const suites = specsThatUse([server]).length;
  if (suites === 0) continue;
  console.log(
    `Skipped: ${suites} suites on ${server.name}, which is not set; they ran on ${server.without}.`,
  );
}
if (total('skipped') > 0) console.log(`Skipped: ${total('skipped')} single tests.`);
console.log(`${total('passed')} passed, ${total('failed')} failed`);
process.exitCode = runs.find(({ code }) => code !== 0)?.code ?? 0;

/** One run of Jest that sees exactly the given servers. */
async function runTests(label, environment) {
  const file = join(countsFolder, label);
  const base = { ...process.env };
  for (const { name } of servers) delete base[name];
  const code = await run(node, [jest, '--passWithNoTests', ...process.argv.slice(2)], {
    ...base,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${nodeOptions}`.trim(),
    PLINTH_TEST_COUNTS: file,
    ...environment,
  });
  return { code, counts: readCounts(file, code) };
}

/** A run that ended before its reporter could write counts as one failure. */
function readCounts(file, code) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  }
}

/** The suites whose text names one of the servers, or boots a Plinth on it. */
function specsThatUse(wanted) {
  const marks = wanted.flatMap(({ name, everyPlinth }) =>
    everyPlinth ? [name, 'support/plinth.js'] : [name],
  );
  return ['src', 'test']
    .flatMap((folder) => specsBelow(folder))
    .filter((spec) => {
      const text = readFileSync(join(root, spec), 'utf8');
      return marks.some((mark) => text.includes(mark));
    });
}

function specsBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.spec.ts') && !name.includes('violations'))
    .map((name) => join(folder, name));
}
