import { SKILL_TOOL, WORTH_PRUNING } from '../store/turn-message.repository.js';
import type { TurnMessage } from '../store/turn-message.repository.js';

/** True for the result of a call whose output may be left out when it is old: texts of skills stay. */
export function isPrunable({ content, toolName, toolError, pruned }: TurnMessage): boolean {
  const isSkill = toolName === SKILL_TOOL && !toolError;
  return pruned || (!isSkill && Buffer.byteLength(content) > WORTH_PRUNING);
}
