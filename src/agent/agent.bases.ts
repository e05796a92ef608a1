import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { UserCallers } from '../identity/index.js';
import { KnowledgeService, readableBy } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { AgentRepository } from './agent.repository.js';

const MAX_LOOKED_AT = 1_000;

/** Fields that determine the bases of an agent. */
interface BoundAgent {
  /** The creator; null for the service itself, and once the user is deleted. */
  readonly userId: number | null;
  readonly knowledgeIds: readonly number[];
}

/**
 * The knowledge bases that agents pass on to those who use them: the bound ones that their creators may read at that moment. Without a
 * creator, or while the creator may not sign in, these are the shared ones.
 */
@Injectable()
export class AgentBases {
  constructor(
    private readonly agents: AgentRepository,
    private readonly knowledge: KnowledgeService,
    private readonly callers: UserCallers,
  ) {}

  /** The readable bases of each of the agents, in the order of binding. */
  async of(tenantId: string, agents: readonly BoundAgent[]): Promise<KnowledgeBase[][]> {
    const ids = [...new Set(agents.flatMap(({ knowledgeIds }) => knowledgeIds))];
    if (ids.length === 0) return agents.map(() => []);
    const bases = await this.knowledge.ofTenant(tenantId, ids);
    const creators = new Map<number | null, Caller | undefined>([[null, undefined]]);
    for (const { userId } of agents) {
      if (userId === null || creators.has(userId)) continue;
      creators.set(userId, await this.callers.working({ userId, tenantId }));
    }
    return agents.map(({ userId, knowledgeIds }) => {
      const readable = readableBy(creators.get(userId), bases);
      return knowledgeIds.flatMap((id) => readable.find((base) => base.id === id) ?? []);
    });
  }

  /**
   * The bases of a turn that are still readable: by the creator of the agent that binds them, otherwise by the caller whose
   * message names them.
   */
  async stillOf(
    caller: Caller,
    agentId: number | undefined,
    bases: readonly KnowledgeBase[],
  ): Promise<KnowledgeBase[]> {
    const { tenantId } = caller;
    const knowledgeIds = bases.map(({ id }) => id);
    const agent =
      agentId === undefined ? null : await this.agents.agents.findOne(tenantId, { id: agentId });
    if (agentId !== undefined && agent === null) return [];
    if (!agent?.knowledgeIds.some((id) => knowledgeIds.includes(id))) {
      return readableBy(caller, await this.knowledge.ofTenant(tenantId, knowledgeIds));
    }
    const [readableBases = []] = await this.of(tenantId, [{ ...agent, knowledgeIds }]);
    return readableBases;
  }

  /** The names of the agents that have the base bound and do not pass it on; at most 1,000 are looked at. */
  async withoutAccessTo({ tenantId, id }: KnowledgeBase): Promise<string[]> {
    const bound = await this.agents.boundTo(tenantId, id, MAX_LOOKED_AT);
    const agents = bound.map(({ userId }) => ({ userId, knowledgeIds: [id] }));
    const accessibleBases = await this.of(tenantId, agents);
    return bound.filter((_, place) => accessibleBases[place]?.length === 0).map(({ name }) => name);
  }
}
