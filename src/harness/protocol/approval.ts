import { sha256 } from './ids.js';

export const DECISIONS = ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'] as const;
/** APPROVE_SESSION also grants the same path, or the same exact command, for the rest of the session. */
export type Decision = (typeof DECISIONS)[number];

/** What a person may answer. */
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

/** What a call would do, as the server has read it from the arguments. */
export interface ApprovalPreview {
  /** The whole command, character for character; null for other calls. */
  readonly command: string | null;
  readonly files: readonly PreviewFile[];
  /** Unified, of all files; null for calls that change none. */
  readonly diff: string | null;
  readonly diffTruncated: boolean;
}

export type GrantKind = 'PATH' | 'COMMAND';

/** What a person may grant: a path of the workspace as tools normalise it, or a command, character for character. */
export interface GrantSubject {
  readonly kind: GrantKind;
  readonly subject: string;
}

/** What people have granted for one session, as it was when it was asked for. */
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
