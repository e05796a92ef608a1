export type { Agent } from './agent.entity.js';
export { AgentModule } from './agent.module.js';
export { AgentService } from './agent.service.js';
export type { AgentForChat } from './agent.repository.js';
export type {
  AgentRuntime,
  CallResult,
  CallState,
  DecidedCall,
  Generation,
  RuntimeTurn,
  TurnLimits,
  TurnPart,
} from './runtime/agent-runtime.js';
export { AgentRuntimes } from './runtime/runtime.registry.js';
