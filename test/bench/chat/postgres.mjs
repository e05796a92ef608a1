import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { untilReady } from './children.mjs';

const ROOT = '/usr/lib/postgresql';

/**
 * A throwaway cluster with the settings it comes with, durable: every commit waits for the disk.
 * PostgreSQL refuses to run as root, so root starts it as the user postgres.
 */
export async function startPostgres({ children, core, port, folder }) {
  const bin = programs();
  const user = process.getuid() === 0 ? account('postgres') : {};
  const data = join(folder, 'pg');
  mkdirSync(data, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid);
  const create = ['-D', data, '-U', 'plinth', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'];
  await children.run(join(bin, 'initdb'), create, { core, timeoutMs: 60_000, cwd: '/', ...user });
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'on',
    synchronous_commit: 'on',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const start = () =>
    children.start(join(bin, 'postgres'), ['-D', data, ...flags], {
      core,
      log: join(folder, 'postgres.log'),
      cwd: '/',
      stopSignal: 'SIGINT',
      ...user,
    });
  const url = (database) => `postgres://plinth@127.0.0.1:${port}/${database}`;
  /** Starts it again after a kill, once the processes of the one before are gone. */
  const restart = async () => {
    for (let attempt = 1; ; attempt += 1) {
      const server = start();
      try {
        await untilReady(server, () => query(url('postgres'), 'SELECT 1'));
        return server;
      } catch (error) {
        if (server.exitCode === null || attempt === 20) throw error;
        await sleep(500);
      }
    }
  };
  const server = start();
  await untilReady(server, () => query(url('postgres'), 'SELECT 1'));
  const createDatabase = async (name) => {
    await query(url('postgres'), `CREATE DATABASE ${name}`);
    return url(name);
  };
  await createDatabase('plinth');
  const [{ version }] = await query(
    url('plinth'),
    `SELECT current_setting('server_version') AS version`,
  );
  return { server, restart, url: url('plinth'), createDatabase, version };
}

/** Rows of one statement on a connection of its own. */
export async function query(url, sql, values = []) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}

function programs() {
  if (process.env.PG_BIN) return process.env.PG_BIN;
  const versions = existsSync(ROOT) ? readdirSync(ROOT).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(ROOT, version, 'bin'));
  const bin = found.find((folder) => existsSync(join(folder, 'initdb')));
  if (bin) return bin;
  throw new Error('No PostgreSQL programs found. Set PG_BIN to the folder that holds initdb.');
}

function account(name) {
  const id = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
