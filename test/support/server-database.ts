import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { databaseUrl, serverTemplate } from './template.js';

export interface ServerDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A fresh copy of the migrated template on the PostgreSQL server, in the tablespace where one is named. */
export async function createServerDatabase(
  server: string,
  tablespace = 'pg_default',
): Promise<ServerDatabase> {
  return create(server, `TEMPLATE ${await serverTemplate(server)} TABLESPACE ${tablespace}`);
}

/** A copy of another database of the server, to which nothing may be connected. */
export async function copyServerDatabase(server: string, url: string): Promise<ServerDatabase> {
  return create(server, `TEMPLATE ${new URL(url).pathname.slice(1)}`);
}

export async function createEmptyDatabase(server: string): Promise<ServerDatabase> {
  return create(server, '');
}

async function create(server: string, template: string): Promise<ServerDatabase> {
  const name = `plinth_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name} ${template}`);
  return {
    url: databaseUrl(server, name),
    drop: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function onServer(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
