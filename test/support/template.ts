import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { apiDocument, createApp } from '../../src/app.js';
import { loadConfig } from '../../src/platform/config/index.js';
import { openInMemory } from '../../src/platform/database/index.js';

export const ADMIN_PASSWORD = 'admin-test-password';
export const SECRET_KEY = 'test-secret-key-of-at-least-32-characters';

/** The client that both existing apps sign in with. */
export const WEB_CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';

/** A seeded client that reads every field of a message, not only `content`. */
export const FULL_CLIENT = '428a8310cd442757ae699df5d894f051';

/** One template per run of the tests; jest.config.mjs names the run and global-teardown.mjs removes it. */
const run = process.env['PLINTH_TEST_RUN'] ?? 'single';
/** The OpenAPI document of the application that made the template. */
export const documentFile = join(tmpdir(), `plinth-openapi-${run}.json`);
const dumpFile = join(tmpdir(), `plinth-template-${run}.tar`);
const templateDatabase = `plinth_template_${run}`;

const environment = {
  SECRET_KEY,
  ADMIN_PASSWORD,
  LOG_LEVEL: 'silent',
  DEMO: 'off',
};

/** Dump of an embedded database with all migrations and seeds. The first test that asks makes it, the others wait. */
export async function embeddedTemplate(): Promise<Blob> {
  await makeEmbeddedTemplate();
  return new Blob([await readFile(dumpFile)]);
}

/** The same as the files of an embedded database, which a process can open. */
export async function unpackEmbeddedTemplate(folder: string): Promise<void> {
  await makeEmbeddedTemplate();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await promisify(execFile)('tar', ['-xf', dumpFile, '-C', folder]);
}

async function makeEmbeddedTemplate(): Promise<void> {
  if (!(await takeTurn(dumpFile))) return;
  try {
    await writeEmbeddedTemplate();
  } finally {
    rmSync(`${dumpFile}.lock`, { force: true });
  }
}

async function writeEmbeddedTemplate(): Promise<void> {
  const memory = await openInMemory();
  const dataDir = mkdtempSync(join(tmpdir(), 'plinth-template-'));
  const app = await createApp(loadConfig({ ...environment, DATA_DIR: dataDir }), {
    store: { database: memory, close: async () => undefined },
  });
  await app.init();
  await writeFile(documentFile, JSON.stringify(apiDocument(app)));
  const dump = await memory.dumpDataDir('none');
  await writeFile(`${dumpFile}.part`, Buffer.from(await dump.arrayBuffer()));
  await rename(`${dumpFile}.part`, dumpFile);
  await app.close();
  await memory.close();
  rmSync(dataDir, { recursive: true, force: true });
}

/** True for the one process that has to make the file; false as soon as it is there. */
async function takeTurn(file: string): Promise<boolean> {
  for (;;) {
    if (existsSync(file)) return false;
    try {
      await (await open(`${file}.lock`, 'wx')).close();
      if (!existsSync(file)) return true;
      rmSync(`${file}.lock`, { force: true });
    } catch {
      await sleep(50);
    }
  }
}

/** Name of the migrated and seeded database on the server that every test database is copied from. */
export async function serverTemplate(server: string): Promise<string> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    // Held until the connection ends: one test process makes the template, the others wait here.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [templateDatabase]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      templateDatabase,
    ]);
    if (rowCount === 0) await writeServerTemplate(server, client);
    return templateDatabase;
  } finally {
    await client.end();
  }
}

async function writeServerTemplate(server: string, client: pg.Client): Promise<void> {
  const draft = `${templateDatabase}_draft`;
  await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
  await client.query(`CREATE DATABASE ${draft}`);
  const dataDir = mkdtempSync(join(tmpdir(), 'plinth-template-'));
  const app = await createApp(
    loadConfig({ ...environment, DATA_DIR: dataDir, DATABASE_URL: databaseUrl(server, draft) }),
  );
  await app.init();
  await app.close();
  rmSync(dataDir, { recursive: true, force: true });
  await client.query(`ALTER DATABASE ${draft} RENAME TO ${templateDatabase}`);
}

export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
