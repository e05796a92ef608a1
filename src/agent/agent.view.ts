import {
  recordRevision,
  flag,
  integer,
  integers,
  nullable,
  oneOf,
  schema,
  sheetOf,
  text,
  texts,
  time,
  View,
  zeroOrOne,
} from '../platform/http/index.js';
import { LEVEL_NAMES } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import { FILTER_EXAMPLE } from '../metadata/index.js';
import { KNOWLEDGE_AS } from './agent.entity.js';
import type { Agent, KnowledgeAs, StoredResponseFormat } from './agent.entity.js';
import { RESPONSE_FORMAT_EXAMPLE } from './format/response-formats.js';
import { generationView } from './generation.js';

/** An agent as its editors see it. Absent texts are ''. */
export class AgentView extends View({
  id: integer({ example: 1 }),
  level: oneOf<GrantLevel>(LEVEL_NAMES, {
    description: 'What grants let the caller do with it; each level includes those before it',
  }),
  agentName: text({ example: 'Support' }),
  agentDescribe: text({ example: 'Answers questions about our products' }),
  agentShow: text({ example: '' }),
  modelId: integer({ example: 1 }),
  modelName: nullable(text({ description: 'null: the model was deleted' })),
  enableThinking: oneOf(['0', '1']),
  systemPrompt: text({ example: 'You answer in two sentences.' }),
  mcpToolIds: integers({ example: [], description: 'Deleted ones are left out' }),
  mcpToolNames: texts({
    example: ['crm: find_customers'],
    description: 'Server and tool, in the order of the ids',
  }),
  skillNames: texts({ example: ['pdf'] }),
  knowledgeIds: integers({ example: [1], description: 'Deleted ones are left out' }),
  knowledgeNames: texts({ example: ['Handbook'], description: 'In the order of the ids' }),
  unreadableKnowledgeIds: integers({
    example: [],
    description:
      'Of knowledgeIds, those that the agent does not search for the caller now, for want of a right',
  }),
  knowledgeAs: oneOf<KnowledgeAs>(KNOWLEDGE_AS),
  share: zeroOrOne({ description: '1: every user of the tenant may use it' }),
  filter: nullable(
    schema<object>({
      type: 'object',
      additionalProperties: true,
      description: 'Only documents whose metadata fits; null: all',
      example: FILTER_EXAMPLE,
    }),
  ),
  ...generationView,
  responseFormat: nullable(
    schema<StoredResponseFormat>({
      type: 'object',
      additionalProperties: true,
      description: 'null: free text',
      example: RESPONSE_FORMAT_EXAMPLE,
    }),
  ),
  runtime: text({ example: 'direct' }),
  tools: texts({ example: ['search_knowledge'] }),
  useSkills: flag({ description: 'Whether the runtime tools offers the skills to the model' }),
  maxSteps: nullable(integer({ description: 'null: the limit of the installation' })),
  status: oneOf(['0', '1'], { description: '0 enabled, 1 disabled' }),
  remark: text({ example: '' }),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {}

export const agentSheet = sheetOf<AgentView>('Agents', {
  id: 'Id',
  agentName: 'Name',
  agentDescribe: 'Description',
  modelName: 'Model',
  systemPrompt: 'System prompt',
  enableThinking: ['Thinking', { 0: 'Off', 1: 'On' }],
  knowledgeNames: 'Knowledge bases',
  skillNames: 'Skills',
  runtime: 'Runtime',
  tools: 'Tools',
  status: ['Status', { 0: 'Enabled', 1: 'Disabled' }],
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

/** Names of bound records by id; deleted ones are missing. */
export interface BoundNames {
  readonly models: ReadonlyMap<number, string>;
  readonly knowledge: ReadonlyMap<number, string>;
  /** Tools of tool servers, with the names of their servers. */
  readonly tools: ReadonlyMap<number, string>;
}

/** `searched`: the bases that the agent searches for the caller now. */
export function toAgentView(
  agent: Agent,
  names: BoundNames,
  searched: readonly { readonly id: number }[],
  level: GrantLevel,
): AgentView {
  const knowledgeIds = agent.knowledgeIds.filter((id) => names.knowledge.has(id));
  const mcpToolIds = agent.mcpToolIds.filter((id) => names.tools.has(id));
  return AgentView.of(agent, {
    level,
    agentDescribe: agent.agentDescribe ?? '',
    agentShow: agent.agentShow ?? '',
    modelName: names.models.get(agent.modelId) ?? null,
    systemPrompt: agent.systemPrompt ?? '',
    mcpToolIds,
    mcpToolNames: mcpToolIds.map((id) => names.tools.get(id) ?? ''),
    knowledgeIds,
    knowledgeNames: knowledgeIds.map((id) => names.knowledge.get(id) ?? ''),
    unreadableKnowledgeIds: knowledgeIds.filter((id) => !searched.some((base) => base.id === id)),
    remark: agent.remark ?? '',
  });
}

/** An agent as end users see it: without its prompt and bindings. */
export class AgentOptionView extends View({
  id: integer({ example: 1 }),
  agentName: text({ example: 'Support' }),
  agentDescribe: text({ example: 'Answers questions about our products' }),
  agentShow: text({ example: '' }),
  modelName: nullable(text({ description: 'null: the model was deleted' })),
}) {}

/** Row for an AgentOptionView with facts of the agent's model; null if unknown. */
export type AgentOption = Pick<
  Agent,
  'id' | 'agentName' | 'agentDescribe' | 'agentShow' | 'createTime'
> & {
  readonly modelName: string | null;
  readonly contextWindow: number | null;
  readonly maxOutput: number | null;
  readonly supportsVision: boolean | null;
};

export function toAgentOptionView(agent: AgentOption): AgentOptionView {
  const { agentDescribe, agentShow } = agent;
  return AgentOptionView.of(agent, {
    agentDescribe: agentDescribe ?? '',
    agentShow: agentShow ?? '',
  });
}

export class SkillOptionView extends View({
  name: text({ example: 'pdf' }),
  description: text({ example: 'Reads, creates, changes and checks PDF files.' }),
}) {}

export class ToolOptionView extends View({
  name: text({ example: 'search_knowledge' }),
  description: text({ description: 'As models get it' }),
  offered: flag({
    description: 'Whether models get it now; tools of the web need an enabled search provider',
  }),
}) {}

export class RuntimeOptionView extends View({
  code: text({ example: 'tools' }),
  description: text({ example: 'The model calls the tools of the agent until it can answer' }),
  usesTools: flag({
    description: 'It offers tools and skills to the model, which must support tools',
  }),
}) {}
