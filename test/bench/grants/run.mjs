// What rights by group cost: the list of knowledge bases and the choice of those that a search may use, for a user in 200
// of 10,000 groups among 1,000 bases, against the same user in none, whom the tenant's grants reach. On the embedded store
// and, where DATABASE_URL is set, on PostgreSQL. Exit code 0 even when a goal is missed, because machines are noisy.
import { build } from '../../../scripts/prepare.mjs';
import { percentile } from '../retrieval/scores.mjs';
import { withPlinth } from '../retrieval/stores.mjs';

const TENANT = '000000';
const USER = 1_000_000;
const GROUPS = 10_000;
const BASES = 1_000;
const GROUPS_OF_USER = 200;
/** Groups that are granted each base. */
const GRANTS_OF_BASE = 5;
/** Bases of an agent or a question at most. */
const SEARCHED = 20;
const ROUNDS = 400;
const WARM_UP = 50;
/** The share of the rounds that were faster: other work on the machine changes these least. */
const COMPARED = 0.1;
const GOALS = { list: 2, search: 1 };

await build();
const stores = [
  { name: 'embedded' },
  ...(process.env.DATABASE_URL ? [{ name: 'PostgreSQL', url: process.env.DATABASE_URL }] : []),
];
for (const { name, url } of stores) report(name, await withPlinth(url, measure));

async function measure(app) {
  const { Database } = await import('../../../dist/src/platform/database/index.js');
  const { systemCaller } = await import('../../../dist/src/platform/access/index.js');
  const { KnowledgeService } = await import('../../../dist/src/knowledge/index.js');
  const database = app.get(Database);
  const { groupIds, reached } = await fill(database);
  const user = { ...systemCaller(TENANT, 0), userId: USER, permissions: new Set() };
  const subjects = ['tenant', `user:${USER}`, 'role:1'];
  const callers = {
    without: { ...user, subjects },
    with: { ...user, subjects: [...subjects, ...groupIds.map((id) => `group:${id}`)] },
  };
  const knowledge = app.get(KnowledgeService);
  const ids = reached.slice(0, SEARCHED);
  const work = {
    list: (caller) => knowledge.list(caller, { pageNum: 1, pageSize: 20 }),
    search: (caller) => knowledge.searchable(caller, ids),
  };
  const measured = {};
  for (const [name, run] of Object.entries(work)) {
    await timed(callers, run, WARM_UP);
    measured[name] = await timed(callers, run, ROUNDS);
  }
  return measured;
}

/** The time for each caller, in turns. */
async function timed(callers, run, rounds) {
  const times = { with: [], without: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [kind, caller] of Object.entries(callers)) {
      const began = performance.now();
      await run(caller);
      times[kind].push(performance.now() - began);
    }
  }
  return {
    with: percentile(times.with, COMPARED),
    without: percentile(times.without, COMPARED),
  };
}

/** The groups of the user, and bases that reach them; every base is granted to some groups, every tenth to the tenant. */
async function fill(database) {
  const groups = await database.query(
    `INSERT INTO user_group (tenant_id, display_name, source)
       SELECT $1, 'Group ' || n, 'local' FROM generate_series(1, $2::int) AS n RETURNING id`,
    [TENANT, GROUPS],
  );
  const bases = await database.query(
    `INSERT INTO knowledge_base (tenant_id, name, text_block_size)
       SELECT $1, 'Base ' || n, 800 FROM generate_series(1, $2::int) AS n RETURNING id`,
    [TENANT, BASES],
  );
  const ids = groups.map(({ id }) => Number(id));
  await database.query(
    `INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level)
       SELECT $1, 'knowledge', base, 'group:' || ($3::bigint[])[1 + (place * $4 + n) * 7 % $5], 2
         FROM unnest($2::bigint[]) WITH ORDINALITY AS one (base, place), generate_series(1, $4::int) AS n
       UNION ALL
       SELECT $1, 'knowledge', base, 'tenant', 2 FROM unnest($2::bigint[]) WITH ORDINALITY AS one (base, place)
        WHERE place % 10 = 0`,
    [TENANT, bases.map(({ id }) => id), ids, GRANTS_OF_BASE, GROUPS],
  );
  await database.query('VACUUM ANALYZE access_grant, knowledge_base');
  const groupIds = ids.filter((_, at) => at % (GROUPS / GROUPS_OF_USER) === 0);
  return { groupIds, reached: bases.map(({ id }) => Number(id)).filter((_, at) => at % 10 === 9) };
}

function report(store, measured) {
  for (const [work, { with: grouped, without }] of Object.entries(measured)) {
    const extraMs = grouped - without;
    const verdict = extraMs <= GOALS[work] ? 'met' : 'MISSED';
    console.log(
      `${store}, ${work}: ${grouped.toFixed(2)} ms in ${GROUPS_OF_USER} groups, ${without.toFixed(2)} ms in none: ${extraMs.toFixed(2)} ms more (goal ${GOALS[work]}): ${verdict}`,
    );
  }
}
