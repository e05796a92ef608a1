// Ingestion and retrieval over 10,000 fragments, on the embedded store and on a throwaway PostgreSQL;
// docs/OPERATIONS.md holds the goals and the numbers. Exit code 1 only when something failed: machines are noisy.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, root } from '../../../scripts/prepare.mjs';
import { startPostgres } from '../chat/postgres.mjs';
import { freePort, node } from '../chat/targets.mjs';
import { inOwnFolder } from '../own-folder.mjs';

const quick = process.argv.includes('--quick');
const DOCUMENTS = quick ? 100 : 1_000;
const LIMIT_MS = 20 * 60_000;
const SERVICE_CORE = 0;
const OTHER_CORE = 1;

await build();
await inOwnFolder(async (place) => {
  const simulator = fork(join(root, 'dist', 'simulator', 'main.js'), ['--port', '0'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    const [{ url }] = await once(simulator, 'message');
    print('embedded', await measure(place, url, {}), { retrievalMs: 40 });
    const server = await postgres(place);
    if (!server) return 0;
    print(`PostgreSQL ${server.version}`, await measure(place, url, server.url), {
      retrievalMs: 15,
    });
    return 0;
  } finally {
    simulator.kill();
  }
});

async function postgres(place) {
  try {
    return await startPostgres({ ...place, core: OTHER_CORE, port: await freePort() });
  } catch (error) {
    console.log(`PostgreSQL is left out: ${error.message}`);
    return undefined;
  }
}

async function measure({ children }, simulatorUrl, databaseUrl) {
  const program = fileURLToPath(new URL('measure.mjs', import.meta.url));
  const printed = await children.run(node, [program, simulatorUrl, String(DOCUMENTS)], {
    core: `${SERVICE_CORE},${OTHER_CORE}`,
    timeoutMs: LIMIT_MS,
    cwd: root,
    env: {
      PATH: process.env.PATH,
      ...(typeof databaseUrl === 'string' && { DATABASE_URL: databaseUrl }),
    },
  });
  return JSON.parse(printed.trim().split('\n').at(-1));
}

function print(store, { ingestion, retrieval }, goals) {
  const { vector, keyword, hybrid } = retrieval;
  const { memoryMb, lagMs } = ingestion;
  const slower = Math.max(vector.p50, keyword.p50);
  const line = (name, value, goal) =>
    console.log(`  ${name.padEnd(34)} ${value.padEnd(38)} ${goal}`);
  console.log(`\n${store}: ${ingestion.documents} documents, ${ingestion.fragments} fragments`);
  line('stored and searchable', `${ingestion.aSecond.toFixed(0)} fragments a second`, 'goal 100');
  line(
    'memory of the process',
    `${memoryMb.half.toFixed(0)} MB half-way, ${memoryMb.end.toFixed(0)} at the end, most ${memoryMb.most.toFixed(0)}`,
    'goal under 600, flat',
  );
  line(
    'event loop lag meanwhile',
    `p99 ${lagMs.p99.toFixed(0)} ms, max ${lagMs.max.toFixed(0)} ms`,
    'aim 100 ms',
  );
  line(
    'vector search',
    `p50 ${vector.p50.toFixed(1)} ms, p95 ${vector.p95.toFixed(1)} ms`,
    `goal ${goals.retrievalMs}`,
  );
  line(
    'keyword search',
    `p50 ${keyword.p50.toFixed(1)} ms, p95 ${keyword.p95.toFixed(1)} ms`,
    `goal ${goals.retrievalMs}`,
  );
  line(
    'hybrid',
    `p50 ${hybrid.p50.toFixed(1)} ms, p95 ${hybrid.p95.toFixed(1)} ms`,
    `goal ${goals.retrievalMs}`,
  );
  line(
    'hybrid to the slower channel',
    `${(hybrid.p50 / slower).toFixed(2)}; to the sum ${(hybrid.p50 / (vector.p50 + keyword.p50)).toFixed(2)}`,
    store === 'embedded' ? 'goal at most the sum' : 'goal 1.5',
  );
}
