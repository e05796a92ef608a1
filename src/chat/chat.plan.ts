import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AgentService } from '../agent/index.js';
import type { AgentForChat } from '../agent/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { ModelResolver } from '../model/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import type { SendBody } from './chat.dto.js';
import type { Generation } from './chat.turn.js';

/** How a message is answered. */
export interface TurnPlan {
  readonly model: ResolvedChatModel;
  /** The prompt of the agent. */
  readonly systemPrompt: string | undefined;
  /** The knowledge bases to search; often none. */
  readonly bases: readonly KnowledgeBase[];
  readonly generation: Generation;
}

/** Determines from a request, and the agent it names, how the message is answered. */
@Injectable()
export class ChatPlanner {
  constructor(
    private readonly models: ModelResolver,
    private readonly agents: AgentService,
    private readonly knowledge: KnowledgeService,
  ) {}

  /**
   * The agent's model and knowledge bases take precedence over those of the request. The caller needs read access to a
   * base that the request names; those of an agent were checked when they were bound. Throws a DomainError for what
   * cannot be used.
   */
  async plan(caller: Caller, body: SendBody): Promise<TurnPlan> {
    if (body.agentId === undefined) {
      const model = await this.models.resolveChat(caller, body.model);
      return planOf(body, { model, bases: await this.requested(caller, body) });
    }
    const agent = await this.agents.forChat(caller, body.agentId);
    const model = await this.models.resolveChatById(caller, agent.modelId);
    const bound = await this.knowledge.ofTenant(caller.tenantId, agent.knowledgeIds);
    const bases = bound.length > 0 ? bound : await this.requested(caller, body);
    return planOf(body, { model, bases, agent });
  }

  private async requested(caller: Caller, { knowledgeId }: SendBody): Promise<KnowledgeBase[]> {
    return knowledgeId === undefined ? [] : [await this.knowledge.readable(caller, knowledgeId)];
  }
}

function planOf(
  body: SendBody,
  found: {
    readonly model: ResolvedChatModel;
    readonly bases: readonly KnowledgeBase[];
    readonly agent?: AgentForChat;
  },
): TurnPlan {
  const { model, bases, agent } = found;
  return {
    model,
    bases,
    systemPrompt: agent?.systemPrompt?.trim() || undefined,
    generation: {
      thinking: body.enableThinking ?? (agent?.enableThinking === true ? true : undefined),
      temperature: body.temperature ?? agent?.temperature ?? undefined,
      topP: body.topP ?? agent?.topP ?? undefined,
      maxTokens: body.maxTokens ?? agent?.maxTokens ?? model.maxOutput,
      stop: body.stop,
    },
  };
}
