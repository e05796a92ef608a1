import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export const USAGE = `Usage: node test/bench/chat/run.mjs [options]

  --quick            3 short rounds, a good minute
  --rounds N         interleaved rounds of proxy and Plinth (5)
  --seconds S        measured seconds of each throughput run (4)
  --streams N        open streams of the memory run (1000)
  --dist DIR         compiled application to measure (dist, built first when it is out of date)
  --against DIR      only compare with the compiled application of another checkout (its dist):
                     CPU time a turn, both started anew each round (3)
  --traced           only compare with the same build that sends its traces to a collector
  --profile WHAT     only profile Plinth: 20 or 200 (chunks a turn, 32 connections), or paced
                     (400 streams with a chunk every 50 ms)
  --target-core C    core of Plinth and of the proxy (1)
  --load-core C      core of the load, the mock and PostgreSQL (0)
  --keep             leave logs and the database folder behind

Linux with two cores, taskset, cc and the programs of PostgreSQL 15 or newer (PG_BIN names their folder).`;

/** The options of the command line. Throws with the usage when they make no sense. */
export function readOptions(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    args,
    options: {
      quick: flag,
      rounds: text,
      seconds: text,
      streams: text,
      dist: text,
      against: text,
      traced: flag,
      profile: text,
      'target-core': { ...text, default: '1' },
      'load-core': { ...text, default: '0' },
      keep: flag,
      help: flag,
    },
  });
  const { quick } = values;
  const options = {
    quick,
    help: values.help,
    profile: values.profile && oneOf(values.profile, ['20', '200', 'paced']),
    keep: values.keep,
    dist: values.dist,
    against: values.against,
    traced: values.traced,
    rounds: positive(values.rounds ?? (values.against || values.traced || quick ? 3 : 5)),
    seconds: positive(values.seconds ?? (quick ? 1 : 4)),
    streams: positive(values.streams ?? 1_000),
    targetCore: core(values['target-core']),
    loadCore: core(values['load-core']),
  };
  if (options.targetCore === options.loadCore) throw new Error('The load needs a core of its own.');
  return options;
}

function positive(value) {
  const number = Number(value);
  if (!(number > 0)) throw new Error(`${value} must be a number above 0.\n\n${USAGE}`);
  return number;
}

function oneOf(value, words) {
  if (words.includes(value)) return value;
  throw new Error(`${value} must be one of ${words.join(', ')}.\n\n${USAGE}`);
}

function core(value) {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 0 && number < availableParallelism()) return number;
  throw new Error(`There is no core ${value}; this machine has ${availableParallelism()}.`);
}
