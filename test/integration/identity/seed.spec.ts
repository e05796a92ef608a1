import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../../src/app.js';
import { loadConfig } from '../../../src/platform/config/index.js';
import { Database, openInMemory } from '../../../src/platform/database/index.js';
import { IdentitySeed } from '../../../src/identity/index.js';
import { askedByTest } from '../../support/asked-by-test.js';

/** Always on the embedded store: it is empty without a template. */
describe('the first start', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plinth-test-'));
  const log: string[] = [];
  let app: NestExpressApplication;

  beforeAll(async () => {
    const memory = await openInMemory();
    const config = loadConfig({ DATA_DIR: dataDir, DEMO: 'off', LOG_LEVEL: 'trace' });
    const created = await createApp(config, {
      store: { database: memory, close: () => memory.close() },
      log: { write: (line) => void log.push(line) },
    });
    app = askedByTest(await created.init());
  });
  afterAll(async () => {
    await app.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('makes up a password of admin, hands it out once and neither logs nor stores it', async () => {
    const initial = app.get(IdentitySeed);
    const login = initial.takeInitialLogin();
    expect(login).toEqual({ userName: 'admin', password: expect.stringMatching(/^[\w-]{24}$/) });
    expect(initial.takeInitialLogin()).toBeUndefined();
    expect(log.join('\n')).not.toContain(login?.password);
    const [user] = await app
      .get(Database)
      .query<{ hash: string }>(
        `SELECT password_hash AS hash FROM user_account WHERE tenant_id = '000000'`,
      );
    expect(user?.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it('makes the roles of the installation and no others', async () => {
    const rows = await app
      .get(Database)
      .query<{ key: string; permissions: string[] }>(
        `SELECT role_key AS key, permissions FROM role WHERE tenant_id = '000000' ORDER BY id`,
      );
    expect(rows.map(({ key }) => key)).toEqual(['superadmin', 'admin', 'user']);
    expect(rows[0]?.permissions).toEqual(['*:*:*']);
    expect(rows[1]?.permissions).not.toContain('system:tenant:list');
    expect(rows[2]?.permissions).toContain('system:session:list');
  });
});
