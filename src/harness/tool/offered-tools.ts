import type { HarnessRun } from '../store/run.entity.js';
import { TOOL_NAMES } from './tool.js';
import type { ToolName } from './tool.js';

/** What decides which tools a run has. */
export interface OfferFacts extends Pick<
  HarnessRun,
  'permissionMode' | 'approvalPolicy' | 'phase'
> {
  readonly sandboxAvailable: boolean;
  readonly mayAsk: boolean;
  readonly hasSkills: boolean;
}

const EDITING: readonly ToolName[] = [
  'edit_file',
  'multi_edit',
  'write_file',
  'apply_patch',
  'delete_file',
];

/**
 * Why the tool is not offered now; undefined when it is. The list that the model gets and the check before a call is
 * carried out both ask here.
 */
export function notOffered(name: ToolName, facts: OfferFacts): string | undefined {
  const { permissionMode, approvalPolicy, phase } = facts;
  if (name === 'activate_skill' || name === 'read_skill_resource') {
    return facts.hasSkills ? undefined : 'This workspace has no skills.';
  }
  if (name === 'ask_user') {
    if (approvalPolicy === 'NEVER') return 'Nobody is asked in this session. Decide yourself.';
    return facts.mayAsk ? undefined : 'Questions are turned off here.';
  }
  const readOnly = permissionMode === 'READ_ONLY';
  if (name === 'plan_create') {
    if (readOnly) return 'A read-only session needs no plan.';
    return phase === 'PLAN' ? undefined : 'The plan is approved already. Carry it out.';
  }
  if (name === 'plan_step') {
    return phase === 'BUILD'
      ? undefined
      : 'There is no approved plan yet. Submit one with plan_create.';
  }
  if (!EDITING.includes(name) && name !== 'shell') return undefined;
  if (readOnly) return 'This session is read-only: nothing can be changed or run.';
  if (phase === 'PLAN')
    return 'Changes and commands need an approved plan. Submit one with plan_create.';
  if (name !== 'shell') return undefined;
  if (!facts.sandboxAvailable)
    return 'There is no sandbox on this server, so no command can be run.';
  return permissionMode === 'WORKSPACE_WRITE' && approvalPolicy === 'NEVER'
    ? 'Commands need consent in this session, and nobody is asked.'
    : undefined;
}

export function offeredTools(facts: OfferFacts): ToolName[] {
  return TOOL_NAMES.filter((name) => notOffered(name, facts) === undefined);
}
