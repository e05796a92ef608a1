import type { KnowledgeBase } from '../../knowledge/index.js';
import type { AgentBases } from '../agent.bases.js';
import { ToolFailure } from './agent-tool.js';
import type { ToolTurn } from './agent-tool.js';
import { quotable } from './quotation.js';

const SHOWN_NAME = 100;

export function withoutBases({ bases }: ToolTurn): string | undefined {
  return bases.length === 0 ? 'This agent has no knowledge bases.' : undefined;
}

/** The knowledge bases for the description of a tool. */
export function listOf(bases: readonly KnowledgeBase[]): string {
  return bases.map(({ id, name }) => `${id} "${shownName(name)}"`).join(', ');
}

/** A name within a sentence for the model: one line, cut and quotable. */
export function shownName(name: string): string {
  const line = name.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  const short = line.length > SHOWN_NAME ? `${line.slice(0, SHOWN_NAME).toWellFormed()}…` : line;
  return quotable(short);
}

/** The bases of the turn as they are stored now, without those that were deleted since it began, or that may no longer be read. */
export async function currentBases(
  agents: AgentBases,
  { caller, agentId, bases }: ToolTurn,
): Promise<KnowledgeBase[]> {
  const current = await agents.stillOf(caller, agentId, bases);
  if (current.length > 0) return current;
  throw new ToolFailure(
    'The knowledge bases of this agent were deleted, or may no longer be searched. Answer without them.',
  );
}

/** The base with that name or id, or all of them. */
export function chosenBases(
  bases: readonly KnowledgeBase[],
  chosen: string | number | undefined,
): readonly KnowledgeBase[] {
  if (chosen === undefined) return bases;
  const text = String(chosen).trim().toLowerCase();
  const named = bases.filter(({ name }) => name.trim().toLowerCase() === text);
  const matches = named.length > 0 ? named : bases.filter(({ id }) => String(id) === text);
  if (matches.length > 0) return matches;
  throw new ToolFailure(
    `There is no knowledge base "${shownName(String(chosen))}". The knowledge bases are ${listOf(bases)}. Give one of these names or ids, or leave it out to search all.`,
  );
}
