import {
  integer,
  nullable,
  oneOf,
  text,
  texts,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import type { HarnessEffect } from '../../store/effect.entity.js';
import type { HarnessInput } from '../../store/run-input.entity.js';
import { INPUT_KINDS } from '../../protocol/run.values.js';

export class RunErrorView extends View({
  code: text({ example: 'uncertain_tool_effect' }),
  message: text(),
}) {}

export class RunUsageView extends View({
  inputTokens: integer({ description: 'Cached tokens included' }),
  outputTokens: integer(),
  totalTokens: integer(),
  cachedTokens: integer(),
}) {}

export class RunLimitsView extends View({
  maxIterations: integer({ description: 'Turns of the model' }),
  maxToolCalls: integer(),
  maxInputTokens: integer(),
  maxOutputTokens: integer(),
  maxWallTimeMillis: integer({ description: 'Time at work; waiting does not count' }),
}) {}

export class RunQuestionView extends View({
  toolCallId: uuid(),
  text: text(),
  options: texts(),
}) {}

export class RunInputView extends View({
  inputId: uuid(),
  kind: oneOf(INPUT_KINDS),
  content: text(),
  createdAt: timestamp(),
}) {}

/** A tool call whose outcome is not settled. */
export class OpenEffectView extends View({
  toolCallId: uuid(),
  toolName: text({ example: 'shell' }),
  effectClass: oneOf(['READ', 'META', 'FILE', 'SHELL']),
  state: oneOf(['PREPARED', 'STARTED', 'UNCERTAIN']),
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({ description: 'SHA-256 of the bytes of argumentsJson' }),
  startedAt: nullable(timestamp()),
}) {}

export function toInputView({ id, kind, content, createTime }: HarnessInput): RunInputView {
  return { inputId: id, kind, content, createdAt: createTime.getTime() };
}

export function toOpenEffectView(effect: HarnessEffect): OpenEffectView {
  const { toolCallId, toolName, effectClass, state, argumentsJson, argumentsSha256 } = effect;
  const startedAt = effect.startedAt?.getTime() ?? null;
  return { toolCallId, toolName, effectClass, state, argumentsJson, argumentsSha256, startedAt };
}
