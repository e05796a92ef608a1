// Measures chat against a bare Node proxy; docs/OPERATIONS.md explains the goals and the numbers.
// Exit code 0 even when a goal of speed or memory is missed, because machines are noisy; 1 when anything
// was lost or not stored, or when the benchmark itself failed.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { build } from '../../../scripts/prepare.mjs';
import { inOwnFolder } from '../own-folder.mjs';
import { measureAgainst } from './against.mjs';
import { watchOthers } from './contention.mjs';
import { loadTools } from './load.mjs';
import {
  measureIdle,
  measureOpenStreams,
  measureRounds,
  models,
  profiled,
  warmUp,
} from './measure.mjs';
import { readOptions, USAGE } from './options.mjs';
import { startPostgres } from './postgres.mjs';
import { profilePlinth } from './profile.mjs';
import { goalsOf, lossesOf, printReport } from './report.mjs';
import { storedAfterAll } from './stored.mjs';
import { freePort, node, startMock, startPlinth, startProxy } from './targets.mjs';

const options = optionsOrExit();
if (options.help) console.log(USAGE);
else await main();

function optionsOrExit() {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

async function main() {
  if (options.dist === undefined) await build();
  await inOwnFolder(benchmark, { keep: options.keep });
}

async function benchmark(place) {
  const inspectorPort = options.profile ? await freePort() : undefined;
  if (options.against || options.traced) return await compare(place);
  const bench = await prepare(place, inspectorPort);
  if (inspectorPort !== undefined) {
    const how = { inspectorPort, shape: profiled[options.profile], seconds: options.seconds * 2 };
    const profile = await profilePlinth(bench, how);
    if (options.keep) writeFileSync(join(place.folder, 'chat.cpuprofile'), JSON.stringify(profile));
    return 0;
  }
  await warmUp(bench, options.quick ? 4 : 8);
  const open = {};
  for (const target of [bench.proxy, bench.plinth]) {
    console.log(`${options.streams} open streams: ${target.name}`);
    open[target.name] = await measureOpenStreams(bench, target, options.streams);
  }
  const othersPercent = watchOthers();
  const rounds = await measureRounds(bench, options);
  const others = othersPercent();
  const stored = await storedAfterAll(bench);
  const idle = await measureIdle(bench);
  const goals = goalsOf(rounds, open, { idle, streams: options.streams });
  const losses = lossesOf(rounds, { open, stored, streams: options.streams });
  const setting = settingOf(bench, others);
  printReport({ goals, losses, rounds, open, stored, setting });
  console.log(JSON.stringify({ bench: 'chat', ...setting, goals, losses, open, stored, rounds }));
  return losses.length === 0 ? 0 : 1;
}

/** Compares two builds, which take turns on one core; each start has a database of its own. */
async function compare(place) {
  const builds = { plinth: options.dist, other: options.against ?? options.dist };
  const { postgres, ...surroundings } = await startSurroundings(place);
  const { onTarget, mock } = surroundings;
  const collector = options.traced ? await startCollector() : undefined;
  const start = async (name, round) => {
    const databaseUrl = await postgres.createDatabase(`${name}_${round}`);
    const how = { ...onTarget, mock, models, databaseUrl, name, dist: builds[name] };
    const collectorUrl = name === 'other' ? collector?.url : undefined;
    return { ...(await startPlinth({ ...how, collectorUrl })), databaseUrl };
  };
  const rounds = await measureAgainst(surroundings, start, options);
  const batches = collector?.close();
  const { against, traced } = options;
  console.log(JSON.stringify({ bench: 'chat against', against, traced, batches, rounds }));
  return 0;
}

/** Takes every batch of spans, and counts them. */
async function startCollector() {
  let batches = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      batches += 1;
      response.end();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const close = () => {
    server.closeAllConnections();
    server.close();
    return batches;
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}

/** Starts everything: the targets on one core, the load, the mock and PostgreSQL on the other. */
async function prepare(place, inspectorPort) {
  const { postgres, ...surroundings } = await startSurroundings(place);
  const { onTarget, mock } = surroundings;
  const databaseUrl = postgres.url;
  const proxy = await startProxy({ ...onTarget, mock });
  const stored = await postgres.createDatabase('storing');
  const storing = await startProxy({ ...onTarget, mock, databaseUrl: stored });
  const plinth = await startPlinth({
    ...onTarget,
    mock,
    models,
    databaseUrl,
    name: 'plinth',
    dist: options.dist,
    nodeFlags: inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`],
  });
  return {
    ...surroundings,
    proxy,
    storing,
    plinth,
    databaseUrl,
    postgresVersion: postgres.version,
  };
}

/** What a target needs: the mock of its models, and PostgreSQL. */
async function startSurroundings({ children, folder }) {
  const { mock: program, lg } = loadTools();
  const onLoad = { children, folder, core: options.loadCore };
  const onTarget = { children, folder, core: options.targetCore };
  const mock = await startMock({ ...onLoad, program });
  const postgres = await startPostgres({ ...onLoad, port: await freePort() });
  return { ...onLoad, onTarget, targetCore: options.targetCore, lg, mock, postgres };
}

function settingOf({ postgresVersion }, othersPercent) {
  return {
    time: new Date().toISOString(),
    cpu: `${cpus().length} x ${cpus()[0].model.trim()}`,
    node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1),
    postgres: postgresVersion,
    othersPercent,
    text: `${options.rounds} rounds of ${options.seconds} s, target on core ${options.targetCore}, load, mock and PostgreSQL on core ${options.loadCore}`,
  };
}
