import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import { ModelService } from '../model/index.js';
import { SkillCatalogue } from '../skill/index.js';
import type { Agent } from './agent.entity.js';
import {
  AgentModelError,
  NoMcpToolsError,
  TooManyBoundError,
  UnknownSkillError,
} from './agent.errors.js';
import type { AgentValues } from './agent.repository.js';

const MOST_KNOWLEDGE_BASES = 20;
const MOST_SKILLS = 50;

/** The rules of what an agent may bind. */
@Injectable()
export class AgentBindings {
  constructor(
    private readonly models: ModelService,
    private readonly knowledge: KnowledgeService,
    private readonly skills: SkillCatalogue,
  ) {}

  /**
   * Throws the DomainError that says what to correct. The caller needs read access to knowledge bases that are new to the
   * agent; bound ones are kept without a check, so that every editor of agents can save every agent.
   */
  async check(caller: Caller, values: AgentValues, before?: Agent): Promise<void> {
    const { modelId, knowledgeIds, skillNames, mcpToolIds = [] } = values;
    if (mcpToolIds.length > 0) throw new NoMcpToolsError();
    if (skillNames) this.checkSkills(skillNames);
    if (modelId !== undefined) await this.checkModel(caller, modelId);
    if (knowledgeIds) await this.checkKnowledge(caller, knowledgeIds, before?.knowledgeIds ?? []);
  }

  private checkSkills(names: readonly string[]): void {
    if (names.length > MOST_SKILLS) {
      throw new TooManyBoundError('skills', names.length, MOST_SKILLS);
    }
    const known = this.skills.documents.map(({ name }) => name);
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length > 0) throw new UnknownSkillError(unknown, known);
  }

  private async checkModel(caller: Caller, modelId: number): Promise<void> {
    const { modelName, category } = await this.models.get(caller, modelId);
    if (category !== 'chat') throw new AgentModelError(modelName, category);
  }

  private async checkKnowledge(
    caller: Caller,
    ids: readonly number[],
    bound: readonly number[],
  ): Promise<void> {
    if (ids.length > MOST_KNOWLEDGE_BASES) {
      throw new TooManyBoundError('knowledge bases', ids.length, MOST_KNOWLEDGE_BASES);
    }
    for (const id of ids) {
      if (!bound.includes(id)) await this.knowledge.readable(caller, id);
    }
  }
}
