import { Injectable } from '@nestjs/common';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ToolCall, Usage } from '../../provider/index.js';
import type { TurnContext } from '../context/context.builder.js';
import { EffectRepository } from '../effect/effect.repository.js';
import type { NewEffect } from '../effect/effect.repository.js';
import { stepIdOf } from '../event/event.catalogue.js';
import type { RunWriter } from '../ledger/run-writer.js';
import { RunLedger } from '../ledger/run.ledger.js';
import { MessageRepository } from '../message/message.repository.js';
import { newId, sha256 } from '../protocol/ids.js';
import { costOf } from '../report/cost.js';
import type { HarnessRun } from '../run/run.entity.js';
import { SecretMask } from '../secret/secret-mask.js';
import { ToolRegistry } from '../tool/tool.registry.js';
import type { HeldRun } from './held.run.js';
import type { LoopFinding } from './loop.guard.js';
import { ModelCallRepository } from './model-call.repository.js';
import type { ModelCallEnd } from './model-call.repository.js';
import type { ModelAnswer, UnusableAnswer } from './model.turn.js';

/** What follows from an answer: calls to carry out, another turn, or the end of the run. */
export type StoredAnswer = 'calls' | 'again' | 'final';

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
    private readonly calls: ModelCallRepository,
    private readonly registry: ToolRegistry,
    private readonly mask: SecretMask,
  ) {}

  async write(held: HeldRun, answer: ModelAnswer, model: ResolvedChatModel): Promise<StoredAnswer> {
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
        metadata: { effectId: answer.effectId, ...((!isWhole || isEmpty) && { incomplete: true }) },
      });
      if (effects.length > 0) await this.effects.prepare(writer.run, effects);
      this.tell(writer, { answer, effects, messageId });
      await this.account(writer, answer, model);
      if (effects.length > 0) return 'calls';
      if (isWhole && !isEmpty) return 'final';
      await this.control(writer, isEmpty && isWhole ? EMPTY : CUT);
      return 'again';
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

  /** Tells people and the model that the run goes round in circles; once for each count. */
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
      const { iteration } = writer.run;
      const id = await this.calls.start(writer.run, { iteration, attempt: 1, purpose: 'SUMMARY' });
      await this.calls.end(writer.run, id, { state: 'DONE', ...countsOf(usage, model) });
      this.addUsage(writer, usage, { model, contextUsed: writer.run.contextUsed });
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
    const { effectId, text, finish } = answer;
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
    const { usage, durationMs, effectId } = answer;
    const counts = usage && countsOf(usage, model);
    await this.calls.end(writer.run, effectId, { state: 'DONE', durationMs, ...counts });
    if (!usage) return;
    const contextUsed = usage.inputTokens ?? writer.run.contextUsed;
    this.addUsage(writer, usage, { model, contextUsed });
  }

  private addUsage(
    writer: RunWriter,
    usage: Usage,
    {
      model,
      contextUsed,
    }: { readonly model: ResolvedChatModel; readonly contextUsed: number | null },
  ): void {
    const { run } = writer;
    const cost = costOf(usage, model);
    const inputTokens = run.inputTokens + (usage.inputTokens ?? 0);
    const outputTokens = run.outputTokens + (usage.outputTokens ?? 0);
    const cachedTokens = run.cachedTokens + (usage.cachedInputTokens ?? 0);
    const total = cost === undefined ? run.cost : (run.cost ?? 0) + cost;
    writer.set({ inputTokens, outputTokens, cachedTokens, cost: total, contextUsed });
    const { contextLimit } = run;
    writer.event('usage.updated', {
      inputTokens,
      outputTokens,
      cachedTokens,
      ...(total !== null && { cost: total }),
      ...(contextUsed !== null && { contextUsed }),
      ...(contextLimit !== null && { contextLimit }),
    });
  }

  private async control(writer: RunWriter, content: string): Promise<void> {
    await this.messages.append(writer.run, {
      role: 'CONTROL',
      content,
      metadata: { kind: 'NOTE' },
    });
  }
}

function countsOf(
  usage: Usage,
  model: ResolvedChatModel,
): Pick<ModelCallEnd, 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'cost'> {
  const { inputTokens, outputTokens, cachedInputTokens: cachedTokens } = usage;
  return { inputTokens, outputTokens, cachedTokens, cost: costOf(usage, model) };
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage): Record<string, number> {
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  };
}
