import { timesOf } from './cpu-profile.mjs';
import { Inspector } from './inspector.mjs';
import { load } from './load.mjs';
import { printTable, shown } from './report.mjs';

const SAMPLE_US = 250;

/** Where Plinth spends its core, the start and the warm-up left out. */
export async function profilePlinth(bench, { inspectorPort, shape, seconds }) {
  await load(bench, bench.plinth, { ...shape, seconds: 8 });
  const inspector = await Inspector.connect(inspectorPort);
  await inspector.call('Profiler.enable');
  await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  await inspector.call('Profiler.start');
  const result = await load(bench, bench.plinth, { ...shape, seconds, warm: 0 });
  const { profile } = await inspector.call('Profiler.stop');
  inspector.close();
  printProfile(profile, result);
  return profile;
}

function printProfile(profile, { chunks, cpuPerChunkUs, ...result }) {
  const { self, inclusive, areas, busy } = timesOf(profile, SAMPLE_US);
  const share = (us) => `${((100 * us) / busy).toFixed(1)} %`;
  // Paced streams end seldom, so their time is told by the chunk.
  const [unit, cpuUs] =
    result.ok > result.unfinished
      ? ['a turn', (chunks * cpuPerChunkUs) / result.ok]
      : ['a chunk', cpuPerChunkUs];
  console.log(
    `${result.ok} turns, ${chunks} chunks; the process used ${result.targetCpu} % of a core,`,
  );
  console.log(`${shown(cpuUs)} us ${unit}, profiler included`);
  const table = (title, entries, count) => {
    console.log(`\n${title}`);
    const sorted = [...entries].sort((a, b) => b[1] - a[1]).slice(0, count);
    printTable([
      ['share', `us ${unit}`, 'where'],
      ...sorted.map(([where, us]) => [share(us), shown((us / busy) * cpuUs), where]),
    ]);
  };
  table('Areas, with the parts of Node and V8 they call', areas, 40);
  table('Functions, self time', self, 40);
  table('Functions of Plinth, with all they call', inclusive, 40);
}
