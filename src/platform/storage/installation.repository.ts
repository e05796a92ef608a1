import { Injectable } from '@nestjs/common';
import { acrossTenants, Database, isBackupRunning } from '../database/index.js';

interface InstallationRow {
  readonly id: string;
  /** The recorded database; null before the first start. */
  readonly database: string | null;
}

interface StartedInstallation extends InstallationRow {
  /** The prefix of its collections in Qdrant. */
  readonly vectorPrefix: string;
}

/** A stored file: its id follows from the sequence of the database, its key is random. */
export interface KnownFile {
  readonly id: number;
  readonly key: string;
}

/** The one row of the table `installation`, and the data that tells a database from a copy of it. */
@Injectable()
export class InstallationRepository {
  constructor(private readonly database: Database) {}

  /** Reads the row, after the first start. */
  async find(): Promise<StartedInstallation> {
    return only(
      await this.database.query<StartedInstallation>(
        'SELECT id, database, vector_prefix AS "vectorPrefix" FROM installation',
      ),
    );
  }

  /** Reads the row and locks it until the transaction ends. */
  async lock(): Promise<InstallationRow> {
    return only(
      await this.database.query<InstallationRow>(
        'SELECT id, database FROM installation FOR UPDATE',
      ),
    );
  }

  async save(id: string, database: string): Promise<void> {
    await this.database.query(
      `UPDATE installation SET id = $1, database = $2,
              vector_prefix = coalesce(vector_prefix, 'plinth-' || $1::uuid)`,
      [id, database],
    );
  }

  /**
   * The identity of the database, which a restored or copied one does not share. Where the role
   * of the service may not read the server's identifier, the database's own number has to do.
   */
  async presentDatabase(): Promise<string> {
    const { oid, mayAsk } = only(
      await this.database.query<{ oid: number; mayAsk: boolean }>(
        `SELECT oid, has_function_privilege('pg_control_system()', 'EXECUTE') AS "mayAsk"
           FROM pg_database WHERE datname = current_database()`,
      ),
    );
    if (!mayAsk) return `/${oid}`;
    const { server } = only(
      await this.database.query<{ server: string }>(
        'SELECT system_identifier::text AS server FROM pg_control_system()',
      ),
    );
    return `${server}/${oid}`;
  }

  backupRuns(): Promise<boolean> {
    return isBackupRunning(this.database);
  }

  /** The largest id that was given to a stored file; it outlives the file. */
  async newestFile(): Promise<number> {
    const { newest } = only(
      await this.database.query<{ newest: number }>(
        `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('stored_file', 'id')::regclass), 0) AS newest`,
      ),
    );
    return newest;
  }

  /** The newest record of a stored file of any tenant. */
  async newestRecord(): Promise<KnownFile | undefined> {
    const [record] = await acrossTenants('mark of the installation', () =>
      this.database.query<KnownFile>(
        'SELECT id, storage_key AS key FROM stored_file ORDER BY id DESC LIMIT 1',
      ),
    );
    return record;
  }

  /** The key of the record with the id, of any tenant. */
  async keyOf(id: number): Promise<string | undefined> {
    const [record] = await acrossTenants('mark of the installation', () =>
      this.database.query<Pick<KnownFile, 'key'>>(
        'SELECT storage_key AS key FROM stored_file WHERE id = $1',
        [id],
      ),
    );
    return record?.key;
  }
}

function only<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('The row of the installation is missing.');
  return row;
}
