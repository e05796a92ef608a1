import { ApiProperty } from '@nestjs/swagger';
import type { HarnessEffect } from '../../store/effect.entity.js';
import type { HarnessInput } from '../../store/run-input.entity.js';
import { INPUT_KINDS } from '../../protocol/run.values.js';

const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;

export class RunErrorView {
  @ApiProperty({ example: 'uncertain_tool_effect' })
  code: string;

  @ApiProperty()
  message: string;
}

export class RunUsageView {
  @ApiProperty({ type: 'integer', description: 'Cached tokens included' })
  inputTokens: number;

  @ApiProperty({ type: 'integer' })
  outputTokens: number;

  @ApiProperty({ type: 'integer' })
  totalTokens: number;

  @ApiProperty({ type: 'integer' })
  cachedTokens: number;
}

export class RunLimitsView {
  @ApiProperty({ type: 'integer', description: 'Turns of the model' })
  maxIterations: number;

  @ApiProperty({ type: 'integer' })
  maxToolCalls: number;

  @ApiProperty({ type: 'integer' })
  maxInputTokens: number;

  @ApiProperty({ type: 'integer' })
  maxOutputTokens: number;

  @ApiProperty({ type: 'integer', description: 'Time at work; waiting does not count' })
  maxWallTimeMillis: number;
}

export class RunQuestionView {
  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty()
  text: string;

  @ApiProperty({ type: [String] })
  options: readonly string[];
}

export class RunInputView {
  @ApiProperty({ format: 'uuid' })
  inputId: string;

  @ApiProperty({ enum: INPUT_KINDS })
  kind: string;

  @ApiProperty()
  content: string;

  @ApiProperty(MILLISECONDS)
  createdAt: number;
}

/** A tool call whose outcome is not settled. */
export class OpenEffectView {
  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ example: 'shell' })
  toolName: string;

  @ApiProperty({ enum: ['READ', 'META', 'FILE', 'SHELL'] })
  effectClass: string;

  @ApiProperty({ enum: ['PREPARED', 'STARTED', 'UNCERTAIN'] })
  state: string;

  @ApiProperty({ description: 'The arguments, as the model wrote them' })
  argumentsJson: string;

  @ApiProperty({ description: 'SHA-256 of the bytes of argumentsJson' })
  argumentsSha256: string;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  startedAt: number | null;
}

export function toInputView({ id, kind, content, createTime }: HarnessInput): RunInputView {
  return { inputId: id, kind, content, createdAt: createTime.getTime() };
}

export function toOpenEffectView(effect: HarnessEffect): OpenEffectView {
  const { toolCallId, toolName, effectClass, state, argumentsJson, argumentsSha256 } = effect;
  const startedAt = effect.startedAt?.getTime() ?? null;
  return { toolCallId, toolName, effectClass, state, argumentsJson, argumentsSha256, startedAt };
}
