// A company's traffic on two processes of each role: chat 70 %, retrieval 15, lists 10, uploads 5, from as many users at
// once as --users says. Throughput, latency, memory and event-loop lag, after two minutes and at the end; of the memory also
// what a garbage collection leaves, which grows where something leaks. Exit code 0 even
// when a goal is missed, because machines are noisy; 1 when a request failed or something acknowledged is lost.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from '../../../scripts/prepare.mjs';
import { watchOthers } from '../chat/contention.mjs';
import { Inspector } from '../chat/inspector.mjs';
import { median } from '../chat/median.mjs';
import { printTable, shown } from '../chat/report.mjs';
import { Installation, metricsOf, startServers } from '../installation/installation.mjs';
import { lossesOf } from '../installation/losses.mjs';
import { settle } from '../installation/setting.mjs';
import { Traffic } from '../installation/traffic.mjs';
import { inOwnFolder } from '../own-folder.mjs';
import { percentile } from '../retrieval/scores.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    users: { type: 'string', default: '20' },
    keep: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
if (!(minutes >= 3)) throw new Error('A run of less than 3 minutes has no memory to compare.');
const SAMPLE_MS = 10_000;
const SAMPLES_A_MINUTE = 60_000 / SAMPLE_MS;
/** Kinds of 20 requests; the others are chats. */
const PLACES = new Map([
  ...[3, 9, 16].map((place) => [place, 'retrieval']),
  ...[5, 14].map((place) => [place, 'list']),
  [11, 'upload'],
]);
const DECK = Array.from({ length: 20 }, (_, place) => PLACES.get(place) ?? 'chat');
const MEMORY = 'process_resident_memory_bytes';
const LAG = 'plinth_event_loop_lag_seconds{value="p99"}';
const MAX_GROWTH = 1.1;

await build();
await inOwnFolder(load, { keep: values.keep });

async function load(place) {
  const servers = await startServers({ ...place, isInspected: true });
  const installation = await Installation.prepare(servers, 'load');
  await installation.start({ apis: 2, workers: 2 });
  const setting = await settle(installation, servers);
  const traffic = new Traffic(setting);
  const others = watchOthers();
  traffic.phase('load');
  const began = performance.now();
  traffic.begin(
    Array.from({ length: Number(values.users) }, (_, user) => {
      const first = user % DECK.length;
      return [...DECK.slice(first), ...DECK.slice(0, first)];
    }),
  );
  const samples = await sampled(installation.services, began);
  await traffic.end();
  const seconds = (performance.now() - began) / 1_000;
  printTraffic(traffic.current, seconds);
  printProcesses(installation.services, samples);
  console.log(`other programs used ${shown(others())} % of the machine meanwhile`);
  const { databaseUrl } = installation;
  const { admin, uploads } = setting;
  const losses = await lossesOf({ databaseUrl, admin, uploads, records: traffic.records });
  console.log(`lost rows: ${losses.length}`, losses.slice(0, 5));
  await installation.stop();
  const { failed, cut } = traffic.current;
  return losses.length + failed + cut === 0 ? 0 : 1;
}

/**
 * Memory and lag of every process, every ten seconds; for each sample a list in the order of the services. The samples after
 * two minutes and at the end have what a garbage collection leaves.
 */
async function sampled(services, began) {
  const samples = [];
  for (let count = 1; count <= minutes * SAMPLES_A_MINUTE; count += 1) {
    await sleep(Math.max(0, began + count * SAMPLE_MS - performance.now()));
    const all = await Promise.all(services.map((service) => metricsOf(service)));
    const isCollected = count === 2 * SAMPLES_A_MINUTE || count === minutes * SAMPLES_A_MINUTE;
    const live = isCollected ? await Promise.all(services.map(liveMb)) : [];
    samples.push(
      all.map((one, index) => {
        return { mb: one[MEMORY] / 1e6, lagMs: one[LAG] * 1_000, liveMb: live[index] };
      }),
    );
  }
  return samples;
}

/** What objects and buffers of the main thread take after a garbage collection. */
async function liveMb({ inspectorPort }) {
  const inspector = await Inspector.connect(inspectorPort);
  try {
    await inspector.call('HeapProfiler.collectGarbage');
    const expression = 'JSON.stringify(process.memoryUsage())';
    const { result } = await inspector.call('Runtime.evaluate', { expression });
    const { heapUsed, external } = JSON.parse(result.value);
    return (heapUsed + external) / 1e6;
  } finally {
    inspector.close();
  }
}

function printTraffic({ requests, failed, cut, causes, times }, seconds) {
  console.log(
    `${requests} requests in ${seconds.toFixed(0)} s: ${shown(requests / seconds)} a second, ${failed} failed, ${cut} cut`,
  );
  for (const [cause, count] of causes) console.log(`- ${count} × ${cause}`);
  const rows = Object.entries(times).map(([kind, all]) => [
    kind,
    all.length,
    shown(all.length / seconds),
    shown(percentile(all, 0.5)),
    shown(percentile(all, 0.99)),
  ]);
  printTable([['kind', 'requests', 'a second', 'p50 ms', 'p99 ms'], ...rows]);
}

/** Medians of the minute before the second one's end, and of the last minute. */
function printProcesses(services, samples) {
  const early = samples.slice(SAMPLES_A_MINUTE, 2 * SAMPLES_A_MINUTE);
  const late = samples.slice(-SAMPLES_A_MINUTE);
  const of = (minute, index, field) => median(minute.map((sample) => sample[index][field]));
  const rows = services.map(({ role }, index) => {
    const [before, after] = [of(early, index, 'mb'), of(late, index, 'mb')];
    const [live, liveAfter] = [early, late].map((minute) => minute.at(-1)[index].liveMb);
    const growth = liveAfter / live;
    return [
      role,
      ...[before, after, after / before, live, liveAfter, growth].map(shown),
      growth <= MAX_GROWTH ? 'PASS' : 'MISSED',
      shown(of(early, index, 'lagMs')),
      shown(of(late, index, 'lagMs')),
    ];
  });
  printTable([
    [
      ...['process', 'resident MB at 2 min', 'at the end', 'ratio'],
      ...['live MB at 2 min', 'at the end', 'ratio (1.1)', '', 'lag p99 ms', 'at the end'],
    ],
    ...rows,
  ]);
}
