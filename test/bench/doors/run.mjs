// Measures /v1/chat/completions with an API key beside a bare Node proxy and a gateway, against one mock upstream;
// docs/OPERATIONS.md explains the goals. Exit code 0 even when a goal is missed, because machines are noisy; 1 when an
// answer was lost or the usage ledger lacks a call, or when the benchmark itself failed.
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from '../../../scripts/prepare.mjs';
import { watchOthers } from '../chat/contention.mjs';
import { load, loadTools } from '../chat/load.mjs';
import { median } from '../chat/median.mjs';
import { startPostgres } from '../chat/postgres.mjs';
import { profilePlinth } from '../chat/profile.mjs';
import { printTable, shown } from '../chat/report.mjs';
import { call, freePort, startMock, startPlinth, startProxy } from '../chat/targets.mjs';
import { inOwnFolder } from '../own-folder.mjs';
import { installGateway, startGateway } from './gateway.mjs';

const LONG = 'mock-n200';
const SHORT = 'mock-n20';
const GOALS = { long: 0.6, short: 0.3, gateway: 2, extraMs: 1 };
const [TARGET_CORE, LOAD_CORE] = [1, 0];
/** V8 still compiles the code of a call after half a minute of load, and a call costs up to half as much once it is done. */
const WARM_SECONDS = 40;

const api = {
  path: '/v1/chat/completions',
  body: '{"model":"{{model}}","stream":true,"messages":[{"role":"user","content":"hello"}]}',
  done: '[DONE]',
};

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    dist: { type: 'string' },
    // Only profiles Plinth: 20 or 200 chunks a turn.
    profile: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

await main();

async function main() {
  if (values.dist === undefined) await build();
  installGateway();
  await inOwnFolder(benchmark, { keep: values.keep });
}

async function benchmark(place) {
  const inspectorPort = values.profile ? await freePort() : undefined;
  const bench = await prepare(place, inspectorPort);
  if (values.profile) {
    const plinth = bench.targets.find(({ name }) => name === 'plinth');
    const shape = { model: values.profile === '20' ? SHORT : LONG, connections: 32 };
    const how = { inspectorPort, shape, seconds: 2 * seconds };
    const profile = await profilePlinth({ ...bench, plinth }, how);
    if (values.keep) writeFileSync(join(place.folder, 'doors.cpuprofile'), JSON.stringify(profile));
    return 0;
  }
  for (const target of bench.targets) {
    await run(bench, target, { model: SHORT, connections: 32, seconds: WARM_SECONDS });
  }
  const othersPercent = watchOthers();
  const measured = [];
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`round ${round} of ${rounds}`);
    measured.push(await measureRound(bench));
  }
  const others = othersPercent();
  const goals = goalsOf(measured);
  const lost = measured.flatMap((round) =>
    Object.entries(round).flatMap(([shape, results]) =>
      Object.entries(results)
        .filter(([name, { lost }]) => name !== 'gateway' && lost > 0)
        .map(([name, { lost, fails }]) => `${name}, ${shape}: ${lost} ${JSON.stringify(fails)}`),
    ),
  );
  print({ goals, lost, measured, others });
  console.log(JSON.stringify({ bench: 'doors', others, goals, lost, rounds: measured }));
  return lost.length === 0 ? 0 : 1;
}

/** The targets on one core, the load, the mock and PostgreSQL on the other. */
async function prepare({ children, folder }, inspectorPort) {
  const { mock: program, lg } = loadTools();
  const onLoad = { children, folder, core: LOAD_CORE };
  const mock = await startMock({ ...onLoad, program });
  const postgres = await startPostgres({ ...onLoad, port: await freePort() });
  const onTarget = { children, folder, core: TARGET_CORE, mock };
  const models = [LONG, SHORT];
  const nodeFlags = inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`];
  const how = { name: 'plinth', models, dist: values.dist, databaseUrl: postgres.url, nodeFlags };
  const plinth = await startPlinth({ ...onTarget, ...how });
  const permissions = ['chat:chat:use'];
  const { key } = await call(plinth, '/system/apikey', { name: 'Benchmark', permissions });
  const targets = [
    { ...(await startProxy(onTarget)), api },
    { ...plinth, headers: { authorization: `Bearer ${key}` }, api },
    await startGateway({ ...onTarget, api }),
  ];
  return { ...onLoad, lg, mock, targets };
}

/** Each target is asked the same in turns, so that a slower minute of the machine falls on all. */
async function measureRound(bench) {
  const shapes = {
    long: { model: LONG, connections: 32, seconds },
    short: { model: SHORT, connections: 32, seconds },
    single: { model: SHORT, connections: 1, seconds: seconds / 2 },
  };
  const measured = {};
  for (const [name, shape] of Object.entries(shapes)) {
    measured[name] = {};
    for (const target of bench.targets)
      measured[name][target.name] = await run(bench, target, shape);
  }
  return measured;
}

/** Waits until the calls that the end of the run has cut are over. */
async function run(bench, target, shape) {
  const result = await load(bench, target, shape);
  for (let attempt = 0; attempt < 50 && (await bench.mock.stats()).active > 0; attempt += 1) {
    await sleep(100);
  }
  if (result.ok === 0) throw new Error(`${target.name} ended no answer: ${JSON.stringify(result)}`);
  return result;
}

/** Ratios and differences are medians of the rounds' own. */
function goalsOf(measured) {
  const ratios = (shape, to) =>
    measured.map((round) => round[shape].plinth.turnsPerSecond / round[shape][to].turnsPerSecond);
  const throughput = (name, shape, { to, least }) => goal(name, ratios(shape, to), { least });
  const extra = measured.map(({ single }) => single.plinth.answerMs - single.proxy.answerMs);
  return [
    throughput('200 chunks, 32 connections: part of the proxy', 'long', {
      to: 'proxy',
      least: GOALS.long,
    }),
    throughput('20 chunks, 32 connections: part of the proxy', 'short', {
      to: 'proxy',
      least: GOALS.short,
    }),
    throughput('200 chunks: times the gateway', 'long', { to: 'gateway', least: GOALS.gateway }),
    throughput('20 chunks: times the gateway', 'short', { to: 'gateway', least: GOALS.gateway }),
    goal('20 chunks, 1 connection: ms added to the whole answer, p50', extra, {
      most: GOALS.extraMs,
    }),
  ];
}

function goal(name, numbers, { least = -Infinity, most = Infinity }) {
  const value = median(numbers);
  return {
    goal: name,
    measured: value,
    range: [Math.min(...numbers), Math.max(...numbers)],
    limit: most === Infinity ? `>= ${least}` : `<= ${most}`,
    met: value >= least && value <= most,
  };
}

function print({ goals, lost, measured, others }) {
  console.log(`\n${cpus().length} x ${cpus()[0].model.trim()}; ${rounds} rounds of ${seconds} s`);
  console.log(`other programs used ${shown(others)} % of the machine meanwhile\n`);
  const rate = (shape, name) => median(measured.map((r) => r[shape][name].turnsPerSecond));
  const cpu = (shape, name) => median(measured.map((r) => r[shape][name].cpuPerTurnUs));
  const ms = (name) => median(measured.map((r) => r.single[name].answerMs));
  printTable([
    ['target', '200 chunks/s', 'CPU us', '20 chunks/s', 'CPU us', '1 connection ms'],
    ...['proxy', 'plinth', 'gateway'].map((name) =>
      [
        name,
        rate('long', name),
        cpu('long', name),
        rate('short', name),
        cpu('short', name),
        ms(name),
      ].map((cell) => (typeof cell === 'number' ? shown(cell) : cell)),
    ),
  ]);
  console.log('');
  printTable([
    ['goal', 'measured', 'rounds', 'limit', ''],
    ...goals.map(({ goal, measured: value, range, limit, met }) => [
      goal,
      shown(value),
      range.map(shown).join(' to '),
      limit,
      met ? 'PASS' : 'MISSED',
    ]),
  ]);
  console.log(lost.length === 0 ? 'nothing lost: PASS' : `LOST:\n- ${lost.join('\n- ')}`);
}
