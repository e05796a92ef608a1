import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import {
  BackupBucket,
  BackupFolder,
  makeBackup,
  restoreBackup,
  verifyBackup,
} from '../../../src/backup/index.js';
import type { BackupPlace } from '../../../src/backup/index.js';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { CONFIG, loadConfig } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { isBackupRunning, Database, openEmbedded } from '../../../src/platform/database/index.js';
import { DiskStorage, FileStorage, ObjectStorage } from '../../../src/platform/storage/index.js';
import { Dependency } from '../../../src/platform/dependency/index.js';
import { isBuilt, runProgram } from '../../support/built-process.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { s3Server, storageAddress, TestBucket } from '../../support/s3-server.js';
import { createEmptyDatabase } from '../../support/server-database.js';
import type { ServerDatabase } from '../../support/server-database.js';
import type { Session } from '../../support/session.js';
import { SECRET_KEY, unpackEmbeddedTemplate } from '../../support/template.js';

const server = process.env['DATABASE_URL'];
const BACKUP_KEY = 'a backup key for tests';
const TABLES = `SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`;

interface Queried {
  query(sql: string): Promise<{ rows: unknown[] }>;
}

/** Number and digest of the rows of each table. */
async function rowsOf(client: Queried): Promise<Record<string, string>> {
  const { rows } = await client.query(TABLES);
  const tables = rows as { name: string }[];
  const digests = await client.query(
    tables
      .map(
        ({ name }) =>
          `SELECT '${name}' AS name, count(*) || ' ' || md5(coalesce(string_agg(one::text, '|' ORDER BY one::text), '')) AS rows FROM "${name}" one`,
      )
      .join(' UNION ALL '),
  );
  return Object.fromEntries(
    (digests.rows as { name: string; rows: string }[]).map((row) => [row.name, row.rows]),
  );
}

/** What the snapshot of a running backup has in each table. */
async function snapshotRows(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(
      `SELECT name AS id FROM pg_ls_dir('pg_snapshots') AS name`,
    );
    for (const { id } of rows) {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      try {
        // Refuses the snapshots of other databases.
        await client.query(`SET TRANSACTION SNAPSHOT '${id}'`);
        return await rowsOf(client);
      } catch {
        await client.query('ROLLBACK');
      }
    }
    throw new Error('There is no snapshot of the database.');
  } finally {
    await client.end();
  }
}

async function uploadFile(session: Session, content: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([content]), 'note.txt');
  return done(await session.upload<{ ossId: string }>('/resource/oss/upload', form)).data.ossId;
}

(server ? describe : describe.skip)('a backup of a server', () => {
  let root: string;
  let simulator: Simulator;
  let plinth: Plinth;
  let admin: Session;
  let config: Config;
  let target: ServerDatabase;
  const writer = new AbortController();

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'plinth-backup-'));
    simulator = await startSimulator();
    plinth = await Plinth.start({ BACKUP_KEY });
    config = plinth.app.get<Config>(CONFIG);
    admin = await plinth.signIn();
    target = await createEmptyDatabase(server ?? '');
  });

  afterAll(async () => {
    writer.abort();
    await plinth.stop();
    await simulator.close();
    await target.drop();
    rmSync(root, { recursive: true, force: true });
  });

  /** Writes and deletes files until the end, one beside the other; the ids of those that are left. */
  async function write(session: Session): Promise<void> {
    const ids: string[] = [];
    for (let number = 0; !writer.signal.aborted; number += 1) {
      ids.push(await uploadFile(session, `Written beside the backup, number ${number}.`));
      if (ids.length > 3) done(await session.delete(`/resource/oss/${ids.shift()}`));
    }
  }

  it('made under load is restored with every row, file and search', async () => {
    await createProvider(admin, 'custom_api');
    const model = { category: 'vector', modelDimension: 64, apiHost: `${simulator.url}/v1` };
    await createModel(admin, { ...model, apiKey: 'key', modelName: 'sim-embed-64' });
    const knowledgeId = await createKnowledge(admin, {
      name: 'Shop',
      embeddingModel: 'sim-embed-64',
    });
    await upload(admin, knowledgeId, [
      ['warranty.txt', 'The warranty of every laptop lasts two years.'],
      ['returns.txt', 'Goods can be returned within thirty days.'],
    ]);
    await settled(admin, knowledgeId);
    const blob = await plinth.app.get(BlobStore).put('000000', Buffer.from('kept by the harness'));
    // Deleted once the snapshot has been taken: its content is read afterwards.
    const doomed = await uploadFile(admin, 'Deleted while the backup runs.');

    const folder = new BackupFolder(join(root, 'backup'));
    let rows: Record<string, string> = {};
    let wasLocked = false;
    const place: BackupPlace = {
      name: folder.name,
      isEmpty: () => folder.isEmpty(),
      read: (path) => folder.read(path),
      write: async (path, content) => {
        if (path === 'database.dump') {
          rows = await snapshotRows(config.DATABASE_URL ?? '');
          done(await admin.delete(`/resource/oss/${doomed}`));
          wasLocked = await isBackupRunning(plinth.app.get(Database));
        }
        await folder.write(path, content);
      },
    };
    const files = plinth.app.get(FileStorage);
    const writing = write(admin);
    const result = await makeBackup({ config, files, release: '1.0.0' }, place);
    writer.abort();
    await writing;
    expect(wasLocked).toBe(true);
    expect(await isBackupRunning(plinth.app.get(Database))).toBe(false);
    expect(result.missingFiles).toBe(0);
    expect(await verifyBackup(place, BACKUP_KEY)).toMatchObject({
      isDumpRead: true,
      objects: result.objects,
      bytes: result.bytes,
    });

    const dataDir = join(root, 'restored');
    const emptyConfig = loadConfig({
      DATABASE_URL: target.url,
      DATA_DIR: dataDir,
      SECRET_KEY,
      BACKUP_KEY,
    });
    const restoredFiles = filesIn(dataDir);
    const restoring = { config: emptyConfig, files: restoredFiles, replaces: false };
    await restoreBackup(restoring, place);
    const client = new pg.Client({ connectionString: target.url });
    await client.connect();
    const restoredRows = await rowsOf(client);
    // Collections in Qdrant get a name of their own.
    expect({ ...restoredRows, installation: rows['installation'] }).toEqual(rows);
    const { rows: stored } = await client.query<{ key: string; sha256: string }>(
      'SELECT storage_key AS key, sha256 FROM stored_file',
    );
    await client.end();
    expect(stored.length).toBeGreaterThan(2);
    for (const { key, sha256 } of stored) {
      const hash = createHash('sha256');
      for await (const chunk of await restoredFiles.read(key)) hash.update(chunk as Buffer);
      expect(hash.digest('hex')).toBe(sha256);
    }

    await expect(restoreBackup(restoring, place)).rejects.toThrow(/The database is not empty/);
    await restoreBackup({ ...restoring, replaces: true }, place);
    const second = await Plinth.start({ DATABASE_URL: target.url, DATA_DIR: dataDir });
    try {
      await expect(restoreBackup({ ...restoring, replaces: true }, place)).rejects.toThrow(
        /Processes of Plinth use the database/,
      );
      const query = { knowledgeId, query: 'How long does the warranty of a laptop last?' };
      const session = await second.signIn();
      const found = done(await session.post<unknown[]>('/system/fragment/retrieval', query)).data;
      const before = done(await admin.post<unknown[]>('/system/fragment/retrieval', query)).data;
      expect(found).toEqual(before);
      const kept = await second.app.get(BlobStore).get('000000', blob);
      expect(kept?.toString()).toBe('kept by the harness');
    } finally {
      await second.stop();
    }
  });

  (s3Server ? it : it.skip)('can be in a bucket', async () => {
    const bucket = await TestBucket.make();
    const address = storageAddress(bucket.url());
    const storage = await ObjectStorage.open(address, config.outbound, new Dependency('files'));
    const place = new BackupBucket('s3://tests', storage.objects);
    const files = plinth.app.get(FileStorage);
    const source = { config, files, release: '1.0.0' };
    const { objects } = await makeBackup(source, place);
    expect(await verifyBackup(place, BACKUP_KEY)).toMatchObject({ objects, isDumpRead: true });
    await expect(makeBackup(source, place)).rejects.toThrow(/is not empty/);
    await storage.onApplicationShutdown();
    bucket.close();
  });

  it('is refused when it was cut off, changed or sealed with another key', async () => {
    const folder = join(root, 'backup');
    const place = new BackupFolder(folder);
    const dump = join(folder, 'database.dump');
    const intact = readFileSync(dump);
    await expect(verifyBackup(place, undefined)).rejects.toThrow(/Set BACKUP_KEY to its key/);
    await expect(verifyBackup(place, 'another key of tests')).rejects.toThrow(/not the key/);

    truncateSync(dump, intact.length - 1);
    await expect(verifyBackup(place, BACKUP_KEY)).rejects.toThrow(/database.dump was changed/);
    const changed = Buffer.from(intact);
    changed[intact.length >> 1] = (changed[intact.length >> 1] ?? 0) ^ 1;
    writeFileSync(dump, changed);
    await expect(verifyBackup(place, BACKUP_KEY)).rejects.toThrow(/database.dump was changed/);
    rmSync(dump);
    await expect(verifyBackup(place, BACKUP_KEY)).rejects.toThrow(/database.dump is missing/);
    writeFileSync(dump, intact);
    rmSync(join(folder, 'manifest.json'));
    await expect(verifyBackup(place, BACKUP_KEY)).rejects.toThrow(/no complete backup/);
  });
});

(isBuilt ? describe : describe.skip)('a backup of the embedded database', () => {
  let root: string;

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'plinth-backup-'));
    await unpackEmbeddedTemplate(join(root, 'data', 'pg'));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  async function program(dataDir: string, ...args: readonly [string, ...string[]]) {
    const run = runProgram(['backup.js', ...args], join(root, dataDir));
    const code = await run.exit;
    return { code, output: run.stdout() + run.stderr() };
  }

  it('is made, verified and restored by the command, while the service is stopped', async () => {
    const key = `${'a'.repeat(8)}/${randomBytes(16).toString('hex')}`;
    const backup = join(root, 'backup');
    mkdirSync(join(root, 'data', 'files', 'a'.repeat(8)), { recursive: true });
    writeFileSync(join(root, 'data', 'files', key), 'an uploaded file');
    const store = await openEmbedded(join(root, 'data'));
    await store.database.query(
      `INSERT INTO stored_file (tenant_id, storage_key, original_name, file_suffix, mime_type, byte_size, sha256, service)
       VALUES ('000000', $1, 'a.txt', '.txt', 'text/plain', 16, $2, 'local')`,
      [key, createHash('sha256').update('an uploaded file').digest('hex')],
    );
    const rows = await rowsOf(store.database);
    expect(await program('data', 'create', backup)).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^Plinth is running on .+ Stop the service/),
    });
    await store.close();

    const made = await program('data', 'create', backup);
    expect([made.code, made.output]).toEqual([0, expect.stringMatching(/^Backup of 3 objects/)]);
    const verified = await program('elsewhere', 'verify', backup);
    expect([verified.code, verified.output]).toEqual([0, expect.stringMatching(/^Complete: 3/)]);
    const restored = await program('restored', 'restore', backup);
    expect([restored.code, restored.output]).toEqual([0, expect.stringMatching(/^Restored: 3/)]);

    const copy = await openEmbedded(join(root, 'restored'));
    expect(await rowsOf(copy.database)).toEqual(rows);
    await copy.close();
    for (const path of ['secret.key', join('files', key)]) {
      expect(readFileSync(join(root, 'restored', path))).toEqual(
        readFileSync(join(root, 'data', path)),
      );
    }
    const config = loadConfig({ DATA_DIR: join(root, 'restored') });
    const target = { config, files: filesIn(config.DATA_DIR), replaces: false };
    await expect(restoreBackup(target, new BackupFolder(backup))).rejects.toThrow(
      /has a database already/,
    );
    await expect(
      makeBackup({ ...target, release: '1.0.0' }, new BackupFolder(backup)),
    ).rejects.toThrow(/is not empty/);
  });
});

function filesIn(dataDir: string): FileStorage {
  return new DiskStorage(dataDir, new Dependency('files'));
}
