import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../platform/http/index.js';
import type { Agent } from './agent.entity.js';

const ids = { type: 'array', items: { type: 'integer' } } as const;
const notGiven = { nullable: true, description: 'null: the default of the model' };

/** An agent as its editors see it. Absent texts are ''. */
export class AgentView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({ example: 'Support' })
  agentName: string;

  @ApiProperty({ example: 'Answers questions about our products' })
  agentDescribe: string;

  @ApiProperty({ example: '' })
  agentShow: string;

  @ApiProperty({ type: 'integer', example: 1 })
  modelId: number;

  @ApiProperty({ type: String, nullable: true, description: 'null: the model was deleted' })
  modelName: string | null;

  @ApiProperty({ enum: ['0', '1'] })
  enableThinking: string;

  @ApiProperty({ example: 'You answer in two sentences.' })
  systemPrompt: string;

  @ApiProperty({ ...ids, example: [] })
  mcpToolIds: number[];

  @ApiProperty({ type: [String], example: [] })
  mcpToolNames: string[];

  @ApiProperty({ type: [String], example: ['pdf'] })
  skillNames: string[];

  @ApiProperty({ ...ids, example: [1], description: 'Deleted ones are left out' })
  knowledgeIds: number[];

  @ApiProperty({ type: [String], example: ['Handbook'], description: 'In the order of the ids' })
  knowledgeNames: string[];

  @ApiProperty({ type: Number, ...notGiven })
  temperature: number | null;

  @ApiProperty({ type: Number, ...notGiven })
  topP: number | null;

  @ApiProperty({ type: 'integer', ...notGiven })
  maxTokens: number | null;

  @ApiProperty({ enum: ['0', '1'], description: '0 enabled, 1 disabled' })
  status: string;

  @ApiProperty({ example: '' })
  remark: string;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

/** Names of bound records by id; deleted ones are missing. */
export interface BoundNames {
  readonly models: ReadonlyMap<number, string>;
  readonly knowledge: ReadonlyMap<number, string>;
}

export function toAgentView(agent: Agent, names: BoundNames): AgentView {
  const { id, agentName, modelId, enableThinking, mcpToolIds, skillNames, status } = agent;
  const { temperature, topP, maxTokens } = agent;
  const bases = agent.knowledgeIds.flatMap((baseId) => {
    const name = names.knowledge.get(baseId);
    return name === undefined ? [] : [{ baseId, name }];
  });
  return {
    id,
    agentName,
    agentDescribe: agent.agentDescribe ?? '',
    agentShow: agent.agentShow ?? '',
    modelId,
    modelName: names.models.get(modelId) ?? null,
    enableThinking,
    systemPrompt: agent.systemPrompt ?? '',
    mcpToolIds,
    mcpToolNames: [],
    skillNames,
    knowledgeIds: bases.map(({ baseId }) => baseId),
    knowledgeNames: bases.map(({ name }) => name),
    temperature,
    topP,
    maxTokens,
    status,
    remark: agent.remark ?? '',
    createTime: wireTime(agent.createTime),
    updateTime: wireTime(agent.updateTime),
  };
}

/** An agent as end users see it: without its prompt and bindings. */
export class AgentOptionView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({ example: 'Support' })
  agentName: string;

  @ApiProperty({ example: 'Answers questions about our products' })
  agentDescribe: string;

  @ApiProperty({ example: '' })
  agentShow: string;

  @ApiProperty({ type: String, nullable: true, description: 'null: the model was deleted' })
  modelName: string | null;
}

/** What the repository reads for an AgentOptionView. */
export type AgentOption = Pick<Agent, 'id' | 'agentName' | 'agentDescribe' | 'agentShow'> & {
  readonly modelName: string | null;
};

export function toAgentOptionView(agent: AgentOption): AgentOptionView {
  const { agentDescribe, agentShow } = agent;
  return { ...agent, agentDescribe: agentDescribe ?? '', agentShow: agentShow ?? '' };
}

export class SkillOptionView {
  @ApiProperty({ example: 'pdf' })
  name: string;

  @ApiProperty({ example: 'Reads, creates, changes and checks PDF files.' })
  description: string;
}
