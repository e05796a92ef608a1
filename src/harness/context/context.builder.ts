import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { sendableTokens } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ModelUser } from '../../usage/index.js';
import type { ContentPart, ToolDefinition } from '../../provider/index.js';
import { Artifacts } from '../change/blob.store.js';
import type { Plan } from '../protocol/plan.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { MessageRepository } from '../store/message.repository.js';
import type { RunSkills, TurnMessage } from '../store/message.repository.js';
import type { Workspace } from '../workspace/workspace.js';
import { NOT_COMPACTED } from '../protocol/run.state.js';
import { Conversation, DataMark } from './rendering.js';
import type { ContextParts } from './rendering.js';
import { fit, SummaryWriter } from './compaction.js';
import type { Fit } from './compaction.js';
import { surroundingMessages, SurroundingsReader, systemText } from './system.text.js';

export interface ContextInput {
  readonly run: HarnessRun;
  /** The user of the run. */
  readonly caller: ModelUser;
  readonly model: ResolvedChatModel;
  readonly skills: RunSkills;
  readonly workspace: Workspace;
  /** The tools that are offered now. */
  readonly tools: readonly ToolDefinition[];
  /** Tokens that may be sent, where the window of the model takes more by its record. */
  readonly sendLimit?: number | undefined;
  readonly signal: AbortSignal;
}

/** Input of the next model call. Store the compaction, if any, before the model is called. */
export interface ModelRequest extends Fit {
  readonly tools: readonly ToolDefinition[];
  /**
   * Tokens that may be sent: the model's window without room for its answer, or less once the service has refused a request as
   * too long.
   */
  readonly contextLimit: number;
}

const imageMetadata = z.object({
  images: z.array(
    z.object({ artifactId: z.string(), mediaType: z.string(), detail: z.string().optional() }),
  ),
});

/** Builds what a model is sent: rules, surroundings, and as much of the run as fits its window. */
@Injectable()
export class ContextBuilder {
  constructor(
    private readonly messages: MessageRepository,
    private readonly surroundings: SurroundingsReader,
    private readonly artifacts: Artifacts,
    private readonly summaries: SummaryWriter,
  ) {}

  /**
   * The messages of the next model call. The system message holds rules alone; what comes from files, tools, skills and
   * earlier runs is marked as data. Every tool call has its one result. ContextOverflowError when the window is too small.
   */
  async build(input: ContextInput): Promise<ModelRequest> {
    const { run, caller, model, tools, signal } = input;
    const { contextWindow, maxOutput: maxAnswer } = model;
    const { sendLimit = Infinity } = input;
    const hardLimit = sendableTokens({ contextWindow, maxAnswer });
    const limit = Math.min(sendLimit, hardLimit);
    const parts = { ...(await this.partsOf(input, limit)), hardLimit };
    const { mark } = parts;
    const fitted = await fit(parts, run.compaction ?? NOT_COMPACTED, (wish) =>
      this.summaries.write({ caller, model, mark, limit, signal }, wish),
    );
    return { ...fitted, tools, contextLimit: limit };
  }

  /** The images of a requirement as parts of the message, in their order. A text stands for those that cannot be shown. */
  async imagesOf(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    message: TurnMessage | undefined,
    { supportsVision }: Pick<ResolvedChatModel, 'supportsVision'>,
  ): Promise<ContentPart[]> {
    const { success, data } = imageMetadata.safeParse(message?.metadata);
    if (!success) return [];
    const isBlind = supportsVision === false;
    const parts: ContentPart[] = [];
    for (const { artifactId, mediaType: mimeType, detail } of data.images) {
      const bytes = isBlind
        ? undefined
        : (await this.artifacts.find(run, artifactId))?.bytes?.toString('base64');
      if (bytes === undefined) parts.push({ type: 'text', text: missingText(isBlind) });
      else parts.push({ type: 'image', mimeType, data: bytes, ...detailOf(detail) });
    }
    return parts;
  }

  private async partsOf(input: ContextInput, limit: number): Promise<ContextParts> {
    const { run, model, skills, workspace, tools, signal } = input;
    const mark = new DataMark(run.id);
    const [messages, surroundings] = await Promise.all([
      this.messages.ofRun(run, (run.compaction ?? NOT_COMPACTED).prunedThrough),
      this.surroundings.of({ run, workspace, limit, signal }),
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
      images: await this.imagesOf(run, conversation.initial, model),
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

/** Services know low and high, and decide themselves where nothing is said. */
function detailOf(wanted = 'auto'): { readonly detail?: 'low' | 'high' } {
  if (wanted === 'auto') return {};
  return { detail: wanted === 'low' ? 'low' : 'high' };
}

function missingText(isBlind: boolean): string {
  return isBlind
    ? '[A picture is missing here: this model cannot see pictures.]'
    : '[A picture is missing here: its content was lost.]';
}
