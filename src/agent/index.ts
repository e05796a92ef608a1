export { InvalidResponseFormatError } from './format/format.errors.js';
export type { FormatNames } from './format/format.errors.js';
export type { Agent } from './agent.entity.js';
export { messageGenerationFields } from './generation.js';
export { AgentModule } from './agent.module.js';
export { AgentService } from './agent.service.js';
export {
  RESPONSE_FORMAT,
  RESPONSE_FORMAT_EXAMPLE,
  ResponseFormats,
} from './format/response-formats.js';
export type { Problem } from './format/schema-walk.js';
export type { AgentForChat } from './agent.repository.js';
export type {
  AgentRuntime,
  CallResult,
  CallState,
  DecidedCall,
  ResumedCalls,
  RuntimeTurn,
  TurnLimits,
  TurnPart,
} from './runtime/agent-runtime.js';
export { AgentRuntimes } from './runtime/runtime.registry.js';
export { MAX_QUOTED_CHARS, MAX_QUOTED_FRAGMENTS, quoteFragments } from './tool/quoted-fragments.js';
export type { LeftOutFragment } from './tool/quoted-fragments.js';
export { MAX_CONTENT_CHARS } from './tool/agent-tool.js';
export type {
  AgentTool,
  ToolContext,
  ToolFacts,
  ToolOutcome,
  ToolResult,
  ToolTurn,
} from './tool/agent-tool.js';
export { quotableName, quoted } from './tool/quotation.js';
export {
  CITE,
  citationMarks,
  citationsIn,
  inRankOrder,
  QUOTED_DATA,
  referenceOf,
  TurnSources,
} from './tool/sources.js';
export type { Citations, Source, SourceReference } from './tool/sources.js';
export { UNKNOWN_OUTCOME } from './tool/tool.effects.js';
export type { AskedCall, TurnEffects } from './tool/tool.effects.js';
export { AgentTools } from './tool/tool.registry.js';
export type { CallContext } from './tool/tool.registry.js';
