import { IsDefined } from 'class-validator';
import {
  Clearable,
  Decimal,
  Id,
  Ids,
  OneOf,
  PageQuery,
  Text,
  Texts,
  Whole,
} from '../platform/http/index.js';

const INTEGER = 2_147_483_647;
const ZERO_OR_ONE = ['0', '1'];
const AGENT_NAME = { max: 200, example: 'Support' };
const MODEL_ID = { description: 'A model of category chat' };
const MODELS_OWN = '; default: that of the model';

export class AgentListQuery extends PageQuery {
  @Text({ optional: true, description: 'Part of the name' })
  agentName?: string;

  @Text({ optional: true, description: '0 enabled, 1 disabled' })
  status?: string;
}

/** The fields of both writing routes. */
export class AgentFields {
  @Text({ optional: true, max: 500 })
  agentDescribe?: string;

  @Text({
    optional: true,
    max: 255,
    description: 'Address of a picture, or a text in place of one',
  })
  agentShow?: string;

  @OneOf(ZERO_OR_ONE, {
    optional: true,
    description: '1: request thinking from the model; default 0',
  })
  enableThinking?: string;

  @Text({
    optional: true,
    max: 100_000,
    description: 'System prompt of every conversation',
  })
  systemPrompt?: string;

  @Ids({ optional: true, description: 'There are no MCP tools yet: an empty list' })
  mcpToolIds?: number[];

  @Texts({ optional: true, description: 'Names of skillOptions, at most 50', example: ['pdf'] })
  skillNames?: string[];

  @Ids({
    optional: true,
    description: 'At most 20. Adding one requires read access to it; users of the agent need none',
    example: [1],
  })
  knowledgeIds?: number[];

  @Decimal({
    optional: true,
    min: 0,
    max: 2,
    description: `An empty text clears it${MODELS_OWN}`,
  })
  @Clearable()
  temperature?: number | null;

  @Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: `An empty text clears it${MODELS_OWN}`,
  })
  @Clearable()
  topP?: number | null;

  @Whole({
    optional: true,
    min: 1,
    max: INTEGER,
    description: `Maximum tokens of an answer${MODELS_OWN}`,
  })
  @Clearable()
  maxTokens?: number | null;

  @OneOf(ZERO_OR_ONE, { optional: true, description: '0 enabled, 1 disabled; default 0' })
  status?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class CreateAgentBody extends AgentFields {
  @Text(AGENT_NAME)
  @IsDefined({ message: 'agentName must not be empty' })
  agentName: string;

  @Id(MODEL_ID)
  @IsDefined({ message: 'modelId is missing: choose the chat model that the agent uses' })
  modelId: number;
}

/** Fields that are absent or null keep their value; an empty text or list clears its field. */
export class UpdateAgentBody extends AgentFields {
  @Id()
  id: number;

  @Text({ ...AGENT_NAME, optional: true, pattern: /\S/, patternMessage: 'must not be empty' })
  agentName?: string;

  @Id({ ...MODEL_ID, optional: true })
  modelId?: number;
}
