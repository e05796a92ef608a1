import { Injectable } from '@nestjs/common';
import { isWithinKey, requireUnlimitedKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { defined } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { Grants, LevelNeededError, mayPublish, requireMayPublish } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import { KnowledgeContents, KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { readFilter } from '../metadata/index.js';
import { ModelService } from '../model/index.js';
import { generationIn } from '../provider/index.js';
import { SkillCatalogue } from '../skill/index.js';
import { WebSearch } from '../web/index.js';
import type { AgentListQuery, CreateAgentBody, UpdateAgentBody } from './agent.dto.js';
import type { Agent } from './agent.entity.js';
import { ResponseFormats } from './format/response-formats.js';
import {
  AgentDisabledError,
  AgentModelError,
  AgentWithoutModelError,
  TooManyBoundError,
  UnknownServerToolError,
  UnknownSkillError,
  UnknownToolError,
} from './agent.errors.js';
import { AgentBases } from './agent.bases.js';
import { AgentRepository } from './agent.repository.js';
import type { AgentForChat, AgentValues } from './agent.repository.js';
import { toAgentOptionView, toAgentView } from './agent.view.js';
import type {
  AgentOption,
  AgentOptionView,
  AgentView,
  RuntimeOptionView,
  SkillOptionView,
  ToolOptionView,
} from './agent.view.js';
import { AgentRuntimes } from './runtime/runtime.registry.js';
import type { AgentTool } from './tool/agent-tool.js';
import { AgentServerTools } from './tool/server.tools.js';
import { AgentTools } from './tool/tool.registry.js';
import { FIND_TOOLS } from './tool/tool-search.js';

const LABEL = msg`The agent`;
const MAX_KNOWLEDGE_BASES = 20;
const MAX_SKILLS = 50;
const MAX_TOOLS = 50;
const MAX_SERVER_TOOLS = 200;
const ENABLED = '0';

/** Tools offered to an agent that uses skills. */
const SKILL_TOOLS = ['activate_skill', 'read_skill_resource'];
/** Tools offered only in tenants with an enabled search provider. */
const WEB_TOOLS = ['web_search', 'fetch_page'];

type AgentChange = Omit<UpdateAgentBody, 'id' | 'revision' | 'share'>;

interface ChosenModel {
  readonly modelId: number | undefined;
  readonly runtime: string | undefined;
  /** Whether the change assigns this model. */
  readonly isNew: boolean;
}

/** Agents. Permissions say what a user may do with agents, grants with which of them. */
@Injectable()
export class AgentService {
  constructor(
    private readonly agents: AgentRepository,
    private readonly models: ModelService,
    private readonly knowledge: KnowledgeService,
    private readonly skills: SkillCatalogue,
    private readonly formats: ResponseFormats,
    private readonly tools: AgentTools,
    private readonly serverTools: AgentServerTools,
    private readonly runtimes: AgentRuntimes,
    private readonly web: WebSearch,
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly bases: AgentBases,
    private readonly grants: Grants,
    contents: KnowledgeContents,
  ) {
    contents.join({
      deleting: (caller, knowledge) => this.agents.unbind(caller.tenantId, knowledge.id),
      losing: (caller, knowledgeId) => this.bases.withoutAccessTo(caller, knowledgeId),
    });
  }

  async list(caller: Caller, query: AgentListQuery): Promise<Page<AgentView>> {
    const page = await this.agents.page(caller, query);
    const names = await this.agents.boundNames(caller.tenantId, page.rows);
    const searched = await this.bases.of(caller, page.rows);
    const byAgent = new Map(page.rows.map((agent, place) => [agent, searched[place]]));
    const levelOf = await this.levelsOf(caller, page.rows);
    return page.map((agent) => toAgentView(agent, names, byAgent.get(agent) ?? [], levelOf(agent)));
  }

  async rows(caller: Caller, query: AgentListQuery): Promise<readonly AgentView[]> {
    return (await this.list(caller, query)).rows;
  }

  async get(caller: Caller, id: number): Promise<AgentView> {
    const agent = await this.reached(caller, id, 'read');
    const names = await this.agents.boundNames(caller.tenantId, [agent]);
    const [searched = []] = await this.bases.of(caller, [agent]);
    const levelOf = await this.levelsOf(caller, [agent]);
    return toAgentView(agent, names, searched, levelOf(agent));
  }

  /** The level of the caller on agents that they may read. */
  private async levelsOf(
    caller: Caller,
    agents: readonly Agent[],
  ): Promise<(agent: Agent) => GrantLevel> {
    const ids = agents.map(({ id }) => id);
    const levels = await this.grants.levels(caller, 'agent', ids);
    return ({ id }) => levels.get(id) ?? 'read';
  }

  /** Throws NotFoundError unless the caller may use the agent. */
  async requireUsable(caller: Caller, id: number): Promise<void> {
    await this.reached(caller, id, 'use');
  }

  /** The bases that the agent searches for the caller now, in the order of binding. */
  async basesOf(caller: Caller, agent: AgentForChat): Promise<KnowledgeBase[]> {
    const [searched = []] = await this.bases.of(caller, [agent]);
    return searched;
  }

  /** Whether the caller may still use the agent of a turn, and all of the bases that the turn began with. */
  async mayGoOn(
    caller: Caller,
    agentId: number | undefined,
    bases: readonly KnowledgeBase[],
  ): Promise<boolean> {
    if (agentId === undefined && bases.length === 0) return true;
    if (bases.length === 0) {
      const usable = await this.grants.reachable(caller, 'agent', 'use', [agentId as number]);
      return usable.size > 0;
    }
    return (await this.bases.stillOf(caller, agentId, bases)).length === bases.length;
  }

  /** The enabled agents that the caller may use. */
  async options(caller: Caller): Promise<AgentOptionView[]> {
    return (await this.agents.options(caller)).map(toAgentOptionView);
  }

  /** Agents that can answer. */
  async callable(caller: Caller): Promise<AgentOption[]> {
    return (await this.agents.options(caller)).filter(({ modelName }) => modelName !== null);
  }

  /** The tools that an agent can switch on. Those for skills come with `useSkills`. */
  async toolOptions(caller: Caller): Promise<ToolOptionView[]> {
    const names = this.switchableTools.map(({ name }) => name);
    const usable = await this.usableTools(caller, names);
    return this.switchableTools.map(({ name, description }) => ({
      name,
      description,
      offered: usable.includes(name),
    }));
  }

  private get switchableTools() {
    return this.tools.all.filter(({ name }) => !SKILL_TOOLS.includes(name));
  }

  runtimeOptions(): RuntimeOptionView[] {
    return this.runtimes.all.map(({ code, description, usesTools }) => ({
      code,
      description,
      usesTools,
    }));
  }

  /** The skills that an agent can be given. */
  skillOptions(): SkillOptionView[] {
    return this.skills.documents.map(({ name, description }) => ({ name, description }));
  }

  /**
   * The agent that a message names. NotFoundError for one that the caller may not use, AgentDisabledError, and
   * AgentWithoutModelError when its model was deleted. Must not be called inside a transaction.
   */
  async forChat(caller: Caller, agentId: number): Promise<AgentForChat> {
    if (!isWithinKey(caller, 'agents', agentId)) throw new NotFoundError(LABEL);
    const agent = await this.agents.forChat(caller, agentId);
    if (!agent) throw new NotFoundError(LABEL);
    const { id, name, modelId, userId, knowledgeAs, skillNames, runtime, tools, useSkills } = agent;
    const { mcpToolIds } = agent;
    if (agent.status !== ENABLED) throw new AgentDisabledError(name);
    if (!agent.hasModel) throw new AgentWithoutModelError(name);
    return {
      id,
      name,
      modelId,
      userId,
      knowledgeAs,
      skillNames,
      runtime,
      mcpToolIds,
      // An agent gives access to its bases, but not past the limit of a key.
      knowledgeIds: agent.knowledgeIds.filter((base) =>
        isWithinKey(caller, 'knowledgeBases', base),
      ),
      tools: [...(await this.usableTools(caller, tools)), ...(useSkills ? SKILL_TOOLS : [])],
      skills: useSkills
        ? this.skills.documents.filter((skill) => skillNames.includes(skill.name))
        : [],
      filter: agent.filter ?? undefined,
      maxSteps: agent.maxSteps ?? undefined,
      systemPrompt: agent.systemPrompt ?? undefined,
      // Undefined leaves thinking to the model and the message.
      generation: generationIn({ ...agent, thinking: agent.enableThinking || undefined }),
    };
  }

  /** The tools of tool servers that the agent calls for the caller now. */
  async serverToolsOf(
    caller: Caller,
    { mcpToolIds }: Pick<AgentForChat, 'mcpToolIds'>,
  ): Promise<AgentTool[]> {
    const ownNames = this.tools.all.map(({ name }) => name);
    return this.serverTools.of(caller, mcpToolIds, [...ownNames, FIND_TOOLS]);
  }

  async create(caller: Caller, body: CreateAgentBody): Promise<AgentView> {
    requireUnlimitedKey(caller, 'agents', msg`agents`);
    const { share = mayPublish(caller) ? 1 : 0, ...fields } = body;
    if (share === 1) requireMayPublish(caller);
    const values = await this.valuesOf(caller, fields);
    return this.database.transaction(async () => {
      await this.checkBindings(caller, values);
      const userId = caller.userId || null;
      const { id } = await this.agents.agents.insert(caller.tenantId, { ...values, userId });
      await this.grants.own(caller, 'agent', id);
      // One without a creator would have no manager.
      const level = userId === null ? 'manage' : 'use';
      if (share === 1) await this.grants.publish(caller, 'agent', id, level);
      const { agentName, modelId, knowledgeIds = [] } = values;
      await this.record(caller, 'create', id, { agentName, modelId, knowledgeIds });
      return this.get(caller, id);
    });
  }

  async update(caller: Caller, body: UpdateAgentBody): Promise<AgentView> {
    const { id, revision, share, ...changed } = body;
    const values = await this.valuesOf(caller, changed);
    return this.database.transaction(async () => {
      const before = await this.reached(caller, id, 'write');
      const current = () => this.get(caller, id);
      await this.agents.agents.requireRevision(caller.tenantId, id, {
        expected: revision,
        current,
      });
      await this.checkBindings(caller, values, before);
      if (share !== undefined && share !== before.share) await this.share(caller, id, share);
      await this.agents.agents.update(caller.tenantId, id, values);
      await this.record(caller, 'update', id, changeForAudit(before, values));
      return this.get(caller, id);
    });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      for (const id of ids) await this.reached(caller, id, 'manage');
      await this.agents.agents.remove(caller.tenantId, ids);
      for (const id of ids) await this.record(caller, 'delete', id);
    });
  }

  /** The agent, if the caller has the level on it. NotFoundError for one that they may not read. */
  private async reached(caller: Caller, id: number, level: GrantLevel): Promise<Agent> {
    const agent = await this.agents.reached(caller, id, level);
    if (agent) return agent;
    const isReadable = level !== 'read' && (await this.agents.reached(caller, id, 'read'));
    throw isReadable ? new LevelNeededError(LABEL, level) : new NotFoundError(LABEL);
  }

  /** Lets every user of the tenant use the agent, or ends that. */
  private async share(caller: Caller, id: number, share: number): Promise<void> {
    await this.reached(caller, id, 'manage');
    if (share === 0) return this.grants.withdraw(caller, 'agent', id);
    requireMayPublish(caller);
    await this.grants.publish(caller, 'agent', id, 'use');
  }

  /** The columns that a body changes. Must not be called inside a transaction: a schema is checked on a thread. */
  private async valuesOf(
    caller: Caller,
    body: Omit<CreateAgentBody | AgentChange, 'share'>,
  ): Promise<AgentValues> {
    const { responseFormat: requestedFormat, filter, ...fields } = body;
    const values = readAgent(fields);
    if (filter !== undefined) values.filter = filter && readFilter(filter);
    if (requestedFormat === undefined) return values;
    return {
      ...values,
      responseFormat: requestedFormat && (await this.formats.read(caller, requestedFormat)),
    };
  }

  /**
   * Throws the DomainError that says what to correct. The caller needs the level use on knowledge bases that are new to the
   * agent; bound ones are kept without a check, so that every editor can save the agent.
   */
  private async checkBindings(caller: Caller, values: AgentValues, before?: Agent): Promise<void> {
    const { modelId, skillNames, mcpToolIds = [] } = values;
    await this.checkServerTools(caller, mcpToolIds, before?.mcpToolIds);
    if (skillNames) this.checkSkills(skillNames);
    if (values.tools) this.checkTools(values.tools);
    if (modelId !== undefined && modelId !== before?.modelId) {
      await this.models.requireMayUse(caller, modelId);
    }
    if (modelId !== undefined || values.runtime !== undefined) {
      await this.checkModel(caller, {
        modelId: modelId ?? before?.modelId,
        runtime: values.runtime ?? before?.runtime,
        isNew: modelId !== undefined,
      });
    }
    await this.checkKnowledge(caller, values, before);
  }

  private checkSkills(names: readonly string[]): void {
    if (names.length > MAX_SKILLS) {
      throw new TooManyBoundError(msg`skills`, names.length, MAX_SKILLS);
    }
    const existingSkills = this.skills.documents.map(({ name }) => name);
    const unknown = names.filter((name) => !existingSkills.includes(name));
    if (unknown.length > 0) throw new UnknownSkillError(unknown, existingSkills);
  }

  /** Bound tools are kept without a check, as knowledge bases are. */
  private async checkServerTools(
    caller: Caller,
    ids: readonly number[],
    bound: readonly number[] = [],
  ): Promise<void> {
    if (ids.length > MAX_SERVER_TOOLS) {
      throw new TooManyBoundError(msg`tools`, ids.length, MAX_SERVER_TOOLS);
    }
    const added = ids.filter((id) => !bound.includes(id));
    const usable = await this.serverTools.usableIds(caller, added);
    const unusable = added.find((id) => !usable.has(id));
    if (unusable !== undefined) throw new UnknownServerToolError(unusable);
  }

  /** The tools without those of the web where it is switched off. */
  private async usableTools(
    { tenantId }: Caller,
    tools: readonly string[],
  ): Promise<readonly string[]> {
    const isUsable = !tools.some(isWebTool) || (await this.web.isEnabled(tenantId));
    return isUsable ? tools : tools.filter((name) => !isWebTool(name));
  }

  private checkTools(names: readonly string[]): void {
    if (names.length > MAX_TOOLS) throw new TooManyBoundError(msg`tools`, names.length, MAX_TOOLS);
    const existingTools = this.switchableTools.map(({ name }) => name);
    const unknown = names.filter((name) => !existingTools.includes(name));
    if (unknown.length > 0) throw new UnknownToolError(unknown, existingTools);
  }

  /** The model as it is with the change. One that the agent keeps may have been deleted. */
  private async checkModel(
    caller: Caller,
    { modelId, runtime = this.runtimes.direct.code, isNew }: ChosenModel,
  ): Promise<void> {
    const { usesTools } = this.runtimes.get(runtime);
    if (modelId === undefined || (!isNew && !usesTools)) return;
    const model = await this.models.get(caller, modelId);
    const { modelName, category } = model;
    if (category !== 'chat') throw new AgentModelError(modelName, category);
    this.runtimes.forModel(runtime, model);
  }

  private async checkKnowledge(
    caller: Caller,
    { knowledgeIds, knowledgeAs }: AgentValues,
    before: Agent | undefined,
  ): Promise<void> {
    const ids = knowledgeIds ?? before?.knowledgeIds ?? [];
    if (ids.length > MAX_KNOWLEDGE_BASES) {
      throw new TooManyBoundError(msg`knowledge bases`, ids.length, MAX_KNOWLEDGE_BASES);
    }
    const added = ids.filter((id) => !before?.knowledgeIds.includes(id));
    for (const id of added) await this.knowledge.selectable(caller, id);
    const mode = knowledgeAs ?? before?.knowledgeAs;
    if (!before || mode !== 'creator') return;
    const passedOn = before.knowledgeAs === 'creator' ? added : ids;
    if ((await this.bases.passedOnWithoutRight(caller, before.userId, passedOn)) !== undefined) {
      throw new LevelNeededError(msg`The knowledge base`, 'manage');
    }
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
function readAgent(
  body:
    | Omit<CreateAgentBody, 'responseFormat' | 'filter' | 'share'>
    | Omit<AgentChange, 'responseFormat' | 'filter'>,
): AgentValues {
  const values: AgentValues = defined({ ...body });
  if (values.agentName) values.agentName = values.agentName.trim();
  if (values.knowledgeIds) values.knowledgeIds = [...new Set(values.knowledgeIds)];
  if (values.tools) values.tools = [...new Set(values.tools)];
  if (values.mcpToolIds) values.mcpToolIds = [...new Set(values.mcpToolIds)];
  if (values.skillNames) values.skillNames = [...new Set(values.skillNames)];
  return values;
}

/** The names of changed fields; the text of the prompt is not part of the audit log. */
function changeForAudit(before: Agent, values: AgentValues): Record<string, unknown> {
  const fields = (Object.keys(values) as (keyof AgentValues)[]).filter(
    (field) => JSON.stringify(values[field]) !== JSON.stringify(before[field]),
  );
  const auditedFields = [
    'status',
    'modelId',
    'knowledgeIds',
    'knowledgeAs',
    'filter',
    'runtime',
    'tools',
    'mcpToolIds',
    'useSkills',
  ] as const;
  return {
    fields,
    ...Object.fromEntries(
      auditedFields
        .filter((field) => fields.includes(field))
        .map((field) => [field, values[field]]),
    ),
  };
}

function isWebTool(name: string): boolean {
  return WEB_TOOLS.includes(name);
}
