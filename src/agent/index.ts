export type { Agent } from './agent.entity.js';
export { AgentModule } from './agent.module.js';
export { AgentService } from './agent.service.js';
export {
  RESPONSE_FORMAT,
  RESPONSE_FORMAT_EXAMPLE,
  ResponseFormats,
} from './format/response-formats.js';
export type { Problem } from './format/schema-walk.js';
export type { AgentForChat } from './agent.repository.js';
