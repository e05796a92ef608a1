import { ConflictError } from '../../../platform/error/index.js';
import type { UndoDirection } from '../../store/undo.repository.js';
import { sameKept, stateAfter, stateBefore } from '../../change/net-change.js';
import type { KeptState } from '../../change/net-change.js';
import type { HarnessFileChange } from '../../store/harness.entity.js';

export const CONFLICTS = [
  'CHANGED_SINCE',
  'CHANGED_BETWEEN',
  'ORDER',
  'NOT_RESTORABLE',
  'CONTENT_LOST',
  'LINK',
  'HARD_LINK',
  'NOT_A_FILE',
  'TOO_LARGE',
  'NOT_READABLE',
  'PROTECTED',
  'NOT_CHECKED',
] as const;
export type ConflictReason = (typeof CONFLICTS)[number];

/** Why changes of a file cannot be undone or redone. */
export interface UndoConflict {
  readonly path: string;
  readonly changeIds: readonly number[];
  readonly reason: ConflictReason;
  /** For people: what conflicts and what to do. */
  readonly message: string;
}

/** Nothing was changed; `conflicts` says file by file why. */
export class UndoConflictError extends ConflictError {
  constructor(message: string, conflicts: readonly UndoConflict[] = []) {
    super(message, { data: { errorCode: 'UNDO_CONFLICT', conflicts } });
  }

  static of(direction: UndoDirection, conflicts: readonly UndoConflict[]): UndoConflictError {
    return new UndoConflictError(
      `${conflicts.length} file(s) conflict with the ${direction}, and nothing was changed. Resolve the conflicts, or send force to leave these files out.`,
      conflicts,
    );
  }
}

/** Changes of one file that are taken back, or done again, in one step. */
export interface FileSelection {
  readonly path: string;
  /** Oldest first. */
  readonly changes: readonly HarnessFileChange[];
  /** How the file must be found. */
  readonly expected: KeptState | null;
  /** How the file is left. */
  readonly wanted: KeptState | null;
  /** False when the content that is wanted was never kept. */
  readonly restorable: boolean;
}

export interface Selections {
  /** In the order of execution. */
  readonly files: readonly FileSelection[];
  readonly conflicts: readonly UndoConflict[];
}

const MESSAGES: Readonly<Record<ConflictReason, string>> = {
  CHANGED_SINCE: 'The file was changed since. Its present content would be lost.',
  CHANGED_BETWEEN:
    'The file was changed by others between two changes of the run; undoing further would lose that change.',
  ORDER:
    'Later changes of a file are undone first, and earlier ones are redone first. Name all of them in one request.',
  NOT_RESTORABLE:
    'The content before the change was not kept, because it is a secret or too large.',
  CONTENT_LOST: 'The kept content was lost or is damaged.',
  LINK: 'A symbolic link is on the path or in the place of the file. Remove it first.',
  HARD_LINK: 'The file has a second name (a hard link), so a change could reach a file elsewhere.',
  NOT_A_FILE: 'Its path holds something other than a file. Move it away first.',
  TOO_LARGE:
    'The file is larger than 64 MiB now, and such files are not compared. Move it away first.',
  NOT_READABLE:
    'The service cannot read the file or its folder. Correct their permissions, or move them away first.',
  PROTECTED: 'The file belongs to git and is never changed.',
  NOT_CHECKED:
    'Checking the changed files took too long, and this file was not checked. Undo its changes alone.',
};

/**
 * What undoing, or redoing, the chosen changes of a run means for each file; the latest change is undone first, the
 * earliest is redone first. `changes` are all of the run, oldest first.
 */
export function selectionsOf(
  changes: readonly HarnessFileChange[],
  chosen: ReadonlySet<number>,
  direction: UndoDirection,
): Selections {
  const files: FileSelection[] = [];
  const conflicts: UndoConflict[] = [];
  for (const ofFile of Map.groupBy(changes, ({ path }) => path).values()) {
    // In the order of execution.
    const open =
      direction === 'undo'
        ? ofFile.filter(({ undone }) => !undone).reverse()
        : ofFile.filter(({ undone }) => undone);
    const wanted = open.filter(({ id }) => chosen.has(id));
    const ready = open.slice(0, wanted.length).filter(({ id }) => chosen.has(id));
    const first = ready[0];
    const isInOrder = ready.length === wanted.length;
    if (!isInOrder) conflicts.push(conflictOf(wanted, 'ORDER'));
    if (!first || !isInOrder) continue;
    const chain = contiguous(wanted, direction);
    const rest = wanted.slice(chain.length);
    if (rest.length > 0) conflicts.push(conflictOf(rest, 'CHANGED_BETWEEN'));
    files.push(selectionOf(chain, direction));
  }
  const orderOf = ({ changes: [first] }: FileSelection): number => first?.id ?? 0;
  const sign = direction === 'undo' ? -1 : 1;
  return { files: files.sort((a, b) => sign * (orderOf(a) - orderOf(b))), conflicts };
}

/** The changes up to the first one that does not follow from the one before. */
function contiguous(
  changes: readonly HarnessFileChange[],
  direction: UndoDirection,
): HarnessFileChange[] {
  const chain: HarnessFileChange[] = [];
  for (const change of changes) {
    const last = chain.at(-1);
    const [earlier, later] = direction === 'undo' ? [change, last] : [last, change];
    if (earlier && later && !sameKept(stateAfter(earlier), stateBefore(later))) break;
    chain.push(change);
  }
  return chain;
}

function selectionOf(chain: readonly HarnessFileChange[], direction: UndoDirection): FileSelection {
  const oldestFirst = direction === 'undo' ? chain.toReversed() : [...chain];
  const [first, last] = [oldestFirst[0], oldestFirst.at(-1)];
  const before = first ? stateBefore(first) : null;
  const after = last ? stateAfter(last) : null;
  const [expected, wanted] = direction === 'undo' ? [after, before] : [before, after];
  return {
    ...{ path: first?.path ?? '', changes: oldestFirst, expected, wanted },
    restorable: direction === 'redo' || (first?.restorable ?? false),
  };
}

/** All changes of one file that conflict for the same reason. */
export function conflictOf(
  changes: readonly HarnessFileChange[],
  reason: ConflictReason,
): UndoConflict {
  const changeIds = changes.map(({ id }) => id).sort((a, b) => a - b);
  return { path: changes[0]?.path ?? '', changeIds, reason, message: MESSAGES[reason] };
}
