/**
 * Names of the semantic conventions for generative AI: https://github.com/open-telemetry/semantic-conventions-genai, as of
 * commit 002c8a6e, read 2026-11-28, with the name of a workflow as in its first release since (v0.1.0, `gen_ai.agent.name`). All
 * of them have the status Development, so a later revision may rename them: change them here only. Names of HTTP, database, messaging
 * and errors are those of the general conventions v1.41.1. What no convention names begins with `plinth.`.
 */
export const ATTRIBUTE = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  stream: 'gen_ai.request.stream',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  agentId: 'gen_ai.agent.id',
  /** The name of an agent or a workflow. */
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  dataSourceId: 'gen_ai.data_source.id',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  mcpMethod: 'mcp.method.name',

  // Content: only of tenants that have switched it on.
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  retrievalQuery: 'gen_ai.retrieval.query.text',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',

  errorType: 'error.type',
  serverAddress: 'server.address',
  userId: 'user.id',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  urlScheme: 'url.scheme',
  dbSystem: 'db.system.name',
  dbOperation: 'db.operation.name',
  dbTable: 'db.collection.name',
  messagingSystem: 'messaging.system',
  messagingOperation: 'messaging.operation.type',
  messagingDestination: 'messaging.destination.name',
  messagingId: 'messaging.message.id',

  requestId: 'plinth.request.id',
  tenantId: 'plinth.tenant.id',
  envelopeCode: 'plinth.envelope.code',
  attempt: 'plinth.attempt',
  requestedModel: 'plinth.requested_model',
  estimated: 'plinth.usage.estimated',
  hits: 'plinth.hits',
  turnId: 'plinth.turn.id',
  runId: 'plinth.run.id',
  outcome: 'plinth.outcome',
  effectClass: 'plinth.effect.class',
  /** Id of the call in the ledger of effects. */
  effectId: 'plinth.effect.id',
} as const;

/** Values of `gen_ai.operation.name`. `rerank`, `moderation` and `transcription` are ours: no convention has them. */
export const OPERATION = {
  chat: 'chat',
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderation: 'moderation',
  transcription: 'transcription',
  generateContent: 'generate_content',
  retrieval: 'retrieval',
  executeTool: 'execute_tool',
  invokeAgent: 'invoke_agent',
  invokeWorkflow: 'invoke_workflow',
} as const;

/** Provider codes whose value of `gen_ai.provider.name` differs. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  openai_responses: 'openai',
  xai: 'x_ai',
};

export function providerName(code: string): string {
  return PROVIDERS[code] ?? code;
}

/** One message of text in the form of `gen_ai.input.messages`. */
export function recordedText(role: string, content: string): string {
  return JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
}
