/** Readers of event data. The client types it as a record only, so each reader extracts the fields that it needs. */
export type Data = Readonly<Record<string, unknown>>;

const DECISIONS = ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'] as const;
export type Decision = (typeof DECISIONS)[number];

const APPROVAL_STATES = ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED'] as const;
const RESOLUTIONS = ['EXECUTED', 'NOT_EXECUTED'] as const;
const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE'] as const;
const STEP_STATES = ['PENDING', 'IN_PROGRESS', 'DONE', 'SKIPPED'] as const;

interface PreviewFile {
  readonly path: string;
  readonly op: (typeof OPERATIONS)[number];
  readonly additions: number | null;
  readonly deletions: number | null;
}

/** A file that a call would change. */
export interface ApprovalFile extends PreviewFile {
  /** Size in bytes; null if there is no file. */
  readonly sizeBefore: number | null;
  readonly sizeAfter: number | null;
}

export interface FileChange extends PreviewFile {
  readonly diff: string;
  readonly diffTruncated: boolean;
}

/** A tool call. */
export interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly effectClass: string;
  readonly argumentsJson: string;
  readonly at: number;
  /** State of the call; RUNNING until it is completed. */
  readonly status: string;
  readonly error: boolean;
  readonly summary: string;
  readonly output: string | undefined;
  readonly exitCode: number | undefined;
  readonly artifactId: string | undefined;
  readonly durationMs: number | undefined;
  readonly files: readonly FileChange[];
}

type CallResult = Pick<
  Call,
  'status' | 'error' | 'summary' | 'output' | 'exitCode' | 'artifactId' | 'durationMs'
>;

export interface PlanStep {
  readonly id: string;
  readonly text: string;
  readonly status: (typeof STEP_STATES)[number];
}

export interface Plan {
  readonly taskId: string;
  readonly revision: number;
  readonly summary: string;
  readonly steps: readonly PlanStep[];
  readonly files: readonly string[];
  readonly risks: readonly string[];
  readonly state: 'DRAFT' | 'AWAITING_APPROVAL' | 'REVISION_REQUESTED' | 'APPROVED' | 'REPLACED';
  /** Reference that a decision must contain. */
  readonly hash: string | undefined;
  readonly feedback: string | undefined;
}

export interface Approval {
  readonly approvalId: string;
  readonly toolName: string;
  readonly summary: string;
  readonly modelDescription: string | null;
  readonly command: string | null;
  readonly files: readonly ApprovalFile[];
  readonly diff: string | null;
  readonly diffTruncated: boolean;
  readonly argumentsJson: string;
  readonly argumentsSha256: string;
  readonly expectedRevision: number;
  readonly expiresAt: number;
  readonly available: readonly Decision[];
  readonly notes: readonly string[];
  readonly at: number;
  readonly state: (typeof APPROVAL_STATES)[number];
  readonly decision: Decision | undefined;
  readonly note: string | undefined;
}

export interface Uncertain {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly title: string;
  readonly argumentsJson: string;
  readonly reason: string;
  readonly startedAt: number | undefined;
  readonly fileCount: number | undefined;
  readonly files: readonly { readonly path: string; readonly op: string }[];
  readonly artifactId: string | undefined;
  readonly resolution: (typeof RESOLUTIONS)[number] | undefined;
  readonly note: string | undefined;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cost: number | undefined;
  readonly contextUsed: number | undefined;
  readonly contextLimit: number | undefined;
}

/** Data of plan.created and plan.updated. */
export function planOf(data: Data): Omit<Plan, 'state' | 'hash' | 'feedback'> {
  return {
    taskId: text(data['taskId']),
    revision: Number(data['revision']),
    summary: text(data['summary']),
    steps: records(data['steps']).map((step) => ({
      id: text(step['id']),
      text: text(step['text']),
      status: oneOf(STEP_STATES, step['status']) ?? 'PENDING',
    })),
    files: texts(data['files']),
    risks: texts(data['risks']),
  };
}

/** Data of approval.requested and of an inbox entry. */
export function approvalOf(data: Data, at: number): Approval {
  return {
    approvalId: text(data['approvalId']),
    toolName: text(data['toolName']),
    summary: text(data['summary']),
    modelDescription: optionalText(data['modelDescription']) ?? null,
    command: optionalText(data['command']) ?? null,
    files: records(data['files']).map((file) => ({
      ...previewOf(file),
      sizeBefore: optionalNumber(file['sizeBefore']) ?? null,
      sizeAfter: optionalNumber(file['sizeAfter']) ?? null,
    })),
    diff: optionalText(data['diff']) ?? null,
    diffTruncated: data['diffTruncated'] === true,
    argumentsJson: text(data['argumentsJson']),
    argumentsSha256: text(data['argumentsSha256']),
    expectedRevision: Number(data['expectedRevision']),
    expiresAt: Number(data['expiresAt']),
    available: DECISIONS.filter((decision) => list(data['available']).includes(decision)),
    notes: texts(data['notes']),
    at,
    state: oneOf(APPROVAL_STATES, data['state']) ?? 'PENDING',
    decision: undefined,
    note: undefined,
  };
}

/** Data of approval.resolved and approval.expired. */
export function verdictOf(data: Data): Pick<Approval, 'state' | 'decision' | 'note'> {
  return {
    // Nothing is left to decide after either event.
    state: oneOf(APPROVAL_STATES, data['state']) ?? 'CANCELLED',
    decision: oneOf(DECISIONS, data['decision']),
    note: optionalText(data['note']),
  };
}

/** Data of effect.uncertain. A call that is not in the timeline is described by its tool. */
export function uncertainOf(data: Data, toolCallId: string, call?: Call): Uncertain {
  const toolName = text(data['toolName']);
  return {
    toolCallId,
    toolName,
    title: call?.title ?? toolName,
    argumentsJson: call?.argumentsJson ?? '',
    reason: text(data['reason']),
    startedAt: optionalNumber(data['startedAt']),
    fileCount: optionalNumber(data['fileCount']),
    files: records(data['files']).map(({ path, op }) => ({ path: text(path), op: text(op) })),
    artifactId: optionalText(data['artifactId']),
    resolution: undefined,
    note: undefined,
  };
}

/** Data of effect.resolved. */
export function resolutionOf(data: Data): Pick<Uncertain, 'resolution' | 'note'> {
  return {
    resolution: oneOf(RESOLUTIONS, data['resolution']),
    note: optionalText(data['note']),
  };
}

/** Data of tool.started. */
export function startedCallOf(data: Data, toolCallId: string, at: number): Call {
  return {
    toolCallId,
    toolName: text(data['toolName']),
    title: text(data['title']),
    description: optionalText(data['modelDescription']),
    effectClass: text(data['effectClass']),
    argumentsJson: text(data['argumentsJson']),
    at,
    status: 'RUNNING',
    error: false,
    summary: '',
    files: [],
    output: undefined,
    exitCode: undefined,
    artifactId: undefined,
    durationMs: undefined,
  };
}

/** Data of tool.completed. */
export function resultOf(data: Data): CallResult {
  return {
    status: text(data['status']),
    error: data['error'] === true,
    summary: text(data['summary']),
    output: optionalText(data['output']),
    exitCode: optionalNumber(data['exitCode']),
    artifactId: optionalText(data['artifactId']),
    durationMs: optionalNumber(data['durationMs']),
  };
}

/** Data of file.changed. */
export function changeOf(data: Data): FileChange {
  return {
    ...previewOf(data),
    diff: text(data['diff']),
    diffTruncated: data['diffTruncated'] === true,
  };
}

/** Data of usage.updated. */
export function usageOf(data: Data): Usage {
  return {
    inputTokens: Number(data['inputTokens']),
    outputTokens: Number(data['outputTokens']),
    cachedTokens: Number(data['cachedTokens']),
    cost: optionalNumber(data['cost']),
    contextUsed: optionalNumber(data['contextUsed']),
    contextLimit: optionalNumber(data['contextLimit']),
  };
}

/** Arguments of a call by name; empty if the model did not write an object. */
export function argumentsOf(json: string): Data {
  try {
    return records([JSON.parse(json)])[0] ?? {};
  } catch {
    return {};
  }
}

/** The command of a shell call; empty for other calls. */
export function commandIn(argumentsJson: string): string {
  return text(argumentsOf(argumentsJson)['command']);
}

function previewOf(data: Data): PreviewFile {
  return {
    path: text(data['path']),
    op: oneOf(OPERATIONS, data['op']) ?? 'UPDATE',
    additions: optionalNumber(data['additions']) ?? null,
    deletions: optionalNumber(data['deletions']) ?? null,
  };
}

export function text(value: unknown): string {
  return optionalText(value) ?? '';
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function texts(value: unknown): readonly string[] {
  return list(value).filter((one) => typeof one === 'string');
}

function records(value: unknown): readonly Data[] {
  return list(value).filter(
    (one): one is Data => typeof one === 'object' && one !== null && !Array.isArray(one),
  );
}

function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name | undefined {
  return names.find((name) => name === value);
}
