import type { Tool } from '@modelcontextprotocol/server';

/** A tool of POST /mcp: a route in another form. Permission, fields and their rules are those of the route. */
export interface RouteTool {
  readonly name: string;
  readonly title: string;
  /** Text for the model: what the tool does, and where its ids come from. */
  readonly description: string;
  /** As `GET /system/info/list`. */
  readonly route: string;
  /** The fields of query and body that the tool offers, besides those of the path. Others keep their defaults. */
  readonly fields: readonly string[];
  readonly annotations: NonNullable<Tool['annotations']>;
}

const READS = { readOnlyHint: true, openWorldHint: false } as const;
/** A repetition with the same key is the same record. */
const CREATES = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const SESSION = '/coding/harness/sessions/:sessionId';
const RUN = `${SESSION}/runs/:runId`;
const PAGE = ['pageNum', 'pageSize'] as const;

/** The tool that answers with an agent. Its route streams, so it has a call of its own. */
export const ASK_AGENT = 'ask_agent';

export const TOOLS: readonly RouteTool[] = [
  {
    name: 'list_knowledge_bases',
    title: 'List knowledge bases',
    description: 'The knowledge bases that you may read, with their ids. Newest first.',
    route: 'GET /system/info/list',
    fields: ['name', ...PAGE],
    annotations: READS,
  },
  {
    name: 'search_knowledge',
    title: 'Search a knowledge base',
    description:
      'The passages of a knowledge base that fit a question best, with their documents. Ids of knowledge bases come from list_knowledge_bases.',
    route: 'POST /system/fragment/retrieval',
    fields: ['knowledgeId', 'query', 'topK', 'threshold', 'filter'],
    annotations: READS,
  },
  {
    name: 'list_documents',
    title: 'List documents',
    description: 'The documents of the knowledge bases that you may read, with their docId.',
    route: 'GET /system/attach/list',
    fields: ['knowledgeId', 'name', ...PAGE],
    annotations: READS,
  },
  {
    name: 'read_document',
    title: 'Read a document',
    description:
      'The text of a document as its fragments, in order. docId comes from list_documents or search_knowledge. Read page by page.',
    route: 'GET /system/fragment/list',
    fields: ['docId', 'knowledgeId', 'content', ...PAGE],
    annotations: READS,
  },
  {
    name: 'list_models',
    title: 'List models',
    description: 'The models that you can use, the default one first.',
    route: 'GET /system/model/modelList',
    fields: ['category', 'modelName', ...PAGE],
    annotations: READS,
  },
  {
    name: 'list_agents',
    title: 'List agents',
    description: 'The agents that you can ask, with their ids.',
    route: 'GET /agent/agent/agentOptions',
    fields: [],
    annotations: READS,
  },
  {
    name: ASK_AGENT,
    title: 'Ask an agent',
    description:
      'Asks an agent one question and returns its answer with its sources. The agent has its own instructions, knowledge and tools. Ids come from list_agents. Nothing is kept: include what the agent needs to know.',
    route: 'POST /v1/chat/completions',
    fields: ['agentId', 'question'],
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  },
  {
    name: 'list_coding_sessions',
    title: 'List coding sessions',
    description: 'Your sessions of the coding harness: each works in one folder of the server.',
    route: 'GET /coding/harness/sessions',
    fields: PAGE,
    annotations: READS,
  },
  {
    name: 'create_coding_session',
    title: 'Create a coding session',
    description:
      'Creates a session of the coding harness, in which runs are started. model comes from list_models.',
    route: 'POST /coding/harness/sessions',
    fields: [
      'model',
      'permissionMode',
      'approvalPolicy',
      'workspacePath',
      'title',
      'idempotencyKey',
    ],
    annotations: CREATES,
  },
  {
    name: 'start_coding_run',
    title: 'Start a coding run',
    description:
      'Starts a run in a session and returns at once. Follow it with get_coding_run and read_run_events; decide what it asks with decide_approval.',
    route: `POST ${SESSION}/runs`,
    fields: ['requirement', 'idempotencyKey'],
    annotations: { ...CREATES, destructiveHint: true },
  },
  {
    name: 'get_coding_run',
    title: 'Get a coding run',
    description: 'The status and result of a run.',
    route: `GET ${RUN}`,
    fields: [],
    annotations: READS,
  },
  {
    name: 'read_run_events',
    title: 'Read the events of a run',
    description: 'The events of a run in order. Pass the last sequence to get only newer ones.',
    route: `GET ${RUN}/events`,
    fields: ['afterSequence', 'limit'],
    annotations: READS,
  },
  {
    name: 'cancel_coding_run',
    title: 'Cancel a coding run',
    description: 'Cancels a run.',
    route: `POST ${RUN}/cancel`,
    fields: [],
    annotations: { ...CREATES, destructiveHint: true },
  },
  {
    name: 'list_approvals',
    title: 'List approvals',
    description: 'What your coding runs wait for: approvals with the exact arguments, and plans.',
    route: 'GET /coding/harness/approvals',
    fields: [],
    annotations: READS,
  },
  {
    name: 'decide_approval',
    title: 'Decide an approval',
    description:
      'Approves or denies one tool call of a coding run. Show the person what is asked before you decide for them. Values come from list_approvals.',
    route: `POST ${RUN}/approvals/:approvalId/resolve`,
    fields: ['decisionId', 'decision', 'expectedRevision', 'argumentsSha256', 'note'],
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
  },
];
