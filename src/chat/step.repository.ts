import { Injectable } from '@nestjs/common';
import { Database, storableJson } from '../platform/database/index.js';
import { EffectRepository } from '../effect/index.js';
import type { Effect } from '../effect/index.js';
import { WRITING } from './message.entity.js';
import type { StoredCall, StoredStep } from './message.entity.js';
import { settledCall } from './turn.steps.js';
import { storableText } from './turn.repository.js';

/** The answer that a step belongs to, with its text so far. */
export interface StepOwner {
  readonly tenantId: string;
  readonly turnId: string;
  readonly questionId: number;
  readonly content: string;
  readonly reasoning: string;
  readonly modelName: string;
}

/** A step and the id of its answer. */
interface StepRow extends StoredStep {
  readonly messageId: number;
}

/**
 * The row of the answer is made or brought up to date with the step. An answer that is stored has a duration, and gets no
 * further steps.
 */
const SAVE_STEP = `WITH answer AS (
      INSERT INTO chat_message
        (tenant_id, user_id, session_id, turn_id, role, content, reasoning, model_name, state, parent_id)
      SELECT question.tenant_id, question.user_id, question.session_id, $3::uuid, 'assistant',
        $4, nullif($5, ''), $6, '${WRITING}', question.id
      FROM chat_message question WHERE question.tenant_id = $1 AND question.id = $2
      ON CONFLICT (tenant_id, turn_id) WHERE role = 'assistant' AND turn_id IS NOT NULL DO UPDATE
        SET content = EXCLUDED.content, reasoning = EXCLUDED.reasoning
        WHERE chat_message.duration_ms IS NULL
      RETURNING tenant_id, id
    )
    INSERT INTO chat_step
      (tenant_id, message_id, number, text, reasoning, calls, input_tokens, output_tokens, provider_state)
    SELECT tenant_id, id, $7::integer, $8, $9, $10::jsonb, $11::integer, $12::integer, $13::jsonb FROM answer
    ON CONFLICT (tenant_id, message_id, number) DO UPDATE SET calls = EXCLUDED.calls`;

const stepsWith = (calls: string, providerState: string): string =>
  `SELECT message_id AS "messageId", number, text, reasoning, ${calls} AS calls,
     ${providerState} AS "providerState", input_tokens AS "inputTokens", output_tokens AS "outputTokens"
   FROM chat_step WHERE tenant_id = $1 AND message_id = ANY ($2::bigint[])
   ORDER BY message_id, number`;

const STEPS = stepsWith('calls', 'provider_state');

const LISTED_STEPS = stepsWith(
  `(SELECT coalesce(jsonb_agg(call || '{"content":""}' ORDER BY place), '[]')
      FROM jsonb_array_elements(calls) WITH ORDINALITY AS made (call, place))`,
  'NULL::jsonb',
);

/** Steps by the id of their answer. */
export type StepsOfMessages = ReadonlyMap<number, readonly StoredStep[]>;

/** The steps of answers with tools. */
@Injectable()
export class StepRepository {
  constructor(
    private readonly database: Database,
    private readonly effects: EffectRepository,
  ) {}

  /** Stores the current state of a step. Drops it if its question was deleted meanwhile. */
  async save(owner: StepOwner, step: StoredStep): Promise<void> {
    await this.database.prepared(SAVE_STEP, [
      owner.tenantId,
      owner.questionId,
      owner.turnId,
      owner.content,
      owner.reasoning,
      owner.modelName,
      step.number,
      step.text,
      step.reasoning,
      JSON.stringify(step.calls),
      step.inputTokens,
      step.outputTokens,
      step.providerState ? storableJson(step.providerState, storableText) : null,
    ]);
  }

  /** The steps of these answers by the id of the answer, in their order. */
  of(tenantId: string, messageIds: readonly number[]): Promise<StepsOfMessages> {
    return this.read(STEPS, tenantId, messageIds);
  }

  /** The steps of many answers for a list, without tool results and provider states. */
  listed(tenantId: string, messageIds: readonly number[]): Promise<StepsOfMessages> {
    return this.read(LISTED_STEPS, tenantId, messageIds);
  }

  private async read(
    statement: string,
    tenantId: string,
    messageIds: readonly number[],
  ): Promise<StepsOfMessages> {
    const steps = new Map<number, StoredStep[]>();
    if (messageIds.length === 0) return steps;
    const rows = await this.database.prepared<StepRow>(statement, [tenantId, messageIds]);
    const effects = await this.effectsOf(tenantId, rows);
    for (const { messageId, ...step } of rows) {
      const calls = step.calls.map((call) =>
        isOpen(call) ? settledCall(call, effects.get(call.effectId)) : call,
      );
      steps.set(messageId, [...(steps.get(messageId) ?? []), { ...step, calls }]);
    }
    return steps;
  }

  /** The recorded calls whose steps do not know how they ended. */
  private async effectsOf(
    tenantId: string,
    rows: readonly StoredStep[],
  ): Promise<ReadonlyMap<string, Effect>> {
    const ids = rows.flatMap(({ calls }) => calls.filter(isOpen).map(({ effectId }) => effectId));
    const effects = ids.length === 0 ? [] : await this.effects.ofCalls(tenantId, ids);
    return new Map(effects.map((effect) => [effect.toolCallId, effect]));
  }
}

function isOpen(call: StoredCall): call is StoredCall & { readonly effectId: string } {
  const { state, effectId } = call;
  return effectId !== undefined && ['running', 'waiting', 'uncertain'].includes(state);
}
