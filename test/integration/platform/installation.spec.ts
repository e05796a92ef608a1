import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { ConfigError } from '../../../src/platform/config/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { Installation } from '../../../src/platform/storage/index.js';
import { OrphanSweep } from '../../../src/platform/storage/orphan-sweep.js';
import { done, makeTenant } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { copyServerDatabase, createServerDatabase } from '../../support/server-database.js';
import type { ServerDatabase } from '../../support/server-database.js';
import type { Session } from '../../support/session.js';

const server = process.env['DATABASE_URL'];
const onServer = server ? describe : describe.skip;
const NOTHING = { quarantined: 0, restored: 0, removed: 0 };

interface Mark {
  installation: string;
  newestFile: number;
  restored: boolean;
}

function markOf(folder: string): Mark {
  return JSON.parse(readFileSync(join(folder, 'installation.json'), 'utf8')) as Mark;
}

async function upload(session: Session, name: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([name]), name);
  const answer = await session.upload<{ ossId: string }>('/resource/oss/upload', form);
  return done(answer).data.ossId;
}

async function keyOf(plinth: Plinth, id: string): Promise<string> {
  const [row] = await plinth.app
    .get(Database)
    .query<{ key: string }>(
      "SELECT storage_key AS key FROM stored_file WHERE tenant_id = '000000' AND id = $1",
      [Number(id)],
    );
  return row?.key ?? '';
}

/** A file that no record names, older than any upload takes. */
function orphanBeside(folder: string, key: string, digit: string): string {
  const path = join(folder, 'files', dirname(key), digit.repeat(32));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'x');
  const old = new Date(Date.now() - 2 * 3_600_000);
  utimesSync(path, old, old);
  return path;
}

onServer('a database and its DATA_DIR', () => {
  const folders: string[] = [];
  const databases: ServerDatabase[] = [];
  const running: Plinth[] = [];
  let database: ServerDatabase;
  let folder: string;
  let id: string;

  function newFolder(): string {
    const made = mkdtempSync(join(tmpdir(), 'plinth-installation-'));
    folders.push(made);
    return made;
  }

  async function start(
    { url }: ServerDatabase,
    dataDir: string,
    more: Record<string, string> = {},
  ): Promise<Plinth> {
    const plinth = await Plinth.start({ DATABASE_URL: url, DATA_DIR: dataDir, ...more });
    running.push(plinth);
    return plinth;
  }

  async function stopAll(): Promise<void> {
    for (const plinth of running.splice(0)) await plinth.stop();
  }

  async function refusal(of: ServerDatabase, dataDir: string): Promise<string> {
    const error: unknown = await start(of, dataDir).catch((reason: unknown) => reason);
    if (!(error instanceof ConfigError)) throw new Error('The start was not refused.');
    return error.message;
  }

  /** A copy that takes itself for the original, as a base backup or a snapshot of a disk does. */
  async function cloneOf(of: ServerDatabase): Promise<ServerDatabase> {
    const copy = await copyServerDatabase(server ?? '', of.url);
    databases.push(copy);
    const client = new pg.Client(copy.url);
    await client.connect();
    const { rows } = await client.query<{ present: string }>(
      "SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid AS present FROM pg_database WHERE datname = current_database()",
    );
    await client.query('UPDATE installation SET database = $1', [rows[0]?.present]);
    await client.end();
    return copy;
  }

  beforeEach(async () => {
    database = await createServerDatabase(server ?? '');
    databases.push(database);
    folder = newFolder();
    await start(database, folder);
    id = markOf(folder).installation;
  });

  afterEach(async () => {
    await stopAll();
    for (const one of databases.splice(0)) await one.drop();
    for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
  });

  it('have the same id in every process', async () => {
    const second = await start(database, folder);
    expect(markOf(folder).installation).toBe(id);
    expect(await second.app.get(Installation).uncertainty()).toBeUndefined();
    const mode = join(folder, 'installation.json');
    expect(existsSync(mode)).toBe(true);
  });

  it('are both refused with another folder or another database, in words', async () => {
    const other = newFolder();
    expect(await refusal(database, other)).toBe(
      `The files of this database are not in DATA_DIR ${other}: it lacks the file installation.json with the id ${id}, which the folder of its other processes has. Set DATA_DIR to that folder; all processes of a database need the same one. If this folder replaces a lost one, start once with INSTALLATION_RENEW=${id}.`,
    );
    expect(existsSync(join(other, 'installation.json'))).toBe(false);

    const foreign = await createServerDatabase(server ?? '');
    databases.push(foreign);
    expect(await refusal(foreign, folder)).toMatch(
      new RegExp(
        `^DATA_DIR ${folder} belongs to another installation: its installation.json has the id ${id}, this database the id [\\w-]{36}\\.`,
      ),
    );
    expect(markOf(folder).installation).toBe(id);
  });

  it('get a new id together when a copy has a folder of its own', async () => {
    await stopAll();
    const copy = await copyServerDatabase(server ?? '', database.url);
    databases.push(copy);
    const own = newFolder();
    const plinth = await start(copy, own);
    expect(markOf(own).installation).not.toBe(id);
    expect(await plinth.app.get(Installation).uncertainty()).toBeUndefined();
    // The next process of the copy, and the first database, are what they were.
    await start(copy, own);
    await start(database, folder);
    expect(markOf(folder).installation).toBe(id);
  });

  it('keep every file while a copy may share the folder, until it has a new id', async () => {
    const [first] = running;
    if (!first) throw new Error('Nothing runs.');
    const file = await upload(await first.signIn(), 'shared.txt');
    const key = await keyOf(first, file);
    await stopAll();
    const copy = await copyServerDatabase(server ?? '', database.url);
    databases.push(copy);

    // The first database gets a file that the copy does not know.
    const original = await start(database, folder);
    const later = await keyOf(original, await upload(await original.signIn(), 'later.txt'));
    const old = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(join(folder, 'files', later), old, old);

    const clone = await start(copy, folder);
    expect(await clone.app.get(Installation).uncertainty()).toMatch(
      /^This database is a copy, .* start once with INSTALLATION_RENEW=[\w-]{36}\.$/,
    );
    expect(clone.log.join('')).toContain('Files may belong to another database');
    expect(await clone.app.get(OrphanSweep).sweep()).toEqual(NOTHING);
    expect(existsSync(join(folder, 'files', later))).toBe(true);
    expect(clone.log.join('')).toContain('Orphan sweep paused');

    // What the copy deletes is still there for the first database.
    done(await (await clone.signIn()).delete(`/resource/oss/${file}`));
    expect(existsSync(join(folder, 'files', key))).toBe(false);
    const { text } = await (await original.signIn()).raw('GET', `/resource/oss/download/${file}`);
    expect(text).toBe('shared.txt');
    expect(await original.app.get(OrphanSweep).sweep()).toEqual(NOTHING);

    await stopAll();
    const renewed = await start(copy, folder, { INSTALLATION_RENEW: id });
    expect(await renewed.app.get(Installation).uncertainty()).toBeUndefined();
    expect(markOf(folder).installation).not.toBe(id);
    expect(await refusal(database, folder)).toContain('belongs to another installation');
    expect(await renewed.app.get(OrphanSweep).sweep()).toMatchObject({ quarantined: 1 });

    // The setting has no effect any more.
    const now = markOf(folder).installation;
    await start(copy, folder, { INSTALLATION_RENEW: id });
    expect(markOf(folder).installation).toBe(now);
  });

  it('say it when a physical clone stores files in the folder, too', async () => {
    const [first] = running;
    if (!first) throw new Error('Nothing runs.');
    await upload(await first.signIn(), 'before.txt');
    expect(await first.app.get(Installation).uncertainty()).toBeUndefined();
    await stopAll();
    const clone = await cloneOf(database);

    const original = await start(database, folder);
    const copied = await start(clone, folder);
    const ofOriginal = original.app.get(Installation);
    const ofClone = copied.app.get(Installation);
    expect([await ofOriginal.uncertainty(), await ofClone.uncertainty()]).toEqual([
      undefined,
      undefined,
    ]);
    // Each of them gives the next id of its own sequence.
    const later = await upload(await original.signIn(), 'original.txt');
    expect(await upload(await copied.signIn(), 'clone.txt')).toBe(later);
    await upload(await copied.signIn(), 'clone-2.txt');
    expect(await ofOriginal.uncertainty()).toBeUndefined();
    const reason = /^Another database stores files in this DATA_DIR: .* INSTALLATION_RENEW=/;
    expect(await ofClone.uncertainty()).toMatch(reason);
    expect(await ofOriginal.uncertainty()).toMatch(reason);
    for (const plinth of [original, copied]) {
      expect(await plinth.app.get(OrphanSweep).sweep()).toEqual(NOTHING);
    }

    await stopAll();
    const renewed = await start(database, folder, { INSTALLATION_RENEW: id });
    expect(await renewed.app.get(Installation).uncertainty()).toBeUndefined();
    expect(await refusal(clone, folder)).toContain('belongs to another installation');
  });

  it('say it when another database takes the folder while a process runs', async () => {
    const [first] = running;
    const other = markOf(folder);
    const changed = { ...other, installation: '018f6a2e-0000-7000-8000-000000000000' };
    writeFileSync(join(folder, 'installation.json'), JSON.stringify(changed));
    expect(await first?.app.get(Installation).uncertainty()).toMatch(
      /^DATA_DIR belongs to another installation now/,
    );
    expect(await first?.app.get(OrphanSweep).sweep()).toEqual(NOTHING);
  });
});

describe('contents of the coding harness', () => {
  it('stay when their tenant is deleted while another database may use the folder', async () => {
    const plinth = await Plinth.start();
    try {
      const admin = await plinth.signIn();
      const blobs = plinth.app.get(BlobStore, { strict: false });
      const mark = join(plinth.dataDir, 'installation.json');
      const own = readFileSync(mark, 'utf8');
      const deleteWithContent = async (tenantId: string): Promise<boolean> => {
        const { id } = await makeTenant(plinth, admin, tenantId);
        const hash = await blobs.put(tenantId, Buffer.from('kept'));
        done(await admin.delete(`/system/tenant/${id}`));
        return blobs.has(tenantId, hash);
      };
      const changed = { ...markOf(plinth.dataDir), installation: randomUUID() };
      writeFileSync(mark, JSON.stringify(changed));
      expect(await deleteWithContent('700001')).toBe(true);
      writeFileSync(mark, own);
      expect(await deleteWithContent('700002')).toBe(false);
    } finally {
      await plinth.stop();
    }
  });
});

describe('files and a database that is older than they are', () => {
  let plinth: Plinth;
  let session: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    session = await plinth.signIn();
  });

  afterAll(() => plinth.stop());

  it('are left alone, also once new files are stored', async () => {
    const sweep = plinth.app.get(OrphanSweep);
    const ids = [];
    for (const name of ['a', 'b', 'c']) ids.push(await upload(session, name));
    const key = await keyOf(plinth, ids[0] ?? '');
    expect(await sweep.sweep()).toEqual(NOTHING);
    expect(markOf(plinth.dataDir).newestFile).toBe(Number(ids[2]));

    // What the restore of an earlier dump leaves: fewer records, and a sequence that gives their ids again.
    await acrossTenants('restored dump', async () => {
      const database = plinth.app.get(Database);
      await database.query(
        "SELECT setval(pg_get_serial_sequence('stored_file', 'id'), (SELECT min(id) FROM stored_file WHERE tenant_id = '000000'))",
      );
      await database.query(
        "DELETE FROM stored_file WHERE tenant_id = '000000' AND id > (SELECT min(id) FROM stored_file WHERE tenant_id = '000000')",
      );
    });
    const orphan = orphanBeside(plinth.dataDir, key, 'e');
    expect(await sweep.sweep()).toEqual(NOTHING);
    expect(await plinth.app.get(Installation).uncertainty()).toMatch(
      /^The database is older than the files in DATA_DIR/,
    );
    for (const name of ['d', 'e', 'f', 'g']) await upload(session, name);
    expect(await sweep.sweep()).toEqual(NOTHING);
    expect(existsSync(orphan)).toBe(true);
    expect(plinth.log.filter((line) => line.includes('Orphan sweep paused'))).toHaveLength(1);
  });
});

describe('the sweep of files without a record', () => {
  it.each(['dry-run', 'off'])('moves nothing with ORPHAN_SWEEP=%s', async (ORPHAN_SWEEP) => {
    const plinth = await Plinth.start({ ORPHAN_SWEEP });
    try {
      const key = await keyOf(plinth, await upload(await plinth.signIn(), 'kept'));
      const orphan = orphanBeside(plinth.dataDir, key, 'e');
      const isDry = ORPHAN_SWEEP === 'dry-run';
      const found = await plinth.app.get(OrphanSweep).sweep();
      expect(found).toEqual({ quarantined: isDry ? 1 : 0, restored: 0, removed: 0 });
      const line = plinth.log.find((one) => one.includes('Dry run of the orphan sweep'));
      if (isDry) expect(line).toContain(`${dirname(key)}/${'e'.repeat(32)}`);
      else expect(line).toBeUndefined();
      expect(existsSync(orphan)).toBe(true);
      expect(existsSync(join(plinth.dataDir, 'files', 'quarantine'))).toBe(false);
    } finally {
      await plinth.stop();
    }
  });
});
