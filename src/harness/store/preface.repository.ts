import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { HarnessRun } from './harness.entity.js';

/** A message of an earlier run; long texts are cut. */
export interface EarlierText {
  readonly role: 'USER' | 'ASSISTANT';
  readonly content: string;
}

/** A session's newest texts are looked at, so many at most. */
const TEXTS = 200;

/** What was said in a session before a run began. */
@Injectable()
export class PrefaceRepository {
  constructor(private readonly database: Database) {}

  /** The texts of earlier runs, the newest first, each cut to so many characters. Runs of a session follow each other. */
  async before(
    { tenantId, sessionId, id }: Pick<HarnessRun, 'tenantId' | 'sessionId' | 'id'>,
    characters: number,
  ): Promise<EarlierText[]> {
    return this.database.query<EarlierText>(
      `SELECT role, left(content, $4) AS content FROM harness_message
        WHERE tenant_id = $1 AND session_id = $2 AND run_id <> $3 AND role IN ('USER', 'ASSISTANT')
          AND content <> ''
        ORDER BY sequence DESC LIMIT ${TEXTS}`,
      [tenantId, sessionId, id, characters],
    );
  }
}
