import { Inject, Injectable } from '@nestjs/common';
import { Database, withStatementLimit } from '../database/index.js';

/** What the health check asks the relational store. */
@Injectable()
export class HealthRepository {
  private asking: Promise<{ vectors: boolean }> | undefined;

  constructor(@Inject(Database) private readonly database: Pick<Database, 'query'>) {}

  /**
   * Whether the store answers, and whether it can hold vectors itself. All who ask at the same time share one statement,
   * so that probes of a store that is away hold one connection at most; it is given up after the limit.
   */
  probe(limitMs: number): Promise<{ vectors: boolean }> {
    this.asking ??= withStatementLimit(limitMs, () => this.ask()).finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async ask(): Promise<{ vectors: boolean }> {
    const [row] = await this.database.query<{ vectors: boolean }>(
      "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS vectors",
    );
    return { vectors: row?.vectors ?? false };
  }
}
