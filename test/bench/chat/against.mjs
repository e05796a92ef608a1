import { load } from './load.mjs';
import { profiled, settledLoad } from './measure.mjs';
import { median } from './median.mjs';
import { printTable, shown } from './report.mjs';

const SHAPES = { '200 chunks': profiled[200], '20 chunks': profiled[20] };
const WINDOWS = 4;

/**
 * CPU time a turn of two builds, as the ratio of the first to the second. Each round starts both anew, because two
 * processes of one build differ by a fifth in what V8 makes of their code. Within a round they run side by side, in
 * windows in the order A B B A: a slower minute of the machine, and a drift, fall on both. `start` starts a build on
 * an empty database and answers its target; answers the ratios of each round.
 */
export async function measureAgainst(bench, start, { rounds, seconds }) {
  const measured = [];
  for (let round = 1; round <= rounds; round += 1) {
    const targets = [await start('plinth', round), await start('other', round)];
    for (const target of targets)
      await warmUp({ ...bench, databaseUrl: target.databaseUrl }, target);
    const times = {};
    for (const [name, shape] of Object.entries(SHAPES)) {
      times[name] = await timesOf(bench, targets, { ...shape, seconds });
    }
    for (const { child } of targets) await bench.children.stop(child);
    measured.push(times);
    console.log(
      `round ${round} of ${rounds}: ${Object.keys(SHAPES)
        .map((name) => describe(name, times[name]))
        .join('; ')}`,
    );
  }
  printRatios(measured);
  return measured;
}

/** V8 is still compiling the code of a turn after half a minute of load: a turn costs half as much once it is done. */
async function warmUp(bench, target) {
  for (const shape of [profiled[20], profiled[200]]) {
    await settledLoad(bench, target, { ...shape, seconds: 24, warm: 0 });
  }
}

/** CPU microseconds a turn of each target: the mean of its windows. */
async function timesOf(bench, [first, second], shape) {
  const sums = { [first.name]: 0, [second.name]: 0 };
  for (let window = 1; window <= WINDOWS; window += 1) {
    for (const target of window % 2 === 1 ? [first, second] : [second, first]) {
      sums[target.name] += (await load(bench, target, shape)).cpuPerTurnUs / WINDOWS;
    }
  }
  return sums;
}

function describe(name, { plinth, other }) {
  return `${name} ${shown(plinth)} and ${shown(other)} us, ${shown(plinth / other)}`;
}

function printRatios(measured) {
  const rows = Object.keys(SHAPES).map((name) => {
    const of = (target) => measured.map((times) => times[name][target]);
    const ratios = measured.map((times) => times[name].plinth / times[name].other);
    return [
      name,
      shown(median(of('plinth'))),
      shown(median(of('other'))),
      shown(median(ratios)),
      `${shown(Math.min(...ratios))} to ${shown(Math.max(...ratios))}`,
      shown(Math.min(...of('plinth')) / Math.min(...of('other'))),
    ];
  });
  const head = ['turn', 'us', 'us of the other', 'median ratio', 'rounds', 'ratio of the fastest'];
  console.log();
  printTable([head, ...rows]);
}
