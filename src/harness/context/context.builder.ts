import { Injectable } from '@nestjs/common';
import { sendableTokens } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ChatMessage, ToolDefinition } from '../../provider/index.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { Plan } from '../protocol/plan.js';
import type { HarnessRun, HarnessSession } from '../store/harness.entity.js';
import type { RunSkills } from '../store/run-skills.js';
import type { Workspace } from '../workspace/workspace.js';
import { NOT_COMPACTED } from '../protocol/run.values.js';
import type { Compaction } from '../protocol/run.values.js';
import { Conversation } from './conversation.js';
import type { CountedUsage } from './counted.usage.js';
import { DataMark } from './data-mark.js';
import { fit } from './fitting.js';
import type { Fit } from './fitting.js';
import type { TurnParts } from './rendering.js';
import { RunFrame, surroundingMessages } from './run.frame.js';
import { RunPictures } from './run.pictures.js';
import { SummaryWriter } from './summary.writer.js';
import { systemText } from './system.text.js';
import { TurnMessageRepository } from '../store/turn-message.repository.js';

export { ContextOverflowError } from './context.errors.js';

export interface TurnInput {
  readonly run: HarnessRun;
  readonly session: HarnessSession;
  readonly model: ResolvedChatModel;
  readonly skills: RunSkills;
  readonly workspace: Workspace;
  /** Those that are offered now. */
  readonly tools: readonly ToolDefinition[];
  readonly signal: AbortSignal;
}

/** What the model is sent for its next answer. */
export interface TurnContext {
  readonly messages: readonly ChatMessage[];
  readonly estimatedTokens: number;
  /** Tokens that may be sent: the model's window without the room for its answer. */
  readonly contextLimit: number;
  /** What was left out anew. Store the state with the event before the model is asked. */
  readonly compaction?: {
    readonly state: Compaction;
    readonly event: EventDraft;
    /** What a summary by the model took. */
    readonly usage?: CountedUsage;
  };
}

/** Puts together what a model is sent: rules, surroundings, and as much of the run as fits its window. */
@Injectable()
export class ContextBuilder {
  constructor(
    private readonly messages: TurnMessageRepository,
    private readonly frame: RunFrame,
    private readonly pictures: RunPictures,
    private readonly summaries: SummaryWriter,
  ) {}

  /**
   * The next turn's messages. Only rules are in the system's name; what comes from files, tools, skills and earlier runs
   * is marked as data. Every call stands with its one result. ContextOverflowError when the window is too small.
   */
  async build(input: TurnInput): Promise<TurnContext> {
    const { run, model, signal } = input;
    const limit = sendableTokens({
      contextWindow: model.contextWindow,
      maxAnswer: model.maxOutput,
    });
    const parts = await this.partsOf(input, limit);
    const { mark } = parts;
    const fitted = await fit(parts, run.compaction ?? NOT_COMPACTED, (wish) =>
      this.summaries.write({ model, mark, limit, signal }, wish),
    );
    return contextOf(fitted, limit);
  }

  private async partsOf(input: TurnInput, limit: number): Promise<TurnParts> {
    const { run, model, skills, workspace, tools, signal } = input;
    const mark = new DataMark(run.id);
    const [messages, surroundings] = await Promise.all([
      this.messages.ofRun(run, (run.compaction ?? NOT_COMPACTED).prunedThrough),
      this.frame.of({ run, workspace, limit, signal }),
    ]);
    const conversation = Conversation.of(messages);
    const { listing } = surroundings;
    const system = systemText({ run, tools, skills, listing, mark, limit });
    return {
      frame: [
        { role: 'system', content: system },
        ...surroundingMessages(surroundings, mark, limit),
      ],
      conversation,
      pictures: await this.pictures.of(run, conversation.initial, model),
      skills,
      tools,
      mark,
      plan: run.plan ? planText(run.plan) : undefined,
      limit,
    };
  }
}

function planText({ summary, steps, files }: Plan): string {
  const lines = steps.map(({ id, text, status }) => `- ${id} ${status}: ${text}`);
  return [summary, 'Steps:', ...lines, `Files: ${files.join(', ') || 'none'}`].join('\n');
}

function contextOf({ messages, tokens, compaction }: Fit, contextLimit: number): TurnContext {
  const context = { messages, estimatedTokens: tokens, contextLimit };
  if (!compaction) return context;
  const { state, beforeTokens, prunedCalls, summarised, usage } = compaction;
  const data = { beforeTokens, afterTokens: tokens, prunedCalls, summarised };
  const event: EventDraft = { type: 'context.compacted', data };
  return { ...context, compaction: { state, event, ...(usage && { usage }) } };
}
