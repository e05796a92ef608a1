import { ConflictError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { sha256, visibleText, withoutInvisible } from './values.js';

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

/**
 * The one JSON text of a value, for hashes: the keys of every object sorted, no white space, undefined fields left out.
 * Equal values have equal texts, and different ones different texts.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isRecord(part) ? sorted(part) : part));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(record);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
