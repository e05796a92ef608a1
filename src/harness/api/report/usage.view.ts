import { ApiProperty } from '@nestjs/swagger';
import {
  decimal,
  flag,
  integer,
  nullable,
  oneOf,
  text,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import type { HarnessModelCall } from '../../store/model-call.entity.js';
import type { HarnessRun } from '../../store/run.entity.js';

/** One call of the model service. */
export class ModelCallView extends View({
  callId: uuid({ description: 'effectId of its events' }),
  iteration: integer({ description: 'The turn of the model that it belongs to' }),
  attempt: integer({ description: 'From 1; above it an earlier try had failed' }),
  purpose: oneOf(['TURN', 'SUMMARY'], { description: 'SUMMARY makes room in the window' }),
  state: oneOf(['STARTED', 'DONE', 'FAILED', 'ABANDONED']),
  inputTokens: nullable(integer({ description: 'Null: not counted' })),
  outputTokens: nullable(integer({ description: 'Null: not counted' })),
  cachedTokens: nullable(
    integer({ description: 'Of inputTokens, those that came from the cache' }),
  ),
  cost: nullable(
    decimal({
      example: 0.0125,
      description: "In the currency of the model's prices; null where no price is known",
    }),
  ),
  estimated: flag({ description: 'The service has not counted it, or not yet; numbers are ours' }),
  durationMillis: nullable(integer()),
  errorCode: nullable(text({ example: 'MODEL_DEADLINE_EXCEEDED' })),
  createdAt: timestamp(),
  endedAt: nullable(timestamp()),
}) {}

/** What a run has used up so far. */
export class UsageTotalsView extends View({
  iterations: integer({ description: 'Turns of the model' }),
  toolCalls: integer(),
  inputTokens: integer(),
  outputTokens: integer(),
  totalTokens: integer(),
  cachedTokens: integer({ description: 'Of inputTokens, those that came from the cache' }),
  cost: nullable(
    decimal({
      example: 0.0125,
      description: "In the currency of the model's prices; null where no price is known",
    }),
  ),
  activeMillis: integer({ description: 'Time in which it was worked on, in milliseconds' }),
}) {}

export class RunUsageDetailView extends UsageTotalsView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens of the last request' })
  contextUsed: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that the model takes' })
  contextLimit: number | null;

  @ApiProperty({ type: [ModelCallView], description: 'Oldest first' })
  modelCalls: readonly ModelCallView[];
}

export function toUsageTotals(run: HarnessRun): UsageTotalsView {
  const { iteration, toolCalls, inputTokens, outputTokens, cachedTokens, cost, activeMs } = run;
  const totalTokens = inputTokens + outputTokens;
  return {
    ...{ iterations: iteration, toolCalls },
    ...{ inputTokens, outputTokens, totalTokens, cachedTokens, cost },
    activeMillis: activeMs,
  };
}

export function toUsageView(
  run: HarnessRun,
  calls: readonly HarnessModelCall[],
): RunUsageDetailView {
  const { contextUsed, contextLimit } = run;
  return { ...toUsageTotals(run), contextUsed, contextLimit, modelCalls: calls.map(toCallView) };
}

function toCallView(call: HarnessModelCall): ModelCallView {
  const { id, iteration, attempt, purpose, state, cost, estimated, errorCode } = call;
  const { inputTokens, outputTokens, cachedTokens, durationMs, createTime, endedAt } = call;
  return {
    ...{ callId: id, iteration, attempt, purpose, state },
    ...{ inputTokens, outputTokens, cachedTokens, cost, estimated, errorCode },
    durationMillis: durationMs,
    createdAt: createTime.getTime(),
    endedAt: endedAt?.getTime() ?? null,
  };
}
