import { ApiProperty } from '@nestjs/swagger';
import type { HarnessModelCall } from '../../store/model-call.entity.js';
import type { HarnessRun } from '../../store/run.entity.js';

const TOKENS = { type: 'integer', nullable: true, description: 'Null: not counted' } as const;
const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;
const COST = {
  type: Number,
  nullable: true,
  example: 0.0125,
  description: "In the currency of the model's prices; null where no price is known",
} as const;

/** One call of the model service. */
export class ModelCallView {
  @ApiProperty({ format: 'uuid', description: 'effectId of its events' })
  callId: string;

  @ApiProperty({ type: 'integer', description: 'The turn of the model that it belongs to' })
  iteration: number;

  @ApiProperty({ type: 'integer', description: 'From 1; above it an earlier try had failed' })
  attempt: number;

  @ApiProperty({ enum: ['TURN', 'SUMMARY'], description: 'SUMMARY makes room in the window' })
  purpose: string;

  @ApiProperty({ enum: ['STARTED', 'DONE', 'FAILED', 'ABANDONED'] })
  state: string;

  @ApiProperty(TOKENS)
  inputTokens: number | null;

  @ApiProperty(TOKENS)
  outputTokens: number | null;

  @ApiProperty({ ...TOKENS, description: 'Of inputTokens, those that came from the cache' })
  cachedTokens: number | null;

  @ApiProperty(COST)
  cost: number | null;

  @ApiProperty({ description: 'The service has not counted it, or not yet; numbers are ours' })
  estimated: boolean;

  @ApiProperty({ type: 'integer', nullable: true })
  durationMillis: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'MODEL_DEADLINE_EXCEEDED' })
  errorCode: string | null;

  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  endedAt: number | null;
}

/** What a run has used up so far. */
export class UsageTotalsView {
  @ApiProperty({ type: 'integer', description: 'Turns of the model' })
  iterations: number;

  @ApiProperty({ type: 'integer' })
  toolCalls: number;

  @ApiProperty({ type: 'integer' })
  inputTokens: number;

  @ApiProperty({ type: 'integer' })
  outputTokens: number;

  @ApiProperty({ type: 'integer' })
  totalTokens: number;

  @ApiProperty({ type: 'integer', description: 'Of inputTokens, those that came from the cache' })
  cachedTokens: number;

  @ApiProperty(COST)
  cost: number | null;

  @ApiProperty({ type: 'integer', description: 'Time in which it was worked on, in milliseconds' })
  activeMillis: number;
}

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
