import type { ToolDefinition } from '../../provider/index.js';
import type { HarnessRun } from '../store/harness.entity.js';

type PermissionFacts = Pick<HarnessRun, 'permissionMode' | 'approvalPolicy' | 'phase'>;

/**
 * What the model is told about what it may do. It is a description, for a model that plans ahead: the policy decides, and
 * it reads none of this.
 */
export function permissionText(run: PermissionFacts, tools: readonly ToolDefinition[]): string {
  const offered = tools.map(({ name }) => name);
  return [
    modeText(run),
    consentText(run, offered.includes('shell')),
    'Outside of the workspace nothing is read or written. There is no network.',
    `Tools offered now: ${offered.join(', ') || 'none'}. Others are refused.`,
  ].join('\n');
}

function modeText({ permissionMode, phase }: PermissionFacts): string {
  if (permissionMode === 'READ_ONLY') {
    return 'Mode READ_ONLY: you read and answer. Nothing can be changed and no command can be run; where a change is wanted, describe it exactly.';
  }
  const build =
    permissionMode === 'FULL_ACCESS'
      ? 'you may change files and run commands in a sandbox.'
      : 'you may change files.';
  const now =
    phase === 'PLAN'
      ? 'Phase PLAN: look at the workspace, then submit a plan with plan_create. Tools that change something are offered once it is approved. If nothing has to be changed, answer without a plan.'
      : 'Phase BUILD: the plan is approved. Carry it out, and tell with plan_step how far you are.';
  return `Mode ${permissionMode}: ${build}\n${now}`;
}

function consentText(
  { permissionMode, approvalPolicy }: PermissionFacts,
  hasShell: boolean,
): string {
  if (permissionMode === 'READ_ONLY') {
    return 'Files that may hold secrets (.env, keys, credentials) are not shown.';
  }
  if (approvalPolicy === 'NEVER') {
    const destructive =
      permissionMode === 'FULL_ACCESS'
        ? 'Files that may hold secrets and protected paths (.git, .github, .vscode, shell profiles and the like)'
        : 'Files that may hold secrets, protected paths (.git, .github, .vscode, shell profiles and the like), deletions, moves, overwriting what you have not read, and commands';
    return `Nobody is asked for consent in this session. ${destructive} are refused. Do not try to get round a refusal; say in your answer what is missing.`;
  }
  const commands =
    permissionMode === 'FULL_ACCESS' || !hasShell ? '' : ' Each command is asked for as well.';
  return `A person is asked before: files that the plan does not name, deletions, moves, overwriting what you have not read, protected paths, and reading files that may hold secrets.${commands} Writing to .git is refused. The run waits meanwhile; so ask for little, and for the right thing. A refusal is an answer: do not try to reach the same in another way.`;
}
