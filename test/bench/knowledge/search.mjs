// The time of a search in one base, of this build and of another one beside it, whose rounds take turns, so that whatever
// else the machine does meets both alike:
//
//     node test/bench/knowledge/search.mjs [--fragments 10000] [--rounds 6] [--compare ../other/dist] [--embedded | --qdrant]
//
// DATABASE_URL names the server, on which each build gets a database of its own; --embedded uses the embedded one, --qdrant
// the stand-in of the tests as vector store.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, root } from '../../../scripts/prepare.mjs';
import { median } from '../chat/median.mjs';
import { ownDatabase } from '../own-database.mjs';

const { values: options } = parseArgs({
  options: {
    fragments: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '6' },
    compare: { type: 'string' },
    embedded: { type: 'boolean', default: false },
    qdrant: { type: 'boolean', default: false },
  },
});
const server = options.embedded ? undefined : process.env.DATABASE_URL;
if (!server && !options.embedded) throw new Error('Set DATABASE_URL, or choose --embedded.');
const WAYS = ['vector', 'keyword', 'hybrid'];

await build();
const simulator = fork(join(root, 'dist', 'simulator', 'main.js'), ['--port', '0'], {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
});
const builds = [];
try {
  const [{ url }] = await once(simulator, 'message');
  builds.push(await start('this build', join(root, 'dist'), url));
  if (options.compare) builds.push(await start('the other', options.compare, url));
  for (const { name, ready } of builds) {
    const { store, fragments, seconds, memoryMb } = ready;
    const memory = memoryMb.map((megabytes) => megabytes.toFixed(0)).join(', ');
    console.log(
      `${name}: ${fragments} fragments on ${store}, stored at ${(fragments / seconds).toFixed(0)} a second; ` +
        `memory of the process ${memory} MB after each tenth`,
    );
  }
  // The first two rounds embed the questions, fill the memory and warm up.
  for (let round = -2; round < Number(options.rounds); round += 1) {
    for (const one of builds) {
      one.child.send('round');
      const message = await nextOf(one.child);
      if (!message) throw new Error(`${one.name} ended during a round.`);
      const { times } = message;
      if (round < 0) continue;
      for (const way of WAYS) one.times[way].push(...times[way]);
    }
  }
  for (const way of WAYS) {
    const shown = builds.map(({ name, times }) => {
      const sorted = times[way].toSorted((a, b) => a - b);
      const [best, p95] = [sorted[0], sorted[Math.floor(sorted.length * 0.95)]];
      return `${name} p50 ${median(sorted).toFixed(1)} ms (best ${best.toFixed(1)}, p95 ${p95.toFixed(1)})`;
    });
    const [mine, other] = builds.map(({ times }) => median(times[way]));
    const ratio = other === undefined ? '' : `; ratio ${(mine / other).toFixed(2)}`;
    console.log(`${way.padEnd(8)} ${shown.join(', ')}${ratio}`);
  }
} finally {
  for (const { child, drop } of builds) {
    if (child.connected) {
      child.send('end');
      await once(child, 'exit');
    }
    await drop?.();
  }
  simulator.kill();
}

async function start(name, dist, simulatorUrl) {
  const database = server ? await ownDatabase(server) : undefined;
  const qdrant = options.qdrant ? await standIn() : undefined;
  const program = fileURLToPath(new URL('search-process.mjs', import.meta.url));
  const child = fork(program, [dist, simulatorUrl, options.fragments], {
    execPath: process.execPath,
    env: {
      PATH: process.env.PATH,
      ...(database && { DATABASE_URL: database.url }),
      ...(qdrant && { QDRANT_URL: qdrant.url }),
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const drop = async () => {
    await qdrant?.stop();
    await database?.drop();
  };
  const message = await nextOf(child);
  if (!message) {
    await drop();
    throw new Error(`${name} ended before it was ready.`);
  }
  return {
    name,
    child,
    drop,
    ready: message.ready,
    times: { vector: [], keyword: [], hybrid: [] },
  };
}

/** What the process sends next; undefined if it ends instead. */
async function nextOf(child) {
  const settled = new AbortController();
  const until = { signal: settled.signal };
  const first = Promise.race([
    once(child, 'message', until).then(([message]) => message),
    once(child, 'exit', until).then(() => undefined),
  ]);
  return first.finally(() => settled.abort());
}

/** Written in TypeScript, which the hooks of the tests compile: they register themselves. */
async function standIn() {
  await import('../../support/typescript-hooks.mjs');
  const { QdrantStandIn } = await import('../../support/qdrant/qdrant-stand-in.ts');
  return QdrantStandIn.start();
}
