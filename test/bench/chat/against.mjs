import { profiled, settledLoad } from './measure.mjs';
import { median } from './median.mjs';
import { printTable, shown } from './report.mjs';

const SHAPES = { '200 chunks': profiled[200], '20 chunks': profiled[20] };
/** V8 is still compiling the code of a turn after half a minute of load: a turn costs half as much once it is done. */
const WARM_UP = 6;
const WINDOWS = 6;

/**
 * CPU time a turn of two builds, as the ratio of the first to the second. Each round starts both anew, because two
 * processes of one build differ by a fifth in what V8 makes of their code. Within a round they run side by side, in
 * windows in the order A B B A: a slower minute of the machine, and a drift, fall on both. `start` starts a build on an
 * empty database and answers its target; answers the CPU times of each round.
 */
export async function measureAgainst(bench, start, { rounds, seconds }) {
  const measured = [];
  for (let round = 1; round <= rounds; round += 1) {
    const targets = [await start('plinth', round), await start('other', round)];
    const times = {};
    for (const [name, shape] of Object.entries(SHAPES)) {
      times[name] = await timesOf(bench, targets, { ...shape, seconds });
    }
    for (const { child } of targets) await bench.children.stop(child);
    measured.push(times);
    const ratios = Object.entries(times).map(([name, pair]) => describe(name, pair));
    console.log(`round ${round} of ${rounds}: ${ratios.join('; ')}`);
  }
  printRatios(measured);
  return measured;
}

/** CPU microseconds a turn of each target: the mean of its windows after the warm-up. */
async function timesOf(bench, [first, second], shape) {
  const sums = { [first.name]: 0, [second.name]: 0 };
  for (let window = 1; window <= WARM_UP + WINDOWS; window += 1) {
    for (const target of window % 2 === 1 ? [first, second] : [second, first]) {
      const { cpuPerTurnUs } = await settledLoad(
        { ...bench, databaseUrl: target.databaseUrl },
        target,
        shape,
      );
      if (window > WARM_UP) sums[target.name] += cpuPerTurnUs / WINDOWS;
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
