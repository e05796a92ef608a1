import { systemCaller } from '../../src/platform/access/index.js';
import { AgentService } from '../../src/agent/index.js';
import type { AgentForChat } from '../../src/agent/index.js';
import { done } from './people.js';
import type { Plinth } from './plinth.js';
import type { Session } from './session.js';

export interface AgentRow {
  readonly id: number;
  readonly agentName: string;
  readonly modelId: number;
  readonly modelName: string | null;
  readonly knowledgeIds: number[];
  readonly knowledgeNames: string[];
  readonly skillNames: string[];
  readonly status: string;
  readonly [field: string]: unknown;
}

let made = 0;

/** The body of a new agent, with a name of its own. */
export function agentBody(modelId: number, fields: object = {}): Record<string, unknown> {
  made += 1;
  return { agentName: `agent-${made}`, modelId, ...fields };
}

export async function createAgent(
  session: Session,
  modelId: number,
  fields: object = {},
): Promise<AgentRow> {
  return done(await session.post<AgentRow>('/agent/agent', agentBody(modelId, fields))).data;
}

export async function agentOptions(session: Session): Promise<AgentRow[]> {
  return done(await session.get<AgentRow[]>('/agent/agent/agentOptions')).data;
}

/** The agent as a conversation of the tenant gets it. */
export function agentForChat(
  plinth: Plinth,
  id: number,
  tenantId = '000000',
): Promise<AgentForChat> {
  return plinth.app.get(AgentService, { strict: false }).forChat(systemCaller(tenantId, 0), id);
}
