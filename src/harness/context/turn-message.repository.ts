import { Injectable } from '@nestjs/common';
import { Database } from '../../database/index.js';
import type { HarnessRun } from '../run/run.entity.js';
import type { TurnMessage } from './conversation.js';
import { SKILL_TOOL, WORTH_PRUNING } from './pruning.js';

/** What is read of an output that is left out anyway: enough for a summary. */
const BEGINNING = 2_400;

/** The messages of a run as far as a model is to know them. */
@Injectable()
export class TurnMessageRepository {
  constructor(private readonly database: Database) {}

  /**
   * All messages in their order. Long outputs up to the sequence come with their beginning alone: before each turn of a
   * long run, reading all of them whole would take more than everything else.
   */
  async ofRun(
    { tenantId, id }: Pick<HarnessRun, 'tenantId' | 'id'>,
    prunedThrough: number,
  ): Promise<TurnMessage[]> {
    return this.database.prepared<TurnMessage>(
      `SELECT id, sequence, role, CASE WHEN pruned THEN left(content, ${BEGINNING}) ELSE content END AS content, pruned,
              tool_calls AS "toolCalls", tool_call_id AS "toolCallId", tool_name AS "toolName",
              tool_error AS "toolError", usage, metadata
         FROM (SELECT *, role = 'TOOL' AND sequence <= $3 AND octet_length(content) > ${WORTH_PRUNING}
                         AND (tool_error OR tool_name IS DISTINCT FROM '${SKILL_TOOL}') AS pruned
                 FROM harness_message WHERE tenant_id = $1 AND run_id = $2) AS message
        ORDER BY sequence`,
      [tenantId, id, prunedThrough],
    );
  }
}
