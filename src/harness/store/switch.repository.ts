import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';

/** The switches of the installation; they belong to no tenant. */
@Injectable()
export class SwitchRepository {
  constructor(private readonly database: Database) {}

  /** Undefined when it was never set. */
  async find(name: string): Promise<boolean | undefined> {
    const [row] = await this.database.query<{ enabled: boolean }>(
      'SELECT enabled FROM harness_switch WHERE name = $1',
      [name],
    );
    return row?.enabled;
  }

  async set(name: string, enabled: boolean, by: number): Promise<void> {
    await this.database.query(
      `INSERT INTO harness_switch (name, enabled, changed_by) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET enabled = $2, changed_by = $3, update_time = now()`,
      [name, enabled, by],
    );
  }
}
