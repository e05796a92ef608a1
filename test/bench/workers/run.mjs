// How parsing grows with processes: 1, 2 and 4 workers, the same small documents for each, and what bounds it: the CPU time
// of each part for a document. Exit code 1 only when something failed: machines are noisy.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { build } from '../../../scripts/prepare.mjs';
import { familyOf, watchOthers } from '../chat/contention.mjs';
import { query } from '../chat/postgres.mjs';
import { printTable, shown } from '../chat/report.mjs';
import { Installation, startServers } from '../installation/installation.mjs';
import { createBase, settle, uploadAll } from '../installation/setting.mjs';
import { documents } from '../knowledge/corpus.mjs';
import { inOwnFolder } from '../own-folder.mjs';

const { values } = parseArgs({ options: { documents: { type: 'string', default: '2000' } } });
const texts = documents(Number(values.documents), 1);
const WORKERS = [1, 2, 4];
const TICKS_A_SECOND = 100;

await build();
await inOwnFolder(async (place) => {
  const servers = await startServers(place);
  const installation = await Installation.prepare(servers, 'workers');
  await installation.start({ apis: 1, workers: 1 });
  const { admin } = await settle(installation, servers);
  const measured = [];
  for (const count of WORKERS) {
    await installation.addWorkers(count - installation.workers.length);
    measured.push(await measure({ servers, installation, admin }, count));
  }
  const [first] = measured;
  const cores = availableParallelism();
  const rows = measured.map(({ count, aSecond, cpuMs, machine }) => {
    const each = Object.values(cpuMs);
    const bound = (1_000 * cores) / each.reduce((sum, ms) => sum + ms, 0);
    const figures = [aSecond, aSecond / first.aSecond, ...each, bound].map(shown);
    return [count, ...figures, `${shown(machine)} %`];
  });
  const parts = Object.keys(first.cpuMs).map((name) => `${name} ms`);
  const head = ['workers', 'documents a second', 'ratio', ...parts, `${cores} cores`, 'others'];
  printTable([head, ...rows]);
  console.log('ms: CPU time for a document; cores: documents a second that they have time for');
  await installation.stop();
  return 0;
});

/** Stores the documents unparsed, then has all parsed at once. */
async function measure({ servers, installation, admin }, count) {
  const base = await createBase(admin, `Base-${count}`);
  await uploadAll(admin, base, texts, { parse: false });
  const groups = groupsOf(servers, installation);
  const others = watchOthers();
  const before = Object.values(groups).map(cpuOf);
  const began = performance.now();
  await admin.call('POST', `/system/attach/reparse/knowledge/${base}`);
  await parsed(installation.databaseUrl, base);
  const seconds = (performance.now() - began) / 1_000;
  const names = Object.keys(groups);
  const used = Object.values(groups).map((parts, index) => cpuOf(parts) - before[index]);
  return {
    count,
    aSecond: texts.length / seconds,
    cpuMs: Object.fromEntries(
      names.map((name, index) => [name, (1_000 * used[index]) / texts.length]),
    ),
    machine: others(),
  };
}

function groupsOf({ parts }, { apis, workers }) {
  return { workers, api: apis, PostgreSQL: [parts.database], models: [parts.models] };
}

/** Seconds of CPU that the parts have used. */
function cpuOf(parts) {
  const family = parts.flatMap(({ child }) => familyOf(child.pid));
  return family.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_A_SECOND;
}

async function parsed(databaseUrl, base) {
  for (;;) {
    const [{ done, failed }] = await query(
      databaseUrl,
      `SELECT count(*) FILTER (WHERE status = 2)::int AS done, count(*) FILTER (WHERE status = 3)::int AS failed
         FROM attachment WHERE knowledge_id = $1`,
      [base],
    );
    if (failed > 0) throw new Error(`${failed} documents have failed.`);
    if (done === texts.length) return;
    await sleep(250);
  }
}
