import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';

/** What the health check asks the relational store. */
@Injectable()
export class HealthRepository {
  constructor(private readonly database: Database) {}

  async ping(): Promise<void> {
    await this.database.query('SELECT 1');
  }

  /** Whether the store can hold vectors itself. */
  async hasVectorExtension(): Promise<boolean> {
    const rows = await this.database.query(
      "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'",
    );
    return rows.length > 0;
  }
}
