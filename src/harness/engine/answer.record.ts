import { Injectable } from '@nestjs/common';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ToolCall, Usage } from '../../provider/index.js';
import { countedUsage, writtenIn } from '../context/counted.usage.js';
import type { TurnContext } from '../context/context.builder.js';
import { EffectRepository } from '../store/effect.repository.js';
import type { NewEffect } from '../store/effect.repository.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run-writer.js';
import { RunLedger } from '../store/run.ledger.js';
import { MessageRepository } from '../store/message.repository.js';
import { newId, sha256 } from '../protocol/ids.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { SecretMask } from '../store/secret-mask.js';
import { ToolRegistry } from '../tool/tools.js';
import type { HeldRun } from './held.run.js';
import type { LoopFinding } from './loop.guard.js';
import type { ModelAnswer, UnusableAnswer } from './model.turn.js';
import { ModelUsage } from './model.usage.js';

/** So many answers in a row that cannot be used end a run. */
const HOPELESS = 5;
const PROVIDER_ID_LENGTH = 200;

const CUT =
  'Your last answer was cut off before it was finished, and nothing of it was carried out. Go on in smaller steps.';
const EMPTY = 'Your last answer was empty. Go on with the task, or say that it is done.';

/** Stores what models answer: the message, its tool calls before any of them begins, and what it has cost. */
@Injectable()
export class AnswerRecord {
  constructor(
    private readonly ledger: RunLedger,
    private readonly messages: MessageRepository,
    private readonly effects: EffectRepository,
    private readonly usage: ModelUsage,
    private readonly registry: ToolRegistry,
    private readonly mask: SecretMask,
  ) {}

  /**
   * Answers 'next' when calls or another turn follow. A whole answer without calls is the last one: `whenFinal` says
   * what follows from it, in the same transaction, so that no crash can come between an answer and its consequence.
   */
  async write<Final>(
    held: HeldRun,
    answer: ModelAnswer,
    model: ResolvedChatModel,
    whenFinal: (writer: RunWriter) => Promise<Final>,
  ): Promise<Final | 'next'> {
    return this.ledger.asOwner(held.lease, async (writer) => {
      const { text, thinking, finish, usage } = answer;
      const isWhole = finish.reason === 'stop' || finish.reason === 'tool-calls';
      const toolCalls = isWhole ? answer.toolCalls : [];
      const isEmpty = toolCalls.length === 0 && text.trim() === '';
      const effects = this.effectsOf(writer.run, toolCalls);
      const messageId = await this.messages.append(writer.run, {
        role: 'ASSISTANT',
        content: text,
        ...(thinking !== '' && { thinking }),
        toolCalls: effects.map(({ toolCallId, toolName, argumentsJson }) => ({
          toolCallId,
          toolName,
          arguments: argumentsJson,
        })),
        finishReason: finish.reason,
        ...(usage && { usage: usageOf(usage) }),
        metadata: {
          effectId: answer.call.effectId,
          ...((!isWhole || isEmpty) && { incomplete: true }),
        },
      });
      if (effects.length > 0) await this.effects.prepare(writer.run, effects);
      this.tell(writer, { answer, effects, messageId });
      await this.account(writer, answer, model);
      if (effects.length > 0) return 'next';
      if (isWhole && !isEmpty) return whenFinal(writer);
      await this.control(writer, isEmpty && isWhole ? EMPTY : CUT);
      return 'next';
    });
  }

  /** Keeps the words of an answer whose calls cannot be read, and tells the model so. */
  async writeUnusable(held: HeldRun, answer: UnusableAnswer): Promise<void> {
    await this.ledger.asOwner(held.lease, async (writer) => {
      const { effectId, text, thinking } = answer;
      const problem = this.mask.apply(answer.problem);
      await this.messages.append(writer.run, {
        role: 'ASSISTANT',
        content: text,
        ...(thinking !== '' && { thinking }),
        finishReason: 'error',
        metadata: { effectId, incomplete: true },
      });
      await this.control(
        writer,
        `Your last answer could not be used, and nothing of it was carried out: ${problem} Call the tool again with complete arguments.`,
      );
    });
  }

  /** Whether the last answers could none of them be used. */
  async isHopeless(run: HarnessRun): Promise<boolean> {
    return (await this.messages.incompleteAtEnd(run.tenantId, run.id, HOPELESS)) >= HOPELESS;
  }

  /** Tells people and the model that the run goes round in circles. */
  async warn(held: HeldRun, finding: LoopFinding, model: ResolvedChatModel): Promise<void> {
    const { kind, count, limit } = finding;
    await this.ledger.asOwner(held.lease, async (writer) => {
      writer.event(
        'loop.warning',
        { kind, count, limit },
        { stepId: stepIdOf(writer.run.iteration) },
      );
      await this.control(
        writer,
        `${model.modelName}, you repeat yourself (${kind.replace('_', ' ')}, ${count} times; at ${limit} the run is stopped). Use what you know already, or try another way.`,
      );
    });
  }

  async compacted(
    held: HeldRun,
    { state, event, usage }: NonNullable<TurnContext['compaction']>,
    model: ResolvedChatModel,
  ): Promise<void> {
    await this.ledger.asOwner(held.lease, async (writer) => {
      writer.set({ compaction: state });
      writer.events([event]);
      if (!usage) return;
      const sent = { attempt: 1, purpose: 'SUMMARY', sentTokens: usage.inputTokens } as const;
      const call = await this.usage.begin(writer, sent);
      await this.usage.end(writer, call, { state: 'DONE', used: usage, model });
    });
  }

  private effectsOf(run: HarnessRun, toolCalls: readonly ToolCall[]): NewEffect[] {
    return toolCalls.map((call, ordinal) => ({
      toolCallId: newId(),
      iteration: run.iteration,
      ordinal,
      providerCallId: call.id.slice(0, PROVIDER_ID_LENGTH),
      toolName: call.name.slice(0, 100),
      // What nobody knows changes nothing: it is answered with an error.
      effectClass: this.registry.find(call.name)?.effectClass ?? 'READ',
      argumentsJson: call.arguments,
      argumentsSha256: sha256(call.arguments),
      input: call.input,
    }));
  }

  private tell(
    writer: RunWriter,
    what: {
      readonly answer: ModelAnswer;
      readonly effects: readonly NewEffect[];
      readonly messageId: string;
    },
  ): void {
    const { answer, effects, messageId } = what;
    const { text, finish } = answer;
    const { effectId } = answer.call;
    const stepId = stepIdOf(writer.run.iteration);
    for (const [index, { toolCallId, toolName: name, argumentsJson }] of effects.entries()) {
      const data = { effectId, index, name, arguments: argumentsJson };
      writer.event('assistant.tool.complete', data, { stepId, toolCallId });
    }
    writer.event(
      'assistant.completed',
      { effectId, messageId, toolCallCount: effects.length, text, finishReason: finish.reason },
      { stepId },
    );
  }

  private async account(
    writer: RunWriter,
    answer: ModelAnswer,
    model: ResolvedChatModel,
  ): Promise<void> {
    const { call, usage, durationMs } = answer;
    const used = countedUsage(usage, { ...call, written: writtenIn(answer) });
    writer.set({ contextUsed: used.inputTokens });
    await this.usage.end(writer, call, { state: 'DONE', durationMs, used, model });
  }

  private async control(writer: RunWriter, content: string): Promise<void> {
    await this.messages.append(writer.run, {
      role: 'CONTROL',
      content,
      metadata: { kind: 'NOTE' },
    });
  }
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage): Record<string, number> {
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  };
}
