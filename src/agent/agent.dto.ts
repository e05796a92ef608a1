import {
  BasedOnRevision,
  AnyObject,
  Flag,
  ICON,
  Id,
  Ids,
  Input,
  OneOf,
  pageFields,
  Text,
  Texts,
  VISIBLE,
  Whole,
  ZeroOrOne,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { FILTER_DESCRIPTION, FILTER_EXAMPLE } from '../metadata/index.js';
import { RESPONSE_FORMAT, RESPONSE_FORMAT_EXAMPLE } from './format/response-formats.js';
import { KNOWLEDGE_AS } from './agent.entity.js';
import { generationFields, generationSettingNames } from './generation.js';

const MAX_STEPS = 100;
const ZERO_OR_ONE = ['0', '1'];
const AGENT_NAME = { max: 200, example: 'Support' };
const MODEL_ID = { description: 'A model of category chat' };

export class AgentListQuery extends Input({
  ...pageFields(
    'id',
    'agentName',
    'agentDescribe',
    'agentShow',
    'modelId',
    'enableThinking',
    'systemPrompt',
    ...generationSettingNames,
    'runtime',
    'useSkills',
    'maxSteps',
    'status',
    'remark',
    'createTime',
    'updateTime',
  ),
  agentName: Text({ optional: true, description: 'Part of the name' }),
  status: Text({ optional: true, description: '0 enabled, 1 disabled' }),
}) {}

/** The fields of both writing routes. */
const agentFields = {
  agentDescribe: Text({ optional: true, max: 500 }),
  agentShow: Text({
    ...ICON,
    optional: true,
    max: 255,
    description: 'Address of a picture, or a text in place of one',
  }),
  enableThinking: OneOf(ZERO_OR_ONE, {
    optional: true,
    description: '1: request thinking from the model; default 0',
  }),
  systemPrompt: Text({
    optional: true,
    max: 100_000,
    description: 'System prompt of every conversation',
  }),
  mcpToolIds: Ids({
    optional: true,
    description:
      'Tools of tool servers, which the runtime tools offers to the model; at most 200. Adding one requires the level use on its server',
    example: [],
  }),
  skillNames: Texts({
    optional: true,
    description: 'Names of skillOptions, at most 50',
    example: ['pdf'],
  }),
  knowledgeIds: Ids({
    optional: true,
    description: 'At most 20. Adding one requires the level use on it',
    example: [1],
  }),
  knowledgeAs: OneOf(KNOWLEDGE_AS, {
    optional: true,
    description:
      'caller: the agent searches those of its bases that the user who asks may search; creator: also those that its creator manages. Default caller',
  }),
  share: ZeroOrOne({
    optional: true,
    description:
      '1: every user of the tenant may use it, which needs the permission access:publish; the default with that permission. A change needs the level manage',
  }),
  filter: AnyObject({
    optional: true,
    description: `${FILTER_DESCRIPTION}. The agent searches and reads no others, whatever a message asks for. An empty text clears it`,
    example: FILTER_EXAMPLE,
    clearable: true,
  }),
  ...generationFields,
  responseFormat: AnyObject({
    optional: true,
    description: `Every answer is a JSON object of this form, unless a message asks for another one. ${RESPONSE_FORMAT}. An empty text or the type text clears it`,
    example: RESPONSE_FORMAT_EXAMPLE,
    clearable: true,
  }),
  runtime: Text({
    optional: true,
    max: 20,
    description: 'A code of runtimeOptions: how the agent answers; default direct',
    example: 'tools',
  }),
  tools: Texts({
    optional: true,
    description: 'Names of toolOptions, which the runtime tools offers to the model',
    example: ['search_knowledge'],
  }),
  useSkills: Flag({
    optional: true,
    description: 'Whether the runtime tools offers skillNames to the model; default false',
  }),
  maxSteps: Whole({
    optional: true,
    min: 1,
    max: MAX_STEPS,
    description:
      'Answers of the model that call tools, in one turn; at most AGENT_MAX_STEPS counts',
    clearable: true,
  }),
  status: OneOf(ZERO_OR_ONE, { optional: true, description: '0 enabled, 1 disabled; default 0' }),
  remark: Text({ optional: true, max: 500 }),
};

export class CreateAgentBody extends Input({
  ...agentFields,
  agentName: Text({ ...AGENT_NAME, missing: msg`agentName must not be empty` }),
  modelId: Id({
    ...MODEL_ID,
    missing: msg`modelId is missing: choose the chat model that the agent uses`,
  }),
}) {}

/** Fields that are absent or null keep their value; an empty text or list clears its field. */
export class UpdateAgentBody extends Input({
  ...agentFields,
  id: Id(),
  revision: BasedOnRevision(),
  agentName: Text({
    ...AGENT_NAME,
    optional: true,
    pattern: VISIBLE,
    patternMessage: msg`must not be empty`,
  }),
  modelId: Id({ ...MODEL_ID, optional: true }),
}) {}
