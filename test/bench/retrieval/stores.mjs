import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownDatabase } from '../own-database.mjs';

const TENANT = '000000';

/** Runs `work` on a Plinth of its own, with its settings: embedded, or on a new database of the server at `url`. */
export async function withPlinth(url, work) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
  const database = url ? await ownDatabase(url) : undefined;
  try {
    const { createApp } = await import('../../../dist/src/app.js');
    const { inTenant } = await import('../../../dist/src/platform/database/index.js');
    const { loadConfig } = await import('../../../dist/src/platform/config/index.js');
    const settings = {
      DATA_DIR: folder,
      SECRET_KEY: randomBytes(32).toString('base64'),
      ADMIN_PASSWORD: randomBytes(12).toString('hex'),
      DEMO: 'off',
      LOG_LEVEL: 'warn',
      ...(database && { DATABASE_URL: database.url }),
    };
    const app = await createApp(loadConfig(settings));
    await app.init();
    try {
      return await inTenant(TENANT, () => work(app, settings));
    } finally {
      await app.close();
    }
  } finally {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An empty knowledge base, and a way to add the row of a document to it. */
export async function makeKnowledge(app) {
  const { Database } = await import('../../../dist/src/platform/database/index.js');
  const database = app.get(Database);
  const [{ id: knowledgeId }] = await database.query(
    `INSERT INTO knowledge_base (tenant_id, name, text_block_size) VALUES ($1, 'Bench', 8000) RETURNING id`,
    [TENANT],
  );
  const addDocument = async () => {
    const [{ id }] = await database.query(
      `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size)
       VALUES ($1, $2, $3, $4, 'Document', 'txt', 1) RETURNING id`,
      [TENANT, knowledgeId, randomBytes(16).toString('hex'), randomBytes(32).toString('hex')],
    );
    return id;
  };
  return { scope: { tenantId: TENANT, knowledgeId }, addDocument };
}
