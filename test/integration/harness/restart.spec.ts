import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../../src/app.js';
import { loadConfig } from '../../../src/platform/config/index.js';
import { Database, openInMemory } from '../../../src/platform/database/index.js';
import { newId } from '../../../src/harness/protocol/values.js';
import { askedByTest } from '../../support/asked-by-test.js';
import { ParkedRuns } from '../../support/parked-runs.js';
import type { ParkedRun } from '../../support/parked-runs.js';
import { Session } from '../../support/session.js';
import {
  ADMIN_PASSWORD,
  embeddedTemplate,
  SECRET_KEY,
  WEB_CLIENT,
} from '../../support/template.js';

/** One process after the other on the same embedded store. */
describe('a stop of the service while somebody is asked (S32)', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-test-')));
  let memory: Awaited<ReturnType<typeof openInMemory>>;
  let app: NestExpressApplication;

  beforeAll(async () => {
    memory = await openInMemory(await embeddedTemplate());
    app = await boot();
  });

  afterAll(async () => {
    await app.close();
    await memory.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function boot(): Promise<NestExpressApplication> {
    const config = loadConfig({
      PORT: '0',
      DATA_DIR: folder,
      SECRET_KEY,
      ADMIN_PASSWORD,
      LOG_LEVEL: 'silent',
      DEMO: 'off',
      HARNESS_ROOTS: folder,
    });
    const started = await createApp(config, {
      store: { database: memory, close: async () => undefined },
    });
    await started.listen(0, '127.0.0.1');
    return askedByTest(started);
  }

  async function signIn(): Promise<Session> {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const answer = await new Session(url, {}).post<{ access_token: string }>('/auth/login', {
      tenantId: '000000',
      username: 'admin',
      password: ADMIN_PASSWORD,
      clientId: WEB_CLIENT,
      grantType: 'password',
    });
    const authorization = `Bearer ${answer.data.access_token}`;
    return new Session(url, { authorization, clientid: WEB_CLIENT });
  }

  async function makeSession(): Promise<string> {
    const id = newId();
    const { dev, ino } = statSync(folder);
    await app.get(Database).query(
      `INSERT INTO harness_session
          (id, tenant_id, user_id, home_tenant_id, title, workspace, workspace_identity, model_name, permission_mode,
           approval_policy, idempotency_key, idempotency_hash)
       SELECT $1, '000000', u.id, '000000', 'Restart', $2, $3, 'none', 'WORKSPACE_WRITE', 'ON_REQUEST', $4,
              repeat('0', 64)
         FROM user_account u WHERE u.tenant_id = '000000' AND u.user_name = 'admin'`,
      [id, folder, `${dev}:${ino}`, id],
    );
    return id;
  }

  /** Everything that the store holds of the run. */
  async function traces({ runId }: ParkedRun): Promise<unknown> {
    const database = app.get(Database);
    return {
      run: await database.query('SELECT * FROM harness_run WHERE id = $1', [runId]),
      approvals: await database.query('SELECT * FROM harness_approval WHERE run_id = $1', [runId]),
      effects: await database.query('SELECT * FROM harness_effect WHERE run_id = $1', [runId]),
      events: await database.query('SELECT * FROM harness_event WHERE run_id = $1', [runId]),
    };
  }

  it('decides nothing in anybody’s name, and the decision still counts afterwards', async () => {
    const parked = new ParkedRuns({ app });
    const tool = await parked.tool(await makeSession());
    const plan = await parked.plan(await makeSession());
    const effect = await parked.uncertain(await makeSession());
    const runs = [tool, plan, effect];
    const before = await Promise.all(runs.map(traces));
    await app.close();
    app = await boot();
    expect(await Promise.all(runs.map(traces))).toEqual(before);
    const admin = await signIn();
    const { data } = await admin.get<Record<string, unknown>[]>('/coding/harness/approvals');
    expect(data.map(({ kind }) => kind).sort()).toEqual(['EFFECT', 'PLAN', 'TOOL']);
    const asked = data.find(({ kind }) => kind === 'TOOL') ?? {};
    const { approvalId, expectedRevision, argumentsSha256 } = asked;
    const path = `/coding/harness/sessions/${tool.sessionId}/runs/${tool.runId}`;
    const decided = { decisionId: 'd', decision: 'DENY_AND_STOP' };
    expect(
      await admin.post(`${path}/approvals/${String(approvalId)}/resolve`, {
        ...decided,
        expectedRevision,
        argumentsSha256,
      }),
    ).toMatchObject({ code: 200, data: { stopReason: 'APPROVAL_REJECTED_STOP' } });
  });
});
