import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { TenantRevision } from '../../../src/platform/access/index.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { acrossTenants, Database, SealedColumns } from '../../../src/platform/database/index.js';
import { isBuilt, killAll, runProgram, START_MS } from '../../support/built-process.js';
import type { BuiltProcess } from '../../support/built-process.js';
import { createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { columnOf, sealedUnder } from '../../support/secret-keys.js';
import { SECRET_KEY, WEB_CLIENT } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const TENANT = '000000';
const NEXT_KEY = 'next-secret-key-of-at-least-32-characters';
const BOTH = { SECRET_KEY: NEXT_KEY, SECRET_KEY_PREVIOUS: SECRET_KEY };
/** More than one batch. */
const FACTOR_COUNT = 300;

const { DATABASE_URL, REDIS_URL } = process.env;
const isPossible = isBuilt && DATABASE_URL !== undefined && REDIS_URL !== undefined;

/** A service as the first rolling restart leaves it: it encrypts with the old key and decrypts with both. */
let plinth: Plinth;
let database: Database;
let modelId: number;

beforeAll(async () => {
  plinth = await Plinth.start({ SECRET_KEY_PREVIOUS: NEXT_KEY });
  database = plinth.app.get(Database);
  const admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const keys = [{ label: 'Second', apiKey: 'key-of-model_key', weight: 1, enabled: true }];
  const apiHost = 'http://127.0.0.1:9/v1';
  modelId = await createModel(admin, { modelName: 'm', apiHost, apiKey: 'key-of-model', keys });
  const knowledgeId = await createKnowledge(admin, { name: 'with a source' });
  await insertRows(knowledgeId);
});

afterEach(killAll);

afterAll(() => plinth.stop());

/** Rows of the kinds that an outside service or a person would have to make. Their texts name their tables. */
async function insertRows(knowledgeId: number): Promise<void> {
  const sealed = plinth.app.get(SealedColumns);
  const seal = (table: string, owner: number | string): string =>
    columnOf(sealed, table).seal(TENANT, owner, `key-of-${table}`);
  const session = randomUUID();
  await database.query(
    `INSERT INTO sso_provider (id, tenant_id, public_id, name, issuer, client_id, client_secret, scopes, role_mapping, allow_create, status)
     VALUES (71, $1, $2, 'p', 'https://issuer.invalid', 'c', $3, 'openid', '[]', false, '1')`,
    [TENANT, randomUUID(), seal('sso_provider', 71)],
  );
  await database.query(
    `INSERT INTO sso_identity (id, tenant_id, provider_id, user_id, subject, refresh_token) VALUES (72, $1, 71, 1, 's', $2)`,
    [TENANT, seal('sso_identity', 72)],
  );
  await database.query(
    `INSERT INTO login_session (id, tenant_id, user_id, client_id, active_timeout, expire_time)
     VALUES ($1, $2, 1, $3, 3600, now() + interval '1 hour')`,
    [session, TENANT, WEB_CLIENT],
  );
  await database.query(
    'INSERT INTO sso_session (login_session_id, tenant_id, identity_id, id_token) VALUES ($1, $2, 72, $3)',
    [session, TENANT, seal('sso_session', session)],
  );
  await database.query(
    `INSERT INTO knowledge_source (id, tenant_id, knowledge_id, name, kind, secret) VALUES (73, $1, $2, 's', 'git', $3)`,
    [TENANT, knowledgeId, seal('knowledge_source', 73)],
  );
  await database.query(
    `INSERT INTO notice_target (tenant_id, kind, address, secret) VALUES ($1, 'webhook', 'https://notices.invalid', $2)`,
    [TENANT, seal('notice_target', 'https://notices.invalid')],
  );
  await database.query(
    `INSERT INTO second_factor (tenant_id, user_id, kind, name, secret)
     SELECT $1, 1, 'totp', 'app', unnest($2::text[])`,
    [TENANT, Array.from({ length: FACTOR_COUNT }, () => seal('second_factor', 1))],
  );
}

/** The number of texts under the key, by table. */
async function countsUnder(keys: { readonly SECRET_KEY: string }): Promise<Record<string, number>> {
  const sample = columnOf(sealedUnder(plinth, keys), 'model').seal(TENANT, 0, '').split('.')[1];
  const counts = await plinth.app.get(SealedColumns).counts();
  return Object.fromEntries(
    counts.filter(({ keyId }) => keyId === sample).map(({ table, count }) => [table, count]),
  );
}

/** The texts that a process with these keys does not decrypt, as table and primary key. */
async function unreadableFor(sealed: SealedColumns): Promise<[string, number | string][]> {
  const texts: [string, number | string][] = [];
  for await (const { table, key } of sealed.unreadable()) texts.push([table, key]);
  return texts;
}

const EVERY_KIND = {
  model: 1,
  model_key: 1,
  notice_target: 1,
  second_factor: FACTOR_COUNT,
  signing_key: 1,
  sso_identity: 1,
  sso_provider: 1,
  sso_session: 1,
  knowledge_source: 1,
};

describe('a change of SECRET_KEY', () => {
  it('encrypts every kind again, while the service reads all, after an interruption, twice at once', async () => {
    const running = plinth.app.get(SealedColumns);
    const revision = await plinth.app.get(TenantRevision).current(TENANT);
    expect(await countsUnder({ SECRET_KEY })).toEqual(EVERY_KIND);

    const failing = sealedUnder(plinth, BOTH, interruptedAfter(4));
    await expect(failing.renew()).rejects.toThrow('Interrupted.');
    const total = sum(EVERY_KIND);
    const written = sum(await countsUnder({ SECRET_KEY: NEXT_KEY }));
    expect(written).toBeGreaterThan(3);
    expect(written).toBeLessThan(total);
    expect(sum(await countsUnder({ SECRET_KEY }))).toBe(total - written);
    expect(await unreadableFor(running)).toEqual([]);

    const rotations = [1, 2].map(() => sealedUnder(plinth, BOTH).renew());
    expect((await Promise.all(rotations)).reduce((one, other) => one + other)).toBe(
      total - written,
    );
    expect(await countsUnder({ SECRET_KEY: NEXT_KEY })).toEqual(EVERY_KIND);
    const next = sealedUnder(plinth, { SECRET_KEY: NEXT_KEY });
    expect(await unreadableFor(next)).toEqual([]);
    expect(await unreadableFor(running)).toEqual([]);
    const [model] = await database.query<{ credential: string }>(
      'SELECT credential FROM model WHERE tenant_id = $1 AND id = $2',
      [TENANT, modelId],
    );
    expect(columnOf(next, 'model').open(TENANT, modelId, model?.credential ?? '')).toBe(
      'key-of-model',
    );
    // Cached models stay: their keys are the same.
    expect(await plinth.app.get(TenantRevision).current(TENANT)).toBe(revision);

    expect(await sealedUnder(plinth, { SECRET_KEY, SECRET_KEY_PREVIOUS: NEXT_KEY }).renew()).toBe(
      total,
    );
    expect(await countsUnder({ SECRET_KEY })).toEqual(EVERY_KIND);
  });

  (isPossible ? it : it.skip)(
    'goes on after a kill, names what no key decrypts, and says when the old key can go',
    async () => {
      const ids = await database.query<{ id: number; secret: string }>(
        'SELECT id, secret FROM second_factor WHERE tenant_id = $1 ORDER BY id',
        [TENANT],
      );
      const [first, last] = [ids[0], ids.at(-1)];
      // A process that changes a row of the last batch holds the command there.
      const holder = database.dataSource.createQueryRunner();
      await holder.startTransaction();
      await acrossTenants('a test', () =>
        holder.query('SELECT id FROM second_factor WHERE id = $1 FOR UPDATE', [last?.id]),
      );
      const killed = rotate();
      await eventually(
        async () => (await countsUnder({ SECRET_KEY: NEXT_KEY }))['second_factor'],
        (count) => count === 200,
      );
      killed.child.kill('SIGKILL');
      await killed.exit;
      await holder.rollbackTransaction();
      await holder.release();
      expect(await countsUnder({ SECRET_KEY })).toMatchObject({ second_factor: 100 });
      expect(await unreadableFor(plinth.app.get(SealedColumns))).toEqual([]);

      await setSecret(last?.id, `${last?.secret}AAAA`);
      await setSecret(first?.id, `v1.00000000.${randomBytes(40).toString('base64url')}`);
      const runs = [rotate(), rotate()];
      expect(await Promise.all(runs.map(({ exit }) => exit))).toEqual([1, 1]);
      for (const run of runs) {
        const named = run.stdout().match(/^Neither key decrypts second_factor\.secret of \d+/gm);
        expect(named).toEqual(
          [first, last].map((row) => `Neither key decrypts second_factor.secret of ${row?.id}`),
        );
        expect(run.stdout()).toMatch(
          /^Keep SECRET_KEY_PREVIOUS\. Secrets that are still encrypted with it: 1\. It does not decrypt them\./m,
        );
      }
      expect(await countsUnder({ SECRET_KEY: NEXT_KEY })).toEqual({
        ...EVERY_KIND,
        second_factor: FACTOR_COUNT - 2,
      });

      await setSecret(last?.id, null);
      const complete = rotate();
      expect(await complete.exit).toBe(0);
      expect(complete.stdout()).toMatch(
        /^second_factor\.secret: 298 with SECRET_KEY \([0-9a-f]{8}\)\n/m,
      );
      expect(complete.stdout()).toMatch(/\nNo secret needs SECRET_KEY_PREVIOUS\. .+\n$/);
      expect(complete.stdout()).not.toContain('key-of-');
    },
    START_MS,
  );
});

/** The command beside the service. */
function rotate(): BuiltProcess {
  const { DATABASE_URL: url = '', REDIS_PREFIX } = plinth.app.get<Config>(CONFIG);
  return runProgram(['secrets-rotate.js'], plinth.dataDir, {
    ...BOTH,
    DATABASE_URL: url,
    REDIS_URL: REDIS_URL ?? '',
    REDIS_PREFIX,
    LOG_LEVEL: 'error',
  });
}

async function setSecret(id: number | undefined, secret: string | null): Promise<void> {
  await database.query('UPDATE second_factor SET secret = $3 WHERE tenant_id = $1 AND id = $2', [
    TENANT,
    id,
    secret,
  ]);
}

/** The database, whose connection is lost after so many changes. */
function interruptedAfter(count: number): Database {
  let changes = 0;
  const query = (sql: string, values?: readonly unknown[]): Promise<unknown[]> => {
    if (sql.trimStart().startsWith('UPDATE') && ++changes > count) {
      throw new Error('Interrupted.');
    }
    return database.query(sql, values);
  };
  return Object.assign(Object.create(database) as Database, { query });
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
