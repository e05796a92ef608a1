import { createHash } from 'node:crypto';
import type { FileOperation } from './effect.state.js';

export const DECISIONS = ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'] as const;
/** APPROVE_SESSION also grants the same path, or the same exact command, for the rest of the session. */
export type Decision = (typeof DECISIONS)[number];

/** Decisions available to a person. */
export function availableDecisions(grantable: boolean): readonly Decision[] {
  return DECISIONS.filter((decision) => grantable || decision !== 'APPROVE_SESSION');
}

export const APPROVAL_STATES = ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** Consents to the calls of a tool: `always` runs one at once, `ask` waits for a person to decide on it, `never` refuses it. */
export const CONSENTS = ['always', 'ask', 'never'] as const;
export type Consent = (typeof CONSENTS)[number];

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

export type GrantKind = 'PATH' | 'COMMAND' | 'TOOL';

/** Subject of a grant: a workspace path as tools normalise it, a command, character for character, or what identifies a tool. */
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

  /** Whether this tool, as it is now, may be called. */
  tool(subject: string): boolean {
    return this.has('TOOL', subject);
  }

  private has(kind: GrantKind, subject: string): boolean {
    return this.keys.has(`${kind} ${hashOf(subject)}`);
  }
}

export interface ApprovalSubject {
  readonly toolName: string;
  /** Input as the model wrote it. */
  readonly input: unknown;
  /** Planned changes of files; empty for all but file tools. */
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
  return hashOf(canonicalJson({ tool: toolName, input, files }));
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

/** SHA-256 of the text as UTF-8, lower-case hex. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
