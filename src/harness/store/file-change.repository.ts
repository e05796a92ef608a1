import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import { Database } from '../../platform/database/index.js';
import { columnsOf } from './columns.repository.js';
import { storableJson } from './storable.js';
import { HarnessFileChange } from './harness.entity.js';

export type NewFileChange = Omit<HarnessFileChange, 'id' | 'createTime' | 'undone'>;

const COLUMNS = columnsOf(HarnessFileChange);
/** Rows that are read at once. */
const PIECE = 1_000;

/** The changed files of runs, in the order of the changes. */
@Injectable()
export class FileChangeRepository {
  constructor(private readonly database: Database) {}

  async insert(changes: readonly NewFileChange[]): Promise<void> {
    const [first] = changes;
    if (!first) return;
    await this.database.query(
      `INSERT INTO harness_file_change (tenant_id, run_id, tool_call_id, path, op, before_sha256, after_sha256,
          before_mode, after_mode, additions, deletions, restorable)
        SELECT $1, $2, $3, c.path, c.op, c."beforeSha256", c."afterSha256", c."beforeMode", c."afterMode",
               c.additions, c.deletions, c.restorable
          FROM ROWS FROM (jsonb_to_recordset($4::jsonb) AS (path text, op text, "beforeSha256" text,
                 "afterSha256" text, "beforeMode" integer, "afterMode" integer, additions integer,
                 deletions integer, restorable boolean)) WITH ORDINALITY AS c
         ORDER BY c.ordinality`,
      [first.tenantId, first.runId, first.toolCallId, storableJson(changes)],
    );
  }

  /** Of one run, oldest first, with those that were undone. Read in pieces, so that many do not block the process. */
  async ofRun(tenantId: string, runId: string): Promise<HarnessFileChange[]> {
    const changes: HarnessFileChange[] = [];
    for (;;) {
      const after = changes.at(-1)?.id ?? 0;
      const piece = await this.database.prepared<HarnessFileChange>(
        `SELECT ${COLUMNS} FROM harness_file_change
          WHERE tenant_id = $1 AND run_id = $2 AND id > $3 ORDER BY id LIMIT ${PIECE}`,
        [tenantId, runId, after],
      );
      changes.push(...piece);
      if (piece.length < PIECE) return changes;
    }
  }

  /** Marks changes of one run as undone, or as done again. */
  async mark(
    { tenantId, id: runId }: { readonly tenantId: string; readonly id: string },
    changeIds: readonly number[],
    undone: boolean,
  ): Promise<void> {
    const changes = this.database.repository(HarnessFileChange);
    await changes.update({ tenantId, runId, id: Any([...changeIds]) }, { undone });
  }
}
