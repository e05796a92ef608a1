import { Injectable } from '@nestjs/common';
import { idsOfKey } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { columnName, containing, Database, TenantScoped } from '../platform/database/index.js';
import { MAX_CHOICES } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { comparedSubjects, granted, grantedInList, grantedTo } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import type { MetadataFilter } from '../metadata/index.js';
import type { Generation, ResponseFormat } from '../provider/index.js';
import type { SkillInfo } from '../skill/index.js';
import type { AgentListQuery } from './agent.dto.js';
import { Agent } from './agent.entity.js';
import type { KnowledgeAs } from './agent.entity.js';
import type { AgentOption, BoundNames } from './agent.view.js';
import { generationSettingNames } from './generation.js';
import type { StoredGeneration } from './generation.js';

/** Written columns; undefined ones keep their value or get their default. */
export type AgentValues = Partial<
  Omit<Agent, 'id' | 'tenantId' | 'userId' | 'share' | 'createTime' | 'updateTime'>
>;

/** An agent as used in a conversation; undefined settings are left to the model. */
export interface AgentForChat {
  readonly id: number;
  readonly name: string;
  readonly modelId: number;
  /** The creator; null for the service itself, and once the user is deleted. */
  readonly userId: number | null;
  readonly systemPrompt: string | undefined;
  /** The existing bases, in the order of binding. */
  readonly knowledgeIds: readonly number[];
  readonly knowledgeAs: KnowledgeAs;
  /** Restricts searches to documents with matching metadata. */
  readonly filter: MetadataFilter | undefined;
  readonly skillNames: readonly string[];
  /** Generation parameters set by the agent. */
  readonly generation: Generation;
  readonly runtime: string;
  /** The tools that the agent has switched on, and those of its skills if it uses them. */
  readonly tools: readonly string[];
  /** Tools of tool servers. */
  readonly mcpToolIds: readonly number[];
  /** The skills that the agent uses; none unless it uses skills. */
  readonly skills: readonly SkillInfo[];
  readonly maxSteps: number | undefined;
}

interface AgentRow
  extends
    Omit<AgentForChat, 'systemPrompt' | 'filter' | 'generation' | 'maxSteps' | 'skills'>,
    StoredGeneration {
  readonly hasModel: boolean;
  readonly status: string;
  readonly systemPrompt: string | null;
  readonly filter: MetadataFilter | null;
  readonly enableThinking: boolean;
  readonly responseFormat: ResponseFormat | null;
  readonly maxSteps: number | null;
  readonly useSkills: boolean;
}

const GENERATION = generationSettingNames
  .map((name) => `a.${columnName(name)} AS "${name}"`)
  .join(', ');

const AGENT_FOR_CHAT = `SELECT a.id, a.agent_name AS name, a.model_id AS "modelId", a.user_id AS "userId", m.id IS NOT NULL AS "hasModel",
      CASE WHEN a.system_prompt ~ '\\S' THEN a.system_prompt END AS "systemPrompt",
      a.enable_thinking = '1' AS "enableThinking", ${GENERATION},
      a.response_format AS "responseFormat", a.skill_names AS "skillNames", a.filter, a.knowledge_as AS "knowledgeAs", a.status,
      a.runtime, a.tools, a.mcp_tool_ids AS "mcpToolIds", a.use_skills AS "useSkills", a.max_steps AS "maxSteps",
      (SELECT coalesce(jsonb_agg(k.id ORDER BY bound.place), '[]')
         FROM jsonb_array_elements_text(a.knowledge_ids) WITH ORDINALITY AS bound (id, place)
         JOIN knowledge_base k ON k.tenant_id = a.tenant_id AND k.id = bound.id::bigint) AS "knowledgeIds"
    FROM agent a LEFT JOIN model m ON m.tenant_id = a.tenant_id AND m.id = a.model_id
    WHERE a.tenant_id = $1 AND a.id = $2 AND ${granted('agent', 'use', { id: 'a.id', tenant: '$1', subjects: '$3' })}`;

/** The agents of a tenant, joined with models and knowledge bases for their names. */
@Injectable()
export class AgentRepository {
  readonly agents: TenantScoped<Agent>;

  constructor(private readonly database: Database) {
    this.agents = new TenantScoped(database, Agent, msg`The agent`);
  }

  async page(caller: Caller, query: AgentListQuery): Promise<Page<Agent>> {
    const { agentName, status } = query;
    const where = {
      ...grantedTo(caller, 'agent', 'read'),
      ...(agentName && { agentName: containing(agentName) }),
      ...(status && { status }),
    };
    return this.agents.pageAtOnce(caller.tenantId, query, where, {
      updateTime: 'DESC',
      id: 'DESC',
    });
  }

  /** The enabled agents, last changed first; for an API key those that it can call. */
  async options(caller: Caller): Promise<AgentOption[]> {
    return this.database.query<AgentOption>(
      `SELECT a.id, a.agent_name AS "agentName", a.agent_describe AS "agentDescribe",
          a.agent_show AS "agentShow", a.create_time AS "createTime", m.model_name AS "modelName",
          m.context_window AS "contextWindow", m.max_output AS "maxOutput", m.supports_vision AS "supportsVision"
        FROM agent a LEFT JOIN model m ON m.tenant_id = a.tenant_id AND m.id = a.model_id
        WHERE a.tenant_id = $1 AND a.status = '0' AND ($3::bigint[] IS NULL OR a.id = ANY ($3::bigint[]))
          AND ($4::bigint[] IS NULL OR a.model_id = ANY ($4::bigint[]))
          AND ${grantedInList('agent', 'use', { id: 'a.id', tenant: '$1', subjects: '$5' })}
        ORDER BY a.update_time DESC, a.id DESC LIMIT $2`,
      [
        caller.tenantId,
        MAX_CHOICES,
        idsOfKey(caller, 'agents') ?? null,
        idsOfKey(caller, 'models') ?? null,
        comparedSubjects(caller),
      ],
    );
  }

  /** The agent, if the caller may use it. */
  async forChat(caller: Caller, id: number): Promise<AgentRow | undefined> {
    const [row] = await this.database.prepared<AgentRow>(AGENT_FOR_CHAT, [
      caller.tenantId,
      id,
      comparedSubjects(caller),
    ]);
    return row;
  }

  /** The agent, if the caller has the level on it. */
  async reached(caller: Caller, id: number, level: GrantLevel): Promise<Agent | null> {
    return this.agents.findOne(caller.tenantId, grantedTo(caller, 'agent', level, [id]));
  }

  async boundNames(tenantId: string, agents: readonly Agent[]): Promise<BoundNames> {
    const rows = await this.database.query<{ kind: string; id: number; name: string }>(
      `SELECT 'model' AS kind, id, model_name AS name FROM model WHERE tenant_id = $1 AND id = ANY ($2)
        UNION ALL
        SELECT 'knowledge', id, name FROM knowledge_base WHERE tenant_id = $1 AND id = ANY ($3)
        UNION ALL
        SELECT 'tool', tool.id, server.name || ': ' || tool.name
          FROM server_tool AS tool JOIN tool_server AS server ON server.tenant_id = $1 AND server.id = tool.server_id
         WHERE tool.tenant_id = $1 AND tool.id = ANY ($4)`,
      [
        tenantId,
        agents.map(({ modelId }) => modelId),
        agents.flatMap(({ knowledgeIds }) => knowledgeIds),
        agents.flatMap(({ mcpToolIds }) => mcpToolIds),
      ],
    );
    const named = (kind: string): Map<number, string> =>
      new Map(rows.filter((row) => row.kind === kind).map(({ id, name }) => [id, name]));
    return { models: named('model'), knowledge: named('knowledge'), tools: named('tool') };
  }

  /** The agents that search the base by the right of their creators, by name. */
  async boundTo(
    tenantId: string,
    knowledgeId: number,
    limit: number,
  ): Promise<{ readonly name: string; readonly userId: number | null }[]> {
    return this.database.query(
      `SELECT agent_name AS name, user_id AS "userId" FROM agent
        WHERE knowledge_as = 'creator' AND tenant_id = $1 AND knowledge_ids @> to_jsonb($2::bigint) ORDER BY agent_name, id LIMIT $3`,
      [tenantId, knowledgeId, limit],
    );
  }

  /** Removes a knowledge base from every agent, without changing their update time. */
  async unbind(tenantId: string, knowledgeId: number): Promise<void> {
    await this.database.query(
      `UPDATE agent SET knowledge_ids =
          jsonb_path_query_array(knowledge_ids, '$[*] ? (@ != $id)', jsonb_build_object('id', $2::bigint))
        WHERE tenant_id = $1 AND knowledge_ids @> to_jsonb($2::bigint)`,
      [tenantId, knowledgeId],
    );
  }
}
