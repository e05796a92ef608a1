import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, IsOptional } from 'class-validator';
import { InvalidInputError } from '../../../platform/error/index.js';
import {
  decimal,
  flag,
  Input,
  integer,
  list,
  localized,
  Nested,
  nullable,
  object,
  OneOf,
  oneOf,
  optional,
  ruleText,
  schema,
  someOf,
  StrictFields,
  Text,
  text,
  texts,
  timestamp,
  uuid,
  View,
  Whole,
} from '../../../platform/http/index.js';
import { typeOf } from '../../../platform/storage/index.js';
import type { Message } from '../../../platform/message/index.js';
import { msg } from '../../../platform/message/index.js';
import {
  PERMISSION_MODES,
  planMarkdown,
  REVIEW_STATES,
  STEP_STATUSES,
  APPROVAL_POLICIES,
} from '../../protocol/policy.js';
import { INPUT_KINDS, RUN_STATUSES } from '../../protocol/run.state.js';
import type { RunBudget } from '../../protocol/run.state.js';
import { MAX_KEY_CHARS } from '../identifiers.js';
import type { Plan } from '../../protocol/policy.js';
import { APPROVAL_STATES, DECISIONS, availableDecisions } from '../../../effect/index.js';
import type { SessionGrant, RunApprovalRow, RunEffect } from '../../../effect/index.js';
import type { UncertainEffect, WaitingRun } from '../../store/inbox.repository.js';
import type { HarnessInput, HarnessRun } from '../../store/harness.entity.js';

/** Maximum length of a requirement or input. */
export const MAX_REQUIREMENT_CHARS = 200_000;

const IMAGE_DETAILS = ['auto', 'low', 'original', 'high', 'xhigh'] as const;
type ImageDetail = (typeof IMAGE_DETAILS)[number];

export const MAX_IMAGES = 5;
/** Maximum decoded size of all images of a run together. */
export const MAX_IMAGE_BYTES = 8 * 1024 * 1024;
/** Length of the longest data URL of an image within the limit. */
const MAX_DATA_URL_CHARS = Math.ceil(MAX_IMAGE_BYTES / 3) * 4 + 100;

/** Limits of the inputs that wait for a run. */
export const MAX_PENDING_INPUTS = 64;
export const MAX_PENDING_BYTES = 1024 * 1024;

const MINUTE_MS = 60_000;

const KEY = { max: MAX_KEY_CHARS, description: 'The same key with the same body is the same run' };

export class RunImageBody extends Input({
  dataUrl: Text({
    max: MAX_DATA_URL_CHARS,
    description: 'PNG, JPEG, GIF or WebP as a base64 data URL',
    example: 'data:image/png;base64,iVBORw0KGgo=',
  }),
  detail: OneOf(IMAGE_DETAILS, { optional: true, description: 'auto when not given' }),
}) {}

/** 0, or what is not given, is the server's limit; more than that is cut to it. */
export class RunBudgetBody extends Input({
  maxIterations: Whole({ optional: true, min: 0, description: 'Turns of the model' }),
  maxToolCalls: Whole({ optional: true, min: 0 }),
  maxInputTokens: Whole({ optional: true, min: 0 }),
  maxOutputTokens: Whole({ optional: true, min: 0 }),
  maxWallTimeMillis: Whole({
    optional: true,
    min: 0,
    description: 'Time at work; waiting does not count',
  }),
}) {}

/** Null means "not given", as for every other field. */
const NullIsNone = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => value ?? undefined);

function Images(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: [RunImageBody], required: false, description: '8 MiB in all at most' }),
    IsOptional(),
    IsArray({ message: ruleText(msg`images must be a list`) }),
    ArrayMaxSize(MAX_IMAGES, {
      message: ruleText(msg`images has more than ${MAX_IMAGES} entries`),
    }),
    Nested(() => RunImageBody, {
      each: true,
      message: msg`each entry of images must be an object`,
    }),
  );
}

function Budget(): PropertyDecorator {
  return applyDecorators(
    NullIsNone(),
    ApiProperty({ type: RunBudgetBody, required: false }),
    IsOptional(),
    IsObject({ message: ruleText(msg`budget must be an object`) }),
    Nested(() => RunBudgetBody, { message: msg`budget must be an object` }),
  );
}

@StrictFields()
export class CreateRunBody extends Input({
  requirement: Text({
    max: MAX_REQUIREMENT_CHARS,
    description: 'What is to be done',
    example: 'Fix add()',
  }),
  idempotencyKey: Text(KEY),
  model: Text({
    optional: true,
    max: 200,
    description: "modelName of a chat model that can call tools; the session's when not given",
    example: 'gpt-4o-mini',
  }),
  permissionMode: OneOf(PERMISSION_MODES, {
    optional: true,
    description: "Not more than the session's permissionMode, which counts when not given",
  }),
}) {
  @Images()
  images?: RunImageBody[];

  @Budget()
  budget?: RunBudgetBody;
}

export class RunListQuery extends Input({
  pageNum: Whole({ optional: true, min: 1, max: 1_000_000, description: 'Page, counted from 1' }),
  pageSize: Whole({ optional: true, min: 1, max: 200, description: 'Runs a page; 100 by default' }),
}) {}

@StrictFields()
export class RunInputBody extends Input({
  kind: OneOf(INPUT_KINDS, {
    description: 'STEER is taken in at the next step, FOLLOW_UP when the run would end',
  }),
  content: Text({ max: MAX_REQUIREMENT_CHARS }),
  idempotencyKey: Text({
    ...KEY,
    description: 'The same key with the same body is the same input',
  }),
}) {}

/** Maximum budget of any run on this server. */
export const SERVER_BUDGET: RunBudget = {
  maxIterations: 60,
  maxToolCalls: 400,
  maxInputTokens: 1_000_000,
  maxOutputTokens: 200_000,
  maxWallTimeMillis: 60 * MINUTE_MS,
};

/** Runs of all tenants that may wait for execution. */
export const RUN_QUEUE = { maxRuns: 256 };

/** The budget of a run: 0 and absent values mean the server's limit, and larger ones are cut to it. */
export function budgetOf(wanted: Partial<RunBudget>, limits: RunBudget): RunBudget {
  const within = (field: keyof RunBudget): number =>
    Math.min(wanted[field] || limits[field], limits[field]);
  return {
    maxIterations: within('maxIterations'),
    maxToolCalls: within('maxToolCalls'),
    maxInputTokens: within('maxInputTokens'),
    maxOutputTokens: within('maxOutputTokens'),
    maxWallTimeMillis: within('maxWallTimeMillis'),
  };
}

const OPENING = /^data:(image\/(?:png|jpeg|gif|webp));base64,/;
/** Searched for, because matching a text of megabytes as a whole would need a backtracking position per character. */
const NOT_BASE64 = /[^A-Za-z\d+/]/;

export interface RunImage {
  readonly mediaType: string;
  readonly bytes: Buffer;
  readonly detail: ImageDetail;
}

class ImageRefusedError extends InvalidInputError {
  constructor(errorCode: 'IMAGE_INVALID' | 'TOO_LARGE', message: Message) {
    super(message, { data: { errorCode } });
  }
}

/** The images of a requirement, decoded; an error where one is no such image, or all together are too large. */
export function readImages(images: readonly RunImageBody[]): RunImage[] {
  const read = images.map(({ dataUrl, detail = 'auto' }, index) => ({
    ...decoded(dataUrl, index),
    detail,
  }));
  const total = read.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (total > MAX_IMAGE_BYTES) {
    throw new ImageRefusedError(
      'TOO_LARGE',
      msg`The images have ${total} bytes together, and may have ${MAX_IMAGE_BYTES}. Send fewer or smaller ones.`,
    );
  }
  return read;
}

function decoded(dataUrl: string, index: number): Pick<RunImage, 'mediaType' | 'bytes'> {
  const [opening = '', mediaType] = OPENING.exec(dataUrl) ?? [];
  const base64 = dataUrl.slice(opening.length);
  const digits = base64.replace(/={1,2}$/, '');
  if (mediaType === undefined || digits === '' || NOT_BASE64.test(digits)) {
    throw refused(
      index,
      msg`must be a base64 data URL of image/png, image/jpeg, image/gif or image/webp`,
    );
  }
  const bytes = Buffer.from(base64, 'base64');
  // A text that decodes to something else than it says is cut or damaged.
  if (bytes.toString('base64') !== base64) throw refused(index, msg`is not base64 throughout`);
  const actualType = typeOf(bytes, '');
  if (actualType !== mediaType)
    throw refused(index, msg`says ${mediaType}, but holds ${actualType}`);
  return { mediaType, bytes };
}

function refused(index: number, problem: Message): ImageRefusedError {
  return new ImageRefusedError('IMAGE_INVALID', msg`images[${index}].dataUrl ${problem}.`);
}

export class PlanStepView extends View({
  id: text({ example: 's1' }),
  text: text(),
  status: oneOf(STEP_STATUSES),
  added: flag({ description: 'Put in after the approval; it allows nothing' }),
}) {}

/** The plan of a run with its progress, and everything that a decision about it needs. */
export class PlanView extends View({
  taskId: uuid(),
  revision: integer({ example: 1, description: 'Of the plan: its version' }),
  expectedRevision: integer({ example: 1, description: 'The same; a decision names it' }),
  canonicalHash: text({ description: 'A decision names it' }),
  reviewState: oneOf(REVIEW_STATES),
  summary: text(),
  steps: list(PlanStepView),
  files: texts({ description: 'Paths that the plan allows to create and edit' }),
  risks: texts(),
  planMarkdown: text({
    description: 'The plan as a person reads it; all text of the model is escaped',
  }),
}) {}

export function toPlanView(plan: Plan): PlanView {
  return PlanView.of({
    ...plan,
    expectedRevision: plan.revision,
    steps: stepViews(plan),
    planMarkdown: planMarkdown(plan),
  });
}

export function stepViews({ steps }: Plan): PlanStepView[] {
  return steps.map(({ id, text, status, added = false }) => ({ id, text, status, added }));
}

/** A file that a call would change. */
export class PreviewFileView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(['CREATE', 'UPDATE', 'DELETE']),
  additions: nullable(integer({ description: 'Lines; null for what is no text' })),
  deletions: nullable(integer({ description: 'Lines; null for what is no text' })),
  sizeBefore: nullable(integer({ description: 'Bytes; null where there is no file' })),
  sizeAfter: nullable(integer({ description: 'Bytes; null where there is no file' })),
}) {}

const previewFields = {
  modelDescription: nullable(
    text({ description: "The model's own words about the call: not checked, nothing to rely on" }),
  ),
  command: nullable(text({ description: 'The whole command' })),
  files: list(PreviewFileView, { description: 'The files that it would change' }),
  diff: nullable(text({ description: 'What it would change in them: unified, at most 64 KiB' })),
  diffTruncated: flag({ description: 'The diff is cut; argumentsJson holds all of the change' }),
};

/** A tool call that waits for, or got, the consent of a person, with everything that a decision needs. */
export class ApprovalView extends View({
  kind: oneOf<'TOOL'>(['TOOL']),
  approvalId: uuid(),
  sessionId: uuid(),
  runId: uuid(),
  toolCallId: uuid(),
  toolName: text({ example: 'edit_file' }),
  summary: text({
    example: 'run npm test',
    description: 'One line, made by the server from the arguments',
  }),
  ...previewFields,
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({
    description: 'SHA-256 of the bytes of argumentsJson; a decision names it',
  }),
  expectedRevision: integer({ example: 1, description: 'A decision names it' }),
  state: oneOf(APPROVAL_STATES),
  available: someOf(DECISIONS, { description: 'What may be decided' }),
  notes: texts({ description: 'What the approver should know' }),
  decision: nullable(oneOf(DECISIONS)),
  note: nullable(text()),
  decidedBy: nullable(integer({ description: 'Id of the user who decided' })),
  decidedAt: nullable(integer({ description: 'Milliseconds since the epoch' })),
  expiresAt: integer({ description: 'Milliseconds since the epoch' }),
  createdAt: integer({ description: 'Milliseconds since the epoch' }),
}) {}

export function toApprovalView(row: RunApprovalRow): ApprovalView {
  return ApprovalView.of({
    ...row,
    ...row.preview,
    notes: row.notes.map((note) => localized(note)),
    files: [...row.preview.files],
    kind: 'TOOL',
    approvalId: row.id,
    expectedRevision: row.revision,
    available: row.state === 'PENDING' ? availableDecisions(row.grantable) : [],
    createdAt: row.createTime,
  });
}

/** A consent that holds for the rest of the session. */
export class GrantView extends View({
  grantId: text({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d70' }),
  sessionId: text({ example: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d71' }),
  kind: oneOf(['PATH', 'COMMAND']),
  subject: text({
    example: 'src/add.js',
    description: 'The path that may be written, or the exact command that may be run',
  }),
  approvalId: text({ description: 'The approval that granted it' }),
  grantedBy: integer({ example: 1, description: 'Id of the user who granted it' }),
  createdAt: integer({ description: 'Milliseconds since the epoch' }),
}) {}

export function toGrantView(grant: SessionGrant): GrantView {
  return GrantView.of({ ...grant, grantId: grant.id, createdAt: grant.createTime });
}

export class RunErrorView extends View({
  code: text({ example: 'uncertain_tool_effect' }),
  message: text(),
}) {}

export class RunUsageView extends View({
  inputTokens: integer({ description: 'Cached tokens included' }),
  outputTokens: integer(),
  totalTokens: integer(),
  cachedTokens: integer(),
}) {}

export const runLimits = {
  maxIterations: integer({ description: 'Turns of the model' }),
  maxToolCalls: integer(),
  maxInputTokens: integer(),
  maxOutputTokens: integer(),
  maxWallTimeMillis: integer({ description: 'Time at work; waiting does not count' }),
};

export class RunLimitsView extends View(runLimits) {}

export class RunQuestionView extends View({
  toolCallId: uuid(),
  text: text(),
  options: texts(),
}) {}

export class RunInputView extends View({
  inputId: uuid(),
  kind: oneOf(INPUT_KINDS),
  content: text(),
  createdAt: timestamp(),
}) {}

/** A tool call whose outcome is not settled. */
export class OpenEffectView extends View({
  toolCallId: uuid(),
  toolName: text({ example: 'shell' }),
  effectClass: oneOf(['READ', 'META', 'FILE', 'SHELL']),
  state: oneOf(['PREPARED', 'STARTED', 'UNCERTAIN']),
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({ description: 'SHA-256 of the bytes of argumentsJson' }),
  startedAt: nullable(timestamp()),
}) {}

const SCHEMA_VERSION = 7;
/** Records that a view shows beside the run's row. */
export interface RunParts {
  readonly inputs: readonly HarnessInput[];
  readonly approvals: readonly RunApprovalRow[];
  readonly effects: readonly RunEffect[];
}

/** A run as existing clients parse it; times are milliseconds since the epoch. */
@ApiExtraModels(ApprovalView, OpenEffectView)
export class RunView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  runId: uuid(),
  sessionId: uuid(),
  tenantId: text({ example: '000000' }),
  userId: integer({ example: 1 }),
  status: oneOf(RUN_STATUSES),
  phase: oneOf(['PLAN', 'BUILD']),
  recovering: flag({ description: 'A new owner settles what a lost one has left' }),
  cancellationRequested: flag(),
  reason: nullable(text({ description: 'Why it waits', example: 'created' })),
  originalRequirement: text(),
  permissionMode: oneOf(PERMISSION_MODES),
  approvalPolicy: oneOf(APPROVAL_POLICIES),
  model: text({ description: 'modelName', example: 'gpt-4o-mini' }),
  budget: object(RunLimitsView),
  plan: nullable(object(PlanView)),
  question: nullable(object(RunQuestionView)),
  pendingInputs: list(RunInputView, {
    description:
      'What it has not taken in yet or, when it has ended, never will; in a list of runs only of the unfinished one',
  }),
  approvals: schema<Readonly<Record<string, ApprovalView>>>({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ApprovalView) },
    description: 'What waits for a decision, by approvalId',
  }),
  toolEffects: schema<Readonly<Record<string, OpenEffectView>>>({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(OpenEffectView) },
    description: 'Tool calls that are open or uncertain, by toolCallId',
  }),
  cumulativeUsage: object(RunUsageView, {
    description: 'While the model is asked, with an estimate of what it was sent',
  }),
  cost: nullable(decimal({ description: 'Null where no price is known' })),
  contextUsed: nullable(integer({ description: 'Tokens of the last request' })),
  contextLimit: nullable(
    integer({
      description:
        "Tokens that may be sent: the model's window without room for its answer, or less once the service has refused a request as too long.",
    }),
  ),
  iteration: integer({ description: 'Turns of the model so far' }),
  toolCallCount: integer(),
  stopReason: nullable(text({ example: 'END_TURN' })),
  error: nullable(object(RunErrorView)),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  endedAt: nullable(timestamp()),
  revision: integer({ example: 1 }),
  lastEventSequence: integer({ description: 'Number of the newest event', example: 2 }),
  replayed: optional(flag({ description: 'The request was a repetition' })),
  traceId: nullable(
    text({
      example: '4bf92f3577b34da6a3ce929d0e0e4736',
      description: 'The trace of the run, where the operator records traces',
    }),
  ),
}) {}

/** The run after a cancel. */
export class CancelledRunView extends RunView {
  @ApiProperty({ description: 'False: it had ended, or was being cancelled already' })
  changed: boolean;
}

export function toRunView(run: HarnessRun, parts: RunParts): RunView {
  const { inputTokens, outputTokens, cachedTokens, errorCode, errorMessage } = run;
  const totalTokens = inputTokens + outputTokens;
  return RunView.of({
    ...run,
    schemaVersion: SCHEMA_VERSION,
    runId: run.id,
    cancellationRequested: run.cancelRequestedAt !== null,
    originalRequirement: run.requirement,
    model: run.modelName,
    plan: run.plan && toPlanView(run.plan),
    pendingInputs: parts.inputs.map((input) =>
      RunInputView.of({ ...input, inputId: input.id, createdAt: input.createTime }),
    ),
    approvals: Object.fromEntries(parts.approvals.map((one) => [one.id, toApprovalView(one)])),
    toolEffects: Object.fromEntries(
      parts.effects.map((one) => [one.toolCallId, OpenEffectView.of(one)]),
    ),
    cumulativeUsage: { inputTokens, outputTokens, totalTokens, cachedTokens },
    toolCallCount: run.toolCalls,
    error: errorCode === null ? null : { code: errorCode, message: localized(errorMessage) ?? '' },
    createdAt: run.createTime,
    updatedAt: run.updateTime,
    lastEventSequence: run.nextEventSequence - 1,
    traceId: traceIdOf(run.traceparent),
  });
}

/** The trace id of a sampled `traceparent`. */
function traceIdOf(traceparent: string | null): string | null {
  return /^00-([\da-f]{32})-[\da-f]{16}-01$/.exec(traceparent ?? '')?.[1] ?? null;
}

/** Maximum size of all diffs of an inbox. */
const MAX_DIFF_BYTES = 2 * 1024 * 1024;

const KINDS = ['TOOL', 'PLAN', 'QUESTION', 'EFFECT', 'PROVIDER'] as const;

/**
 * Something that waits for a person, with everything that acting on it needs. Which fields it has says `kind`: TOOL for
 * …/approvals/{approvalId}/resolve, PLAN for …/plan/approve and …/plan/revision, QUESTION for …/inputs with kind STEER,
 * EFFECT for …/effects/{toolCallId}/resolution, PROVIDER for …/resume once the model service is back, or …/cancel.
 */
export class InboxEntryView extends View({
  kind: oneOf<(typeof KINDS)[number]>(KINDS),
  sessionId: uuid(),
  runId: uuid(),
  waitingSince: integer({ description: 'Milliseconds since the epoch' }),
  approvalId: optional(uuid({ description: 'TOOL' })),
  toolCallId: optional(uuid({ description: 'TOOL, QUESTION, EFFECT' })),
  toolName: optional(text({ description: 'TOOL, EFFECT' })),
  summary: optional(text({ description: 'TOOL: one line, made by the server from the arguments' })),
  modelDescription: optional(
    nullable(text({ description: "TOOL: the model's own words about the call, not checked" })),
  ),
  command: optional(nullable(text({ description: 'TOOL: the whole command' }))),
  files: optional(list(PreviewFileView, { description: 'TOOL: the files that it would change' })),
  diff: optional(
    nullable(text({ description: 'TOOL: what it would change in them; see diffTruncated' })),
  ),
  diffTruncated: optional(
    flag({ description: 'TOOL: the diff is cut, or left out of a long inbox; see …/approvals' }),
  ),
  argumentsJson: optional(text({ description: 'TOOL, EFFECT: as the model wrote them' })),
  argumentsSha256: optional(text({ description: 'TOOL: SHA-256 of the bytes of argumentsJson' })),
  state: optional(text({ description: 'TOOL: always PENDING' })),
  available: optional(someOf(DECISIONS, { description: 'TOOL' })),
  notes: optional(texts({ description: 'TOOL: what one should know' })),
  expiresAt: optional(integer({ description: 'TOOL: milliseconds' })),
  expectedRevision: optional(integer({ description: 'TOOL, PLAN' })),
  taskId: optional(uuid({ description: 'PLAN' })),
  canonicalHash: optional(text({ description: 'PLAN: the expectedHash of a decision' })),
  reviewState: optional(text({ description: 'PLAN: always AWAITING_APPROVAL' })),
  planMarkdown: optional(text({ description: 'PLAN: all of it for people' })),
  question: optional(text({ description: 'QUESTION' })),
  options: optional(texts({ description: 'QUESTION: possible answers' })),
  startedAt: optional(nullable(integer({ description: 'EFFECT' }))),
  artifactId: optional(nullable(text({ description: 'EFFECT: its output' }))),
  error: optional(object(RunErrorView, { description: 'PROVIDER: why it waits' })),
}) {}

/** The diffs of the first entries are shown, up to 2 MiB in all. */
export function toolEntries(rows: readonly RunApprovalRow[]): InboxEntryView[] {
  let remainingBytes = MAX_DIFF_BYTES;
  return rows.map((row) => {
    const view = toApprovalView(row);
    remainingBytes -= Buffer.byteLength(view.diff ?? '');
    const diff = remainingBytes >= 0 ? {} : { diff: null, diffTruncated: true };
    return InboxEntryView.of({ ...view, ...diff, waitingSince: view.createdAt });
  });
}

export function effectEntry(effect: UncertainEffect): InboxEntryView {
  return InboxEntryView.of({ ...effect, kind: 'EFFECT' });
}

/** Inbox entries of the run itself: a review of its plan, a question, or its unavailable model service. */
export function runEntries(run: WaitingRun): InboxEntryView[] {
  const { id: runId, sessionId, waitingSince, waitKind, plan, question } = run;
  const entry = { sessionId, runId, waitingSince };
  if (waitKind === 'PLAN' && plan) {
    const { summary: _, files: _files, ...view } = toPlanView(plan);
    return [InboxEntryView.of({ ...entry, ...view, kind: 'PLAN' })];
  }
  if (waitKind === 'QUESTION' && question) {
    const { toolCallId, text, options } = question;
    const questionFields = { toolCallId, question: text, options };
    return [InboxEntryView.of({ ...entry, ...questionFields, kind: 'QUESTION' })];
  }
  if (waitKind !== 'PROVIDER') return [];
  const error = { code: run.errorCode ?? '', message: localized(run.errorMessage) ?? '' };
  return [InboxEntryView.of({ ...entry, error, kind: 'PROVIDER' })];
}
