import type { FileOperation } from '../workspace/file-operation.js';
import { canonicalJson } from '../protocol/plan.js';
import { sha256 } from '../protocol/ids.js';
import type { ApprovalPreview, GrantSubject } from '../protocol/approval.js';
import type { FileSubject } from '../protocol/policy.js';

/** A tool call that may go on only with the consent of a person. */
export interface ApprovalAsk {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments as the model wrote them, but for secrets of the service: what the person sees. */
  readonly argumentsJson: string;
  /** One line for people, made from the arguments by the server. */
  readonly summary: string;
  /** What the model says that the call is for: nothing that a decision may rely on. */
  readonly modelDescription: string | null;
  readonly preview: ApprovalPreview;
  /** What `subjectHash` answered when the call was decided: the approval holds for this alone. */
  readonly subjectHash: string;
  /** What APPROVE_SESSION grants (`pathGrants`, `commandGrant`); empty when the same must be asked each time. */
  readonly grants: readonly GrantSubject[];
  /** What the person should know, such as that the changes cannot be undone. */
  readonly notes: readonly string[];
}

export interface ApprovalSubject {
  readonly toolName: string;
  /** As the model wrote it. */
  readonly input: unknown;
  /** What would happen to files; empty for everything but file tools. */
  readonly operations: readonly Pick<FileOperation, 'path' | 'before'>[];
}

/**
 * Binds an approval to what was asked: SHA-256, lower-case hex, of the tool, its input and the contents that the files
 * have before it. Another hash at the time of execution means that something has changed: APPROVAL_STALE.
 */
export function subjectHash({ toolName, input, operations }: ApprovalSubject): string {
  const files = operations
    .map(({ path, before }) => ({ path, before: before?.sha256 ?? null }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  return sha256(canonicalJson({ tool: toolName, input, files }));
}

/** What a session-wide consent to these files grants: each path that neither the plan nor a grant allows yet. */
export function pathGrants(files: readonly FileSubject[]): GrantSubject[] {
  return files
    .filter(({ planned, granted }) => !planned && !granted)
    .map(({ path }) => ({ kind: 'PATH', subject: path }));
}

/** What a session-wide consent to this command grants: the very same text, and no other command. */
export function commandGrant(command: string): GrantSubject {
  return { kind: 'COMMAND', subject: command };
}
