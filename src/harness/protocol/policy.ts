import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { ToolErrorCode } from '../fault/tool.error.js';
import { sha256 } from './values.js';

export const DECISIONS = ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'] as const;
/** APPROVE_SESSION also grants the same path, or the same exact command, for the rest of the session. */
export type Decision = (typeof DECISIONS)[number];

/** Decisions available to a person. */
export function availableDecisions(grantable: boolean): readonly Decision[] {
  return DECISIONS.filter((decision) => grantable || decision !== 'APPROVE_SESSION');
}

export const APPROVAL_STATES = ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A file that a call would change. */
export interface PreviewFile {
  readonly path: string;
  readonly op: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Lines; null for what is no text, or is too large to compare. */
  readonly additions: number | null;
  readonly deletions: number | null;
  /** Bytes; null where there is no file. */
  readonly sizeBefore: number | null;
  readonly sizeAfter: number | null;
}

/** Effect of a call, as the server read it from the arguments. */
export interface ApprovalPreview {
  /** The whole command, character for character; null for other calls. */
  readonly command: string | null;
  readonly files: readonly PreviewFile[];
  /** Unified, of all files; null for calls that change none. */
  readonly diff: string | null;
  readonly diffTruncated: boolean;
}

export type GrantKind = 'PATH' | 'COMMAND';

/** Subject of a grant: a workspace path as tools normalise it, or a command, character for character. */
export interface GrantSubject {
  readonly kind: GrantKind;
  readonly subject: string;
}

/** Grants of one session, as they were when read. */
export class Grants {
  private readonly keys: ReadonlySet<string>;

  constructor(granted: readonly { readonly kind: GrantKind; readonly subjectHash: string }[]) {
    this.keys = new Set(granted.map(({ kind, subjectHash }) => `${kind} ${subjectHash}`));
  }

  /** Whether this very path, as tools normalise it, may be written. */
  path(path: string): boolean {
    return this.has('PATH', path);
  }

  /** Whether this command, character for character, may be run. */
  command(command: string): boolean {
    return this.has('COMMAND', command);
  }

  private has(kind: GrantKind, subject: string): boolean {
    return this.keys.has(`${kind} ${sha256(subject)}`);
  }
}

export const PERMISSION_MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
/** Upper bound of what the harness may do; the approval policy decides who is asked. */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

export const APPROVAL_POLICIES = ['ON_REQUEST', 'NEVER'] as const;
/** NEVER: what would be asked is denied. */
export type ApprovalPolicy = (typeof APPROVAL_POLICIES)[number];

/** Protection of a path; the strictest counts. */
export type PathProtection = 'NONE' | 'PROTECTED' | 'GIT';

export interface FileSubject {
  readonly path: string;
  readonly protection: PathProtection;
  readonly secret: boolean;
  /** Deletes, moves away, or overwrites what the run has not read. */
  readonly destructive: boolean;
  /** Named in the approved plan. */
  readonly planned: boolean;
  /** Granted for this session by a person. */
  readonly granted: boolean;
}

/** Effect of a tool call, as far as the policy needs it. */
export type PolicySubject =
  | { readonly kind: 'read'; readonly secret: boolean }
  | { readonly kind: 'files'; readonly files: readonly FileSubject[] }
  | { readonly kind: 'shell'; readonly granted: boolean };

export type PolicyDecision =
  | { readonly verdict: 'allow' }
  /** Grantable: a person may allow the same for the rest of the session. */
  | { readonly verdict: 'ask'; readonly grantable: boolean }
  | { readonly verdict: 'deny'; readonly code: ToolErrorCode; readonly message: string };

export interface PolicyFacts {
  readonly permissionMode: PermissionMode;
  readonly approvalPolicy: ApprovalPolicy;
}

const ALLOW: PolicyDecision = { verdict: 'allow' };
const ASK: PolicyDecision = { verdict: 'ask', grantable: false };
const ASK_OR_GRANT: PolicyDecision = { verdict: 'ask', grantable: true };

/**
 * Who may do what: a pure function of the session's mode and policy and of what the call would do. What the workspace, a
 * skill, the model or a tool result says is no argument of it. A call that touches several files is treated as its
 * strictest file.
 */
export function decidePolicy(facts: PolicyFacts, subject: PolicySubject): PolicyDecision {
  switch (subject.kind) {
    case 'read':
      return subject.secret ? ofSecretRead(facts) : ALLOW;
    case 'shell':
      return ofShell(facts, subject.granted);
    case 'files':
      return ofFiles(facts, subject.files);
  }
}

/** Whether a person reviews the plan before anything is changed. A READ_ONLY run has no plan step. */
export function planApprovalNeeded({ permissionMode, approvalPolicy }: PolicyFacts): boolean {
  return permissionMode !== 'READ_ONLY' && approvalPolicy !== 'NEVER';
}

function ofSecretRead({ permissionMode, approvalPolicy }: PolicyFacts): PolicyDecision {
  if (permissionMode !== 'READ_ONLY' && approvalPolicy === 'ON_REQUEST') return ASK;
  return deny(
    'SECRET_PATH',
    'The file may hold secrets, and no one is asked in this run. Go on without it, or tell the user what is missing.',
  );
}

function ofShell(
  { permissionMode, approvalPolicy }: PolicyFacts,
  granted: boolean,
): PolicyDecision {
  switch (permissionMode) {
    case 'FULL_ACCESS':
      return ALLOW;
    case 'WORKSPACE_WRITE':
      if (approvalPolicy === 'ON_REQUEST') return granted ? ALLOW : ASK_OR_GRANT;
      return deny(
        'DENIED',
        'Commands need the consent of a person, and no one is asked in this run. Use the file tools instead.',
      );
    case 'READ_ONLY':
      return deny(
        'TOOL_NOT_OFFERED',
        'This run is READ_ONLY: no command is run. Use the reading tools.',
      );
  }
}

function ofFiles(facts: PolicyFacts, files: readonly FileSubject[]): PolicyDecision {
  if (facts.permissionMode === 'READ_ONLY') {
    return deny(
      'TOOL_NOT_OFFERED',
      'This run is READ_ONLY: no file is changed. Describe the change in your answer instead.',
    );
  }
  return files
    .map((file) => ofFile(facts, file))
    .reduce((strictest, one) => (strictness(one) > strictness(strictest) ? one : strictest), ALLOW);
}

function ofFile(
  { permissionMode, approvalPolicy }: PolicyFacts,
  file: FileSubject,
): PolicyDecision {
  const { path } = file;
  const isAsked = approvalPolicy === 'ON_REQUEST';
  if (file.protection === 'GIT') {
    return deny(
      'PROTECTED_PATH',
      `${path} belongs to git, which no tool may change. Leave it as it is.`,
    );
  }
  if (file.protection === 'PROTECTED' || file.secret) {
    if (isAsked) return ASK;
    return deny(
      'PROTECTED_PATH',
      `${path} is protected, and no one is asked in this run. Leave it, or tell the user what to change.`,
    );
  }
  const isFree = permissionMode === 'FULL_ACCESS' && approvalPolicy === 'NEVER';
  if (file.destructive && !isFree) {
    if (isAsked) return ASK;
    return deny(
      'DENIED',
      `Deleting, moving or overwriting ${path} unread needs the consent of a person, and no one is asked in this run. Read a file before you write it, and keep the old one.`,
    );
  }
  const isOpen =
    permissionMode === 'FULL_ACCESS' || approvalPolicy === 'NEVER' || file.planned || file.granted;
  return isOpen ? ALLOW : ASK_OR_GRANT;
}

/** An ask that a grant could spare is laxer than one that must be answered each time. */
function strictness(decision: PolicyDecision): number {
  if (decision.verdict === 'allow') return 0;
  if (decision.verdict === 'deny') return 3;
  return decision.grantable ? 1 : 2;
}

function deny(code: ToolErrorCode, message: string): PolicyDecision {
  return { verdict: 'deny', code, message };
}

/** Whether the mode allows nothing that the limit does not allow. PERMISSION_MODES is ordered by what they allow. */
export function isWithin(mode: PermissionMode, limit: PermissionMode): boolean {
  return PERMISSION_MODES.indexOf(mode) <= PERMISSION_MODES.indexOf(limit);
}

interface Permitted {
  readonly permissionMode: PermissionMode;
}

const USE = 'coding:harness:use';
const WRITE = 'coding:harness:write';

/**
 * ForbiddenError unless the session or run is READ_ONLY or the caller may let the harness write now. Asked with every request
 * that makes a run go on, because permissions change while sessions stay.
 */
export function requireWrite(caller: Caller, { permissionMode }: Permitted): void {
  if (permissionMode === 'READ_ONLY' || mayAny(caller, [WRITE])) return;
  throw new ForbiddenError(
    msg`You need the permission ${WRITE}, because this is ${permissionMode}. Ask an administrator for it, or use permissionMode READ_ONLY.`,
  );
}

/** Whether a run of the mode may go on in the name of a user who has these permissions now. */
export function mayContinue(caller: Caller, { permissionMode }: Permitted): boolean {
  return mayAny(caller, [USE]) && (permissionMode === 'READ_ONLY' || mayAny(caller, [WRITE]));
}
