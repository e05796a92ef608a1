import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HarnessFileChange } from '../store/harness.entity.js';
import type { FileState } from '../workspace/file-operation.js';
import { inTurns } from '../protocol/turns.js';

/** A content by its hash, with the mode of FileState. */
export type KeptState = Pick<FileState, 'sha256' | 'mode'>;

/** What a net change needs of a recorded one. */
export type Recorded = Pick<
  HarnessFileChange,
  | 'path'
  | 'beforeSha256'
  | 'afterSha256'
  | 'beforeMode'
  | 'afterMode'
  | 'additions'
  | 'deletions'
  | 'restorable'
>;

/** What several changes of one file come to, one after the other. */
export interface NetChange<Change = Recorded> {
  readonly path: string;
  readonly op: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly before: KeptState | null;
  readonly after: KeptState | null;
  /** Whether the content before the first change was kept. */
  readonly restorable: boolean;
  /** Oldest first. */
  readonly changes: readonly Change[];
}

/** Totals of a run's changes. The etag is another one whenever the difference is. */
export interface DiffTotals {
  readonly files: number;
  readonly additions: number;
  readonly deletions: number;
  readonly etag: string;
}

export function stateBefore({ beforeSha256, beforeMode }: Recorded): KeptState | null {
  return beforeSha256 === null ? null : { sha256: beforeSha256, mode: beforeMode ?? 0o644 };
}

export function stateAfter({ afterSha256, afterMode }: Recorded): KeptState | null {
  return afterSha256 === null ? null : { sha256: afterSha256, mode: afterMode ?? 0o644 };
}

/** The same content and permissions. */
export function sameKept(one: KeptState | null, other: KeptState | null): boolean {
  return one?.sha256 === other?.sha256 && one?.mode === other?.mode;
}

/**
 * The changes file by file, ordered by path; a file that is at the end as it was at the beginning is left out. However many
 * changes a command has made, this does not block the process.
 */
export async function netChanges<Change extends Recorded>(
  changes: readonly Change[],
): Promise<NetChange<Change>[]> {
  const byPath = new Map<string, Change[]>();
  for await (const piece of inTurns(changes)) {
    for (const change of piece) {
      const ofPath = byPath.get(change.path);
      if (ofPath) ofPath.push(change);
      else byPath.set(change.path, [change]);
    }
  }
  const nets: NetChange<Change>[] = [];
  for await (const piece of inTurns([...byPath.values()])) {
    for (const ofPath of piece) {
      const net = netChangeOf(ofPath);
      if (net) nets.push(net);
    }
  }
  await nextTurn();
  // Mostly in order already, because the changes of a call are.
  return nets.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** What the changes of one file come to; undefined when it is as it was, or there are none. */
export function netChangeOf<Change extends Recorded>(
  changes: readonly Change[],
): NetChange<Change> | undefined {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last) return undefined;
  const [before, after] = [stateBefore(first), stateAfter(last)];
  if (sameKept(before, after)) return undefined;
  const op = before ? (after ? 'UPDATE' : 'DELETE') : 'CREATE';
  const { path, restorable } = first;
  return { path, op, before, after, restorable, changes };
}

export async function etagOf(nets: readonly NetChange<unknown>[]): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of inTurns(nets)) {
    hash.update(JSON.stringify(piece.map(({ path, before, after }) => [path, before, after])));
  }
  return hash.digest('hex');
}
