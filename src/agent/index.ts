export type { Agent } from './agent.entity.js';
export { AgentModule } from './agent.module.js';
export { AgentService } from './agent.service.js';
export type { AgentForChat } from './agent.repository.js';
