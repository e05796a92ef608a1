import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';

/** Keys of the installation, encrypted. They belong to no tenant. */
@Injectable()
export class SigningKeyRepository {
  constructor(private readonly database: Database) {}

  /** The stored text; stores `fresh` if there is none. */
  async readOrInsert(name: string, fresh: string): Promise<string> {
    await this.database.query(
      'INSERT INTO signing_key (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
      [name, fresh],
    );
    const [row] = await this.database.query<{ sealed: string }>(
      'SELECT sealed FROM signing_key WHERE name = $1',
      [name],
    );
    return row?.sealed ?? fresh;
  }
}
