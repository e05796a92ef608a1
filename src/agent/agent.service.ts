import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import type { Page } from '../platform/http/index.js';
import { KnowledgeContents } from '../knowledge/index.js';
import { SkillCatalogue } from '../skill/index.js';
import { AgentBindings } from './agent.bindings.js';
import type { AgentListQuery, CreateAgentBody, UpdateAgentBody } from './agent.dto.js';
import type { Agent } from './agent.entity.js';
import { AgentDisabledError, AgentWithoutModelError } from './agent.errors.js';
import { AgentRepository } from './agent.repository.js';
import type { AgentValues } from './agent.repository.js';
import { toAgentOptionView, toAgentView } from './agent.view.js';
import type { AgentOptionView, AgentView, SkillOptionView } from './agent.view.js';

/** An agent as a conversation uses it. Unset generation parameters are undefined. */
export interface AgentForChat {
  readonly id: number;
  readonly name: string;
  readonly modelId: number;
  readonly systemPrompt: string | undefined;
  /** The existing bases, in the order of binding. */
  readonly knowledgeIds: readonly number[];
  readonly skillNames: readonly string[];
  readonly enableThinking: boolean;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly maxTokens: number | undefined;
}

const ENABLED = '0';
const ON = '1';

/** Agents: managed with permissions, usable by every user of the tenant. */
@Injectable()
export class AgentService {
  constructor(
    private readonly agents: AgentRepository,
    private readonly bindings: AgentBindings,
    private readonly skills: SkillCatalogue,
    private readonly database: Database,
    private readonly audit: AuditLog,
    contents: KnowledgeContents,
  ) {
    contents.join({
      deleting: (caller, knowledge) => this.agents.unbind(caller.tenantId, knowledge.id),
    });
  }

  async list(caller: Caller, query: AgentListQuery): Promise<Page<AgentView>> {
    const page = await this.agents.page(caller.tenantId, query);
    const names = await this.agents.boundNames(caller.tenantId, page.rows);
    return page.map((agent) => toAgentView(agent, names));
  }

  async rows(caller: Caller, query: AgentListQuery): Promise<readonly AgentView[]> {
    return (await this.list(caller, query)).rows;
  }

  async get(caller: Caller, id: number): Promise<AgentView> {
    const agent = await this.agents.get(caller.tenantId, id);
    return toAgentView(agent, await this.agents.boundNames(caller.tenantId, [agent]));
  }

  /** The enabled agents, for every signed-in user. */
  async options(caller: Caller): Promise<AgentOptionView[]> {
    return (await this.agents.options(caller.tenantId)).map(toAgentOptionView);
  }

  /** The skills that an agent can be given. */
  skillOptions(): SkillOptionView[] {
    return this.skills.documents.map(({ name, description }) => ({ name, description }));
  }

  /**
   * The agent that a message names. NotFoundError for one of another tenant, AgentDisabledError, and
   * AgentWithoutModelError when its model was deleted. Must not be called inside a transaction.
   */
  async forChat(caller: Caller, agentId: number): Promise<AgentForChat> {
    const agent = await this.agents.forChat(caller.tenantId, agentId);
    if (!agent) throw new NotFoundError('The agent');
    if (agent.status !== ENABLED) throw new AgentDisabledError(agent.name);
    if (!agent.hasModel) throw new AgentWithoutModelError(agent.name);
    const { id, name, modelId, knowledgeIds, skillNames } = agent;
    return {
      id,
      name,
      modelId,
      systemPrompt: agent.systemPrompt?.trim() ? agent.systemPrompt : undefined,
      knowledgeIds,
      skillNames,
      enableThinking: agent.enableThinking === ON,
      temperature: agent.temperature ?? undefined,
      topP: agent.topP ?? undefined,
      maxTokens: agent.maxTokens ?? undefined,
    };
  }

  async create(caller: Caller, body: CreateAgentBody): Promise<AgentView> {
    const values = readAgent(body);
    return this.database.transaction(async () => {
      await this.bindings.check(caller, values);
      const userId = caller.userId || null;
      const id = await this.agents.insert(caller.tenantId, { ...values, userId });
      const { agentName, modelId, knowledgeIds = [] } = values;
      await this.record(caller, 'create', id, { agentName, modelId, knowledgeIds });
      return this.get(caller, id);
    });
  }

  async update(caller: Caller, body: UpdateAgentBody): Promise<AgentView> {
    const { id } = body;
    const values = readAgent(body);
    return this.database.transaction(async () => {
      const before = await this.agents.get(caller.tenantId, id);
      await this.bindings.check(caller, values, before);
      await this.agents.update(caller.tenantId, id, values);
      await this.record(caller, 'update', id, changeForAudit(before, values));
      return this.get(caller, id);
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      await this.agents.remove(caller.tenantId, ids);
      for (const id of ids) await this.record(caller, 'delete', id);
    });
  }

  private async record(
    caller: Caller,
    action: 'create' | 'update' | 'delete',
    id: number,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.audit.record(caller, { action, target: 'agent', id, detail });
  }
}

/** The columns that a body changes, lists without duplicates. */
function readAgent(body: CreateAgentBody | UpdateAgentBody): AgentValues {
  const { ...fields } = body;
  const values = Object.fromEntries(
    Object.entries<unknown>(fields).filter(
      ([field, value]) => field !== 'id' && value !== undefined,
    ),
  ) as AgentValues;
  if (values.agentName) values.agentName = values.agentName.trim();
  if (values.knowledgeIds) values.knowledgeIds = [...new Set(values.knowledgeIds)];
  if (values.skillNames) values.skillNames = [...new Set(values.skillNames)];
  return values;
}

/** The names of changed fields; the text of the prompt is not part of the audit log. */
function changeForAudit(before: Agent, values: AgentValues): Record<string, unknown> {
  const fields = (Object.keys(values) as (keyof AgentValues)[]).filter(
    (field) => JSON.stringify(values[field]) !== JSON.stringify(before[field]),
  );
  const shown = ['status', 'modelId', 'knowledgeIds'] as const;
  return {
    fields,
    ...Object.fromEntries(
      shown.filter((field) => fields.includes(field)).map((field) => [field, values[field]]),
    ),
  };
}
