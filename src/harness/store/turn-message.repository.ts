import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { HarnessMessage, HarnessRun } from './harness.entity.js';

export const SKILL_TOOL = 'activate_skill';

/** An output of so many bytes takes hardly more than the pointer to it. */
export const WORTH_PRUNING = 400;

/** As much of a stored message as the model is to know. */
export type TurnMessage = Pick<
  HarnessMessage,
  | 'id'
  | 'sequence'
  | 'role'
  | 'content'
  | 'toolCalls'
  | 'toolCallId'
  | 'toolName'
  | 'toolError'
  | 'usage'
  | 'metadata'
> & {
  /** Only the beginning of the content was read, because it is no longer sent. */
  readonly pruned: boolean;
};

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
