import { randomBytes } from 'node:crypto';
import { loadConfig } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { createDataSource, Database, openInMemory } from '../../../src/platform/database/index.js';
import { entities } from '../entities.js';
import type { VectorScope } from '../../../src/vector-store/index.js';
import { createServerDatabase } from '../server-database.js';
import { embeddedTemplate, SECRET_KEY } from '../template.js';

/** A migrated database with two tenants, to which knowledge bases and documents can be added. */
export interface VectorDatabase {
  readonly database: Database;
  readonly config: Config;
  readonly tenants: readonly [string, string];
  newBase(tenantId: string): Promise<VectorScope>;
  newAttachment(scope: VectorScope): Promise<number>;
  close(): Promise<void>;
}

/** On the server where its address is given, else embedded. */
export async function openVectorDatabase(server?: string): Promise<VectorDatabase> {
  const onServer = server === undefined ? undefined : await createServerDatabase(server);
  const embedded = onServer ? undefined : await openInMemory(await embeddedTemplate());
  const source = createDataSource({
    entities,
    url: onServer?.url,
    embedded,
    poolSize: 5,
  });
  await source.initialize();
  const database = new Database(source);
  const insert = async (sql: string, values: unknown[]): Promise<number> => {
    const [row] = await database.query<{ id: number }>(sql, values);
    return row?.id ?? 0;
  };
  await insert(`INSERT INTO tenant (tenant_id, company_name) VALUES ('300009', 'Second')`, []);
  return {
    database,
    config: loadConfig({ SECRET_KEY }),
    tenants: ['000000', '300009'],
    newBase: async (tenantId) => ({
      tenantId,
      knowledgeId: await insert(
        `INSERT INTO knowledge_base (tenant_id, name) VALUES ($1, 'base') RETURNING id`,
        [tenantId],
      ),
    }),
    newAttachment: async ({ tenantId, knowledgeId }) =>
      insert(
        `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size)
         VALUES ($1, $2, $3, $4, 'a.txt', '.txt', 1) RETURNING id`,
        [tenantId, knowledgeId, randomBytes(16).toString('hex'), randomBytes(32).toString('hex')],
      ),
    close: async () => {
      await source.destroy();
      await embedded?.close();
      await onServer?.drop();
    },
  };
}
