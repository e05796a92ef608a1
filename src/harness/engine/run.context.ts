import type { Caller } from '../../platform/access/index.js';
import type { UserCallers } from '../../identity/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { mayContinue } from '../protocol/policy.js';
import type { ApprovalRow } from '../store/approval.repository.js';
import type { RunSkills } from '../store/run-skills.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { Workspace } from '../workspace/workspace.js';
import type { RunLease } from './run.lease.js';

/** A run that this process holds and works on: what the loop, the model calls and the tool calls share. */
export interface RunContext {
  readonly lease: RunLease;
  /** The row as last read. Read again at the beginning of each step and after a tool call that changes the run. */
  run: HarnessRun;
  readonly workspace: Workspace;
  readonly model: ResolvedChatModel;
  readonly skills: RunSkills;
  /** SHA-256 by path of the files that the run has read or written; grows with its tool calls. */
  readonly observedFiles: Map<string, string>;
  /** By tool call, of those that were open at the claim. No later call has one: asking for it ends the claim. */
  readonly approvals: ReadonlyMap<string, ApprovalRow>;
  /** Credentials of the model service, masked in everything that leaves a tool. */
  readonly secrets: readonly string[];
}

/** The user may no longer let the harness work on the run in its permission mode: the run ends. */
export class PermissionRevokedError extends Error {
  override readonly name = 'PermissionRevokedError';
}

/** A tool call was executed and its outcome could not be stored: only recovery can tell what it has done. */
export class UnrecordedError extends Error {
  override readonly name = 'UnrecordedError';
}

/** The workspace is no longer below a configured root, or is no longer the folder that it was. */
export class WorkspaceRefusedError extends Error {
  override readonly name = 'WorkspaceRefusedError';
}

/** The user of the run with their permissions as of now; PermissionRevokedError when they no longer allow the run. */
export async function callerOf(callers: UserCallers, run: HarnessRun): Promise<Caller> {
  const { userId, homeTenantId, tenantId } = run;
  const caller = await callers.find({ userId, homeTenantId, tenantId });
  if (!caller || !mayContinue(caller, run)) throw new PermissionRevokedError();
  return caller;
}
