import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from '../../src/app.js';
import type { AppOptions } from '../../src/app.module.js';
import { loadConfig } from '../../src/platform/config/index.js';
import { openInMemory } from '../../src/platform/database/index.js';
import { loadAnswerSchemas, recordAnswers } from './answer-schemas.js';
import { askedByTest } from './asked-by-test.js';
import { canary } from './canary.js';
import { ownStore } from './own-store.js';
import { Session } from './session.js';
import { allowStatementsOfTests } from './own-statements.js';
import { recordStatement } from './statement-recorder.js';
import { ADMIN_PASSWORD, embeddedTemplate, SECRET_KEY, WEB_CLIENT } from './template.js';

allowStatementsOfTests();

/** A running Plinth with a database of its own, on the store that the environment chooses. */
export class Plinth {
  private constructor(
    readonly app: NestExpressApplication,
    readonly url: string,
    readonly dataDir: string,
    /** What was logged so far, one JSON text a line. */
    readonly log: readonly string[],
    private readonly checkAnswers: () => Promise<void>,
    private readonly dispose: () => Promise<void>,
  ) {}

  /**
   * Boots the whole application on a copy of the migrated template; `environment` overrides variables, `media` says what
   * stands in the place of the network for the contents of media.
   */
  static async start(
    environment: Record<string, string> = {},
    { media }: Pick<AppOptions, 'media'> = {},
  ): Promise<Plinth> {
    await loadAnswerSchemas();
    const dataDir = mkdtempSync(join(tmpdir(), 'plinth-test-'));
    const store = await ownStore();
    canary.protect('key of the service', SECRET_KEY);
    const config = loadConfig({
      PORT: '0',
      DATA_DIR: dataDir,
      SECRET_KEY,
      ADMIN_PASSWORD,
      LOG_LEVEL: 'trace',
      LOG_FORMAT: 'json',
      DEMO: 'off',
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      DATABASE_POOL_SIZE: '5',
      SHUTDOWN_DRAIN_SECONDS: '0',
      ...store.environment,
      ...environment,
    });
    const memory = config.embedded ? await openInMemory(await embeddedTemplate()) : undefined;
    const log: string[] = [];
    const app = await createApp(config, {
      log: { write: (line) => void log.push(line) },
      observe: recordStatement,
      ...(media && { media }),
      ...(memory && { store: { database: memory, close: () => memory.close() } }),
    });
    const checkAnswers = recordAnswers(app.getHttpServer());
    try {
      await app.listen(0, '127.0.0.1');
    } catch (error) {
      await app.close();
      await store.drop();
      rmSync(dataDir, { recursive: true, force: true });
      throw error;
    }
    const { port } = app.getHttpServer().address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    return new Plinth(askedByTest(app), url, dataDir, log, checkAnswers, () => store.drop());
  }

  /** Signs in; without arguments as `admin`, the super administrator of tenant 000000. */
  async signIn(
    username = 'admin',
    password = ADMIN_PASSWORD,
    tenantId = '000000',
    clientId = WEB_CLIENT,
  ): Promise<Session> {
    const anonymous = new Session(this.url, {});
    const answer = await anonymous.post<{ access_token: string }>('/auth/login', {
      tenantId,
      username,
      password,
      clientId,
      grantType: 'password',
    });
    if (answer.code !== 200) throw new Error(`Sign-in failed: ${answer.msg}`);
    return new Session(this.url, {
      authorization: `Bearer ${answer.data.access_token}`,
      clientid: clientId,
    });
  }

  anonymous(): Session {
    return new Session(this.url, {});
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.dispose();
    rmSync(this.dataDir, { recursive: true, force: true });
    canary.checkLog(this.log);
    await this.checkAnswers();
  }
}
