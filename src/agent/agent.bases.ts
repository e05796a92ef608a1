import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { UserCallers } from '../identity/index.js';
import { Grants } from '../grant/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import type { Agent } from './agent.entity.js';
import { AgentRepository } from './agent.repository.js';

const MAX_LOOKED_AT = 1_000;

/** Fields that determine the bases of an agent. */
type BoundAgent = Pick<Agent, 'userId' | 'knowledgeAs'> & {
  readonly knowledgeIds: readonly number[];
};

/**
 * The knowledge bases that agents search: the bound ones that the user who asks may search and, of agents with knowledgeAs
 * creator, those that their creators manage at that moment. A creator who may not sign in passes on none.
 */
@Injectable()
export class AgentBases {
  constructor(
    private readonly agents: AgentRepository,
    private readonly knowledge: KnowledgeService,
    private readonly grants: Grants,
    private readonly callers: UserCallers,
  ) {}

  /** The bases that each of the agents searches for the caller, in the order of binding: one statement for each creator. */
  async of(caller: Caller, agents: readonly BoundAgent[]): Promise<KnowledgeBase[][]> {
    const bases = new Map<number | null, readonly KnowledgeBase[]>();
    for (const manager of new Set(agents.map(managerOf))) {
      const ids = agents
        .filter((agent) => managerOf(agent) === manager)
        .flatMap(({ knowledgeIds }) => knowledgeIds);
      if (ids.length === 0) continue;
      const user = await this.callerOf(caller, manager);
      bases.set(manager, await this.knowledge.searchable(caller, [...new Set(ids)], user));
    }
    return agents.map((agent) => {
      const searchable = bases.get(managerOf(agent)) ?? [];
      return agent.knowledgeIds.flatMap((id) => searchable.find((base) => base.id === id) ?? []);
    });
  }

  /** The bases of a turn that may still be searched: as the agent binds them, otherwise as the caller's message named them. */
  async stillOf(
    caller: Caller,
    agentId: number | undefined,
    bases: readonly KnowledgeBase[],
  ): Promise<KnowledgeBase[]> {
    const knowledgeIds = bases.map(({ id }) => id);
    const agent =
      agentId === undefined ? undefined : await this.agents.reached(caller, agentId, 'use');
    if (agent === null) return [];
    if (!agent?.knowledgeIds.some((id) => knowledgeIds.includes(id))) {
      return this.knowledge.searchable(caller, knowledgeIds);
    }
    const [searchableBases = []] = await this.of(caller, [{ ...agent, knowledgeIds }]);
    return searchableBases;
  }

  /**
   * The first base among the ids that the creator would pass on, although the caller does not manage it: only a manager
   * decides that others get its content.
   */
  async passedOnWithoutRight(
    caller: Caller,
    creatorId: number | null,
    ids: readonly number[],
  ): Promise<number | undefined> {
    if (creatorId === caller.userId || ids.length === 0) return undefined;
    const creator = await this.callerOf(caller, creatorId);
    if (!creator) return undefined;
    const passedOn = await this.grants.reachable(creator, 'knowledge', 'manage', ids);
    const managed = await this.grants.reachable(caller, 'knowledge', 'manage', ids);
    return ids.find((id) => passedOn.has(id) && !managed.has(id));
  }

  /** The names of agents with knowledgeAs creator whose creator does not manage the base; at most 1,000 are looked at. */
  async withoutAccessTo(caller: Caller, knowledgeId: number): Promise<string[]> {
    const bound = await this.agents.boundTo(caller.tenantId, knowledgeId, MAX_LOOKED_AT);
    const managers = new Set<number | null>();
    for (const creatorId of new Set(bound.map(({ userId }) => userId))) {
      const creator = await this.callerOf(caller, creatorId);
      if (!creator) continue;
      const managed = await this.grants.reachable(creator, 'knowledge', 'manage', [knowledgeId]);
      if (managed.size > 0) managers.add(creatorId);
    }
    return bound.filter(({ userId }) => !managers.has(userId)).map(({ name }) => name);
  }

  private async callerOf({ tenantId }: Caller, userId: number | null): Promise<Caller | undefined> {
    return userId === null ? undefined : this.callers.working({ userId, tenantId });
  }
}

/** The user whose rights count beside those of the user who asks; null for none. */
function managerOf({ userId, knowledgeAs }: BoundAgent): number | null {
  return knowledgeAs === 'creator' ? userId : null;
}
