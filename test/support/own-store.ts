import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createEmptyDatabase, createServerDatabase } from './server-database.js';
import { SECRET_KEY, unpackEmbeddedTemplate } from './template.js';

/** The store of one Plinth, or of several processes that share it. */
export interface OwnStore {
  /** The address of its PostgreSQL database; undefined on the embedded store, which is in the data folder. */
  readonly databaseUrl: string | undefined;
  /** What a process of the service is told about it; nothing on the embedded store. */
  readonly environment: Record<string, string>;
  drop(): Promise<void>;
}

/**
 * A database and a Redis prefix of its own on the servers that are given. The database is a copy of the migrated template,
 * or `empty` for what looks at a first start. Without a server the copy is put into `dataDir`, where a process opens it: to
 * make a database there takes it 5 s of CPU more.
 */
export async function ownStore({
  empty = false,
  dataDir,
}: { readonly empty?: boolean; readonly dataDir?: string } = {}): Promise<OwnStore> {
  const { DATABASE_URL: server, REDIS_URL } = process.env;
  const create = empty ? createEmptyDatabase : createServerDatabase;
  const database = server ? await create(server) : undefined;
  const unpacked = !server && dataDir !== undefined && !empty;
  if (unpacked) await unpackEmbeddedTemplate(join(dataDir, 'pg'));
  return {
    databaseUrl: database?.url,
    environment: {
      ...(database && { DATABASE_URL: database.url }),
      ...((database || unpacked) && { SECRET_KEY }),
      ...(REDIS_URL && { REDIS_URL, REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}` }),
    },
    drop: async () => database?.drop(),
  };
}
