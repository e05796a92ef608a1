// How long every list takes in an installation of 100 tenants, 10,000 users, 1,000 bases and a million messages: each list
// route of the API by HTTP, first and last page, as the super administrator. On PostgreSQL where DATABASE_URL is set, else
// embedded. `-- --quick` fills a tenth. Exit code 0 even when a goal is missed, because machines are noisy.
import { build } from '../../../scripts/prepare.mjs';
import { fillDatabase, listAddresses } from '../../support/filled-database.ts';
import { percentile } from '../retrieval/scores.mjs';
import { withPlinth } from '../retrieval/stores.mjs';

const GOAL_MS = 200;
const ROUNDS = 20;
const PAGE_ROWS = 20;
const CLIENT_ID = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const SIZES = {
  tenants: process.argv.includes('--quick') ? 10 : 100,
  usersPerTenant: 100,
  basesPerTenant: 10,
  documentsPerBase: 20,
  messagesPerUser: 100,
  callsPerUser: 30,
};

await build();
await withPlinth(process.env.DATABASE_URL, measure);

async function measure(app, settings) {
  const { acrossTenants, Database } = await import('../../../dist/src/platform/database/index.js');
  const database = app.get(Database);
  const query = (sql) =>
    acrossTenants('bench', () => database.longTransaction(() => database.query(sql)));
  const began = performance.now();
  await fillDatabase(query, SIZES);
  console.log(`Filled in ${Math.round((performance.now() - began) / 1_000)} s.`);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const headers = await signIn(url, settings.ADMIN_PASSWORD);
  const api = await (await fetch(`${url}/docs/json`, { headers })).json();
  const results = [];
  for (const address of await listAddresses(api, query)) {
    results.push(await timed(url + address, address, headers));
    const { total = 0 } = results.at(-1);
    if (total > PAGE_ROWS && address.includes('pageSize')) {
      const last = `${address}&pageNum=${Math.ceil(total / PAGE_ROWS)}`;
      results.push(await timed(url + last, last, headers));
    }
  }
  report(results);
}

async function signIn(url, password) {
  const body = { tenantId: '000000', username: 'admin', password, clientId: CLIENT_ID };
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, grantType: 'password' }),
  });
  const { data, msg } = await response.json();
  if (!data) throw new Error(`Sign-in failed: ${msg}`);
  return { authorization: `Bearer ${data.access_token}`, clientid: CLIENT_ID };
}

async function timed(address, name, headers) {
  const times = [];
  let answer = {};
  for (let round = 0; round <= ROUNDS; round += 1) {
    const began = performance.now();
    const response = await fetch(address, { headers });
    answer = await response.json().catch(() => ({}));
    if (round > 0) times.push(performance.now() - began);
  }
  const rows = answer.rows ?? answer.data;
  return {
    name,
    total: answer.total,
    rows: Array.isArray(rows) ? rows.length : '-',
    code: answer.code ?? '-',
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
  };
}

function report(results) {
  for (const { name, total, rows, code, p50, p95 } of results.sort((a, b) => b.p95 - a.p95)) {
    const verdict = p95 <= GOAL_MS ? '' : ' MISSED';
    console.log(
      `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms, ${rows} of ${total ?? '-'} rows, code ${code}: ${name}${verdict}`,
    );
  }
}
