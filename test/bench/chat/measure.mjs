import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { residentMb } from './children.mjs';
import { load } from './load.mjs';
import { storedAfterAll } from './stored.mjs';
import { node } from './targets.mjs';

const commitProgram = fileURLToPath(new URL('commit.mjs', import.meta.url));

const LONG = 'mock-n200';
const SHORT = 'mock-n20';
/** 240 chunks, one every 50 ms: twelve seconds, while the streams are opened over two. */
const PACED = 'mock-n240-d50';

const IDLE_MS = 30_000;

/** Every model that Plinth needs a record of. */
export const models = [LONG, SHORT, PACED];

/** What can be profiled, by the name it has on the command line. */
export const profiled = {
  20: { model: SHORT, connections: 32 },
  200: { model: LONG, connections: 32 },
  paced: { model: PACED, connections: 400, ramp: 2 },
};

/**
 * Each round asks the proxy and then Plinth the same, so that a slower minute of the machine falls on both, and short
 * turns of the proxy that stores them as well; between them one measurement of the bare commit.
 */
export async function measureRounds(bench, { rounds, seconds }) {
  const shapes = {
    long: { model: LONG, connections: 32, seconds },
    short: { model: SHORT, connections: 32, seconds },
    first: { model: SHORT, connections: 1, seconds: seconds / 2 },
  };
  const measured = [];
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`round ${round} of ${rounds}`);
    const result = { commitMs: await bareCommit(bench) };
    for (const [name, shape] of Object.entries(shapes)) {
      result[name] = {
        proxy: await settledLoad(bench, bench.proxy, shape),
        plinth: await settledLoad(bench, bench.plinth, shape),
      };
    }
    result.short.storing = await settledLoad(bench, bench.storing, shapes.short);
    measured.push(result);
  }
  return measured;
}

/** Opens many slow streams at once and reads each to its end: all of it must arrive and be stored. */
export async function measureOpenStreams(bench, target, streams) {
  const before = await storedAfterAll(bench);
  await bench.mock.reset();
  const idleMb = residentMb(target.child.pid);
  const result = await load(bench, target, {
    model: PACED,
    connections: streams,
    count: streams,
    ramp: 2,
    warm: 0,
    seconds: 45,
  });
  const after = await storedAfterAll(bench);
  const upstream = await bench.mock.stats();
  return {
    ...result,
    idleMb,
    aboveIdleMb: result.peakMb - idleMb,
    stored: after.complete - before.complete,
    messages: after.messages - before.messages,
    peakOpen: upstream.peak_active,
    upstream: { started: upstream.started, completed: upstream.completed },
  };
}

/** Until V8 has compiled the code and the pools are full, a turn costs three times as much. */
export async function warmUp(bench, seconds) {
  for (const target of [bench.proxy, bench.storing, bench.plinth]) {
    await settledLoad(bench, target, { model: SHORT, connections: 32, seconds, warm: 0 });
  }
  await sleep(2_000);
}

/** Memory once there is nothing more to do: a process returns what it does not need within half a minute. */
export async function measureIdle({ proxy, plinth }) {
  await sleep(IDLE_MS);
  return { proxy: residentMb(proxy.child.pid), plinth: residentMb(plinth.child.pid) };
}

/** A run in which not one answer ended says that the machine had no time for it, so it is tried again. */
export async function settledLoad(bench, target, shape) {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const result = await load(bench, target, shape);
    // What is still open at the end of a timed run is cut; the next run starts when that is over.
    await storedAfterAll(bench);
    if (result.ok > 0 || result.lost > 0) return result;
  }
  throw new Error(`${target.name} ended no answer in three runs of ${shape.seconds} s each.`);
}

async function bareCommit({ children, targetCore, databaseUrl }) {
  const how = { core: targetCore, timeoutMs: 60_000 };
  return Number(await children.run(node, [commitProgram, databaseUrl, '200'], how));
}
