import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError, ConflictError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { canonicalJson } from '../../effect/index.js';
import type { GrantSubject } from '../../effect/index.js';
import type { ToolErrorCode } from './tool-call.js';
import { sha256, visibleText, withoutInvisible } from './values.js';

export const PERMISSION_MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
/** Upper bound of what the harness may do; the approval policy decides who is asked. */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

export const APPROVAL_POLICIES = ['ON_REQUEST', 'NEVER'] as const;
/** NEVER: what would be asked is denied. */
export type ApprovalPolicy = (typeof APPROVAL_POLICIES)[number];

export const PLAN_POLICIES = ['ALWAYS', 'ABOVE_FILES', 'NEVER'] as const;
/** Which plans a person reviews where people are asked: all, those that name more than `planFiles` files, or none. */
export type PlanPolicy = (typeof PLAN_POLICIES)[number];

/** Protection of a path; the strictest counts. */
export type PathProtection = 'NONE' | 'PROTECTED' | 'GIT';

export interface FileSubject {
  readonly path: string;
  readonly protection: PathProtection;
  readonly secret: boolean;
  /** Deletes, moves away, or overwrites what the run has not read. */
  readonly destructive: boolean;
  /** Named in the plan that a person has approved. */
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

export interface PlanFacts extends PolicyFacts {
  readonly planPolicy: PlanPolicy;
  readonly planFiles: number;
  readonly plan: Pick<Plan, 'reviewState'> | null;
}

/**
 * Whether a person reviews a plan of so many files before anything is changed. A READ_ONLY run has no plan step. The version
 * that follows a person's feedback is always reviewed.
 */
export function planApprovalNeeded(facts: PlanFacts, fileCount: number): boolean {
  if (facts.permissionMode === 'READ_ONLY' || facts.approvalPolicy === 'NEVER') return false;
  if (facts.plan?.reviewState === 'REVISION_REQUESTED' || facts.planPolicy === 'ALWAYS')
    return true;
  return facts.planPolicy === 'ABOVE_FILES' && fileCount > facts.planFiles;
}

/** The run's plan if a person has approved it: one that no one has reviewed allows nothing. */
export function consentedPlan({
  plan,
  planReceipt,
}: {
  readonly plan: Plan | null;
  readonly planReceipt: PlanReceipt | null;
}): Plan | null {
  const isApproved =
    planReceipt?.decision === 'APPROVED' && planReceipt.hash === plan?.canonicalHash;
  return isApproved ? plan : null;
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

export const STEP_STATUSES = ['PENDING', 'IN_PROGRESS', 'DONE', 'SKIPPED'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export interface PlanStep {
  /** Unique in the plan. */
  readonly id: string;
  readonly text: string;
  readonly status: StepStatus;
  /** Put in by the model while it carried out the approved plan: it is not approved and allows nothing. */
  readonly added?: true;
}

export const REVIEW_STATES = [
  'DRAFT',
  'AWAITING_APPROVAL',
  'REVISION_REQUESTED',
  'APPROVED',
] as const;
/** DRAFT is the list of a READ_ONLY run: it is not reviewed and allows nothing. */
export type ReviewState = (typeof REVIEW_STATES)[number];

/** Versions that a model may submit in one run. */
export const MAX_PLAN_VERSIONS = 5;
/** Steps of a plan at most. */
export const MAX_PLAN_STEPS = 30;

/** The plan of a run as its row holds it. The content is what a person approves; the hash binds the approval to it. */
export interface Plan {
  /** UUID of the plan; a run has one. */
  readonly taskId: string;
  /** Grows with every version that the model submits. */
  readonly revision: number;
  readonly summary: string;
  readonly steps: readonly PlanStep[];
  /** Workspace paths, as tools normalise them, that the approved plan allows to create and edit. */
  readonly files: readonly string[];
  readonly risks: readonly string[];
  /** SHA-256, lower-case hex, of the canonical JSON of summary, step texts, files and risks. */
  readonly canonicalHash: string;
  readonly reviewState: ReviewState;
}

export interface PlanReceipt {
  readonly decision: 'APPROVED' | 'REVISION_REQUESTED';
  /** The idempotencyKey of the approval, or the feedbackId of the request. */
  readonly key: string;
  readonly revision: number;
  readonly hash: string;
  /** SHA-256 of what was said, of a request alone. */
  readonly contentSha256?: string;
}

/** Parts of a plan that a person approves: everything but its progress. */
export type PlanContent = Pick<Plan, 'summary' | 'files' | 'risks'> & {
  readonly steps: readonly Pick<PlanStep, 'text' | 'added'>[];
};

/** The plan's canonicalHash. Progress, and steps that were added after the approval, do not change it. */
export function planHash({ summary, steps, files, risks }: PlanContent): string {
  const texts = steps.filter(({ added }) => !added).map(({ text }) => text);
  return sha256(canonicalJson({ summary, steps: texts, files, risks }));
}

/**
 * The plan as a person reads it before the approval, in Markdown. All text of the model is escaped: whatever it says,
 * headings, lists and their order are ours, and nothing in it becomes a link, an image, HTML or a hidden character.
 */
export function planMarkdown({ summary, steps, files, risks, revision }: Plan): string {
  const numbered = steps.map(({ text }, index) => `${index + 1}. ${plain(text)}`);
  return [
    `# Plan, version ${revision}`,
    plain(summary),
    section('Steps', numbered),
    section(
      'Files that may be created and edited',
      files.map((path) => `- ${plain(path)}`),
    ),
    section(
      'Risks',
      risks.map((risk) => `- ${plain(risk)}`),
    ),
  ].join('\n\n');
}

function section(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.length === 0 ? 'None.' : lines.join('\n')}`;
}

/**
 * Characters with a meaning anywhere in a line (CommonMark 0.31 and GitHub's extensions); every ASCII punctuation
 * character may be escaped. Characters that need one of these beside them stay, so that people can read the source, too.
 */
const MEANINGFUL = /[\\`*[\]<|~$@#]/g;
/** Underscores that format text; within a word they do not. */
const UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
const ENTITY = /&(?=#?\w+;)/g;
/** Colon of an address or of an emoji's name. */
const COLON = /:(?=\/|[\w+-]+:)/g;
/** Characters that would begin a list, a quotation, or the line below a heading. */
const OPENING = /^[+\-=>]/;
/** Beginning of a numbered list. */
const NUMBERING = /^(\d+)([.)])/;
/** Bare addresses become links in some readers. */
const ADDRESS = /\bwww\./gi;
/** The text as one line that means itself; what cannot be seen, and marks of the server, show as U+XXXX. */
export function plain(text: string): string {
  return visibleText(escaped(text));
}

/** The same for a line that was made visible when it was stored: marks in it are the server's own. */
export function plainLine(line: string): string {
  return withoutInvisible(escaped(line));
}

function escaped(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(MEANINGFUL, '\\$&')
    .replaceAll(UNDERSCORE, '\\_')
    .replaceAll(ENTITY, '\\&')
    .replaceAll(COLON, '\\:')
    .replace(OPENING, '\\$&')
    .replace(NUMBERING, '$1\\$2')
    .replaceAll(ADDRESS, (start) => `${start.slice(0, -1)}\\.`);
}

/** The run has no plan, or its plan no longer awaits a review. */
export class PlanNotAwaitingError extends ConflictError {
  constructor(plan: Plan | null) {
    super(
      msg`No plan of this run waits for a review, so nothing was changed. Reload the run to see what was decided.`,
      {
        data: { errorCode: 'PLAN_NOT_AWAITING', reviewState: plan?.reviewState ?? null },
      },
    );
  }
}

/** The decision was made about another version. */
export class PlanStaleError extends ConflictError {
  constructor({ taskId, revision, canonicalHash }: Plan) {
    super(
      msg`taskId, expectedRevision or expectedHash is not that of the plan, so nothing was decided. Reload it and review it again.`,
      { data: { errorCode: 'PLAN_STALE', taskId, expectedRevision: revision, canonicalHash } },
    );
  }
}

export class PlanVersionsError extends ConflictError {
  constructor() {
    super(
      msg`This is version ${MAX_PLAN_VERSIONS}, the last one that a run may have. Approve it, or cancel the run and start a new one.`,
      { data: { errorCode: 'PLAN_LIMIT_REACHED' } },
    );
  }
}

/** Grants of a session-wide consent to these files: each path that neither the plan nor a grant allows yet. */
export function pathGrants(files: readonly FileSubject[]): GrantSubject[] {
  return files
    .filter(({ planned, granted }) => !planned && !granted)
    .map(({ path }) => ({ kind: 'PATH', subject: path }));
}

/** Grant of a session-wide consent to this command: the very same text, and no other command. */
export function commandGrant(command: string): GrantSubject {
  return { kind: 'COMMAND', subject: command };
}
