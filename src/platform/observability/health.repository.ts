import { Inject, Injectable } from '@nestjs/common';
import { Database, withStatementLimit } from '../database/index.js';

/** Probes the relational store for the health check. */
@Injectable()
export class HealthRepository {
  private asking: Promise<void> | undefined;

  constructor(@Inject(Database) private readonly database: Pick<Database, 'query'>) {}

  /**
   * Resolves when the store answers. All who ask at the same time share one statement, so that probes of a store that is
   * away hold one connection at most; it is given up after the limit.
   */
  probe(limitMs: number): Promise<void> {
    this.asking ??= withStatementLimit(limitMs, () => this.ask()).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async ask(): Promise<void> {
    await this.database.query('SELECT 1');
  }
}
