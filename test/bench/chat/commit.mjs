// Prints the median time of a bare commit in milliseconds: one row like an answer of 20 chunks, one
// INSERT on one warm connection, nothing else. Usage: node commit.mjs DATABASE_URL COUNT
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { median } from './median.mjs';

const [url, count] = process.argv.slice(2);
const client = new pg.Client({ connectionString: url });
await client.connect();
// Its own table, so that the messages Plinth stored can be counted.
await client.query('CREATE TABLE IF NOT EXISTS bare_commit (LIKE chat_message INCLUDING ALL)');
const insert = {
  name: 'bare-commit',
  text: `INSERT INTO bare_commit (tenant_id, user_id, turn_id, role, content, model_name)
    VALUES ($1, $2, $3, $4, $5, $6)`,
};
const content = 'lorem ipsum '.repeat(60);
const times = [];
for (let row = 0; row < Number(count) + 20; row += 1) {
  const start = performance.now();
  await client.query({
    ...insert,
    values: ['000000', 1, randomUUID(), 'assistant', content, 'mock-n20'],
  });
  if (row >= 20) times.push(performance.now() - start);
}
await client.end();
console.log(median(times).toFixed(4));
