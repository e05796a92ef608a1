import type { TurnMessage } from './conversation.js';

export const SKILL_TOOL = 'activate_skill';

/** An output of so many bytes takes hardly more than the pointer to it. */
export const WORTH_PRUNING = 400;

/** True for the result of a call whose output may be left out when it is old: texts of skills stay. */
export function isPrunable({ content, toolName, toolError, pruned }: TurnMessage): boolean {
  const isSkill = toolName === SKILL_TOOL && !toolError;
  return pruned || (!isSkill && Buffer.byteLength(content) > WORTH_PRUNING);
}
