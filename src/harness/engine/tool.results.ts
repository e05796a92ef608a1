import { Injectable } from '@nestjs/common';
import { stepIdOf } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run-writer.js';
import { MessageRepository } from '../store/message.repository.js';
import type { EffectState } from '../protocol/effect.state.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { EffectRepository } from '../store/effect.repository.js';
import type { EffectOutcome } from '../store/effect.repository.js';

/** What is said of a call beside its result. */
export interface ResultNote {
  /** One line for people. */
  readonly summary?: string;
  readonly truncated?: boolean;
  readonly durationMs?: number;
}

interface Answer {
  readonly state: EffectState;
  readonly result: string;
  readonly errorCode?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly artifactId?: string | undefined;
}

/** Writes how tool calls have ended: the effect's row, the one message that the model reads, and the event. */
@Injectable()
export class ToolResults {
  constructor(
    private readonly effects: EffectRepository,
    private readonly messages: MessageRepository,
  ) {}

  /** Stores the outcome of an open effect and its message; answers the message's id. Nothing when it has ended already. */
  async settle(
    writer: RunWriter,
    effect: HarnessEffect,
    outcome: EffectOutcome,
    note: ResultNote = {},
  ): Promise<string | undefined> {
    const settled = await this.effects.finish(writer.run, effect.toolCallId, outcome);
    return settled ? this.answer(writer, effect, outcome, note) : undefined;
  }

  /** Writes the message of an effect whose outcome is stored; answers its id. The index on it refuses a second one. */
  async answer(
    writer: RunWriter,
    effect: HarnessEffect,
    answer: Answer,
    note: ResultNote = {},
  ): Promise<string> {
    const { toolCallId, toolName, iteration } = effect;
    const error = answer.state !== 'SUCCEEDED';
    const { artifactId, exitCode, errorCode } = answer;
    const durationMs = Math.round(note.durationMs ?? 0);
    const messageId = await this.messages.append(writer.run, {
      role: 'TOOL',
      content: answer.result,
      toolCallId,
      toolName,
      toolError: error,
      metadata: {
        effectId: toolCallId,
        durationMillis: durationMs,
        ...(errorCode !== undefined && { code: errorCode }),
        ...(artifactId !== undefined && { artifactId }),
      },
    });
    writer.event(
      'tool.completed',
      {
        toolName,
        messageId,
        error,
        code: errorCode ?? null,
        status: answer.state,
        summary: note.summary ?? firstLine(answer.result),
        truncated: note.truncated ?? false,
        ...(artifactId !== undefined && { artifactId }),
        ...(exitCode !== undefined && { exitCode }),
        durationMs,
      },
      { toolCallId, stepId: stepIdOf(iteration) },
    );
    return messageId;
  }
}

const LONGEST_SUMMARY = 200;

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, LONGEST_SUMMARY);
}
