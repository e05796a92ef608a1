import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** Removes the template that the tests of this run were copied from. */
export default async function tearDown() {
  const run = process.env.PLINTH_TEST_RUN;
  for (const name of [`plinth-template-${run}.tar`, `plinth-openapi-${run}.json`]) {
    await rm(join(tmpdir(), name), { force: true });
  }
  if (!process.env.DATABASE_URL) return;
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS plinth_template_${run} WITH (FORCE)`);
  await client.end();
}
