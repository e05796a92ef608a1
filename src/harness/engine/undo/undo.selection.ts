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
  /** For people: what is in the way and what to do. */
  readonly message: string;
}

/** Changes of one file that are taken back, or done again, in one step. */
export interface FileSelection {
  readonly path: string;
  /** Oldest first. */
  readonly changes: readonly HarnessFileChange[];
  /** How the file must be found. */
  readonly expected: KeptState | null;
  /** How it is to be. */
  readonly wanted: KeptState | null;
  /** False when the content that is wanted was never kept. */
  readonly restorable: boolean;
}

export interface Selections {
  /** In the order in which they are to be done. */
  readonly files: readonly FileSelection[];
  readonly conflicts: readonly UndoConflict[];
}

const ORDER = {
  undo: 'A later change of this file by the run is not undone yet. Undo that one first, or both together.',
  redo: 'An earlier change of this file by the run is not redone yet. Redo that one first, or both together.',
} as const;

/**
 * What undoing, or redoing, the chosen changes of a run comes to, file by file; the latest change is undone first, the
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
    // In the order in which they would have to be done.
    const open =
      direction === 'undo'
        ? ofFile.filter(({ undone }) => !undone).reverse()
        : ofFile.filter(({ undone }) => undone);
    const wished = open.filter(({ id }) => chosen.has(id));
    const ready = open.slice(0, wished.length).filter(({ id }) => chosen.has(id));
    const first = ready[0];
    const isInOrder = ready.length === wished.length;
    if (!isInOrder) conflicts.push(conflict(wished, 'ORDER', ORDER[direction]));
    if (!first || !isInOrder) continue;
    const chain = unbroken(wished, direction);
    const rest = wished.slice(chain.length);
    if (rest.length > 0) conflicts.push(conflict(rest, 'CHANGED_BETWEEN', BETWEEN));
    files.push(selectionOf(chain, direction));
  }
  const orderOf = ({ changes: [first] }: FileSelection): number => first?.id ?? 0;
  const sign = direction === 'undo' ? -1 : 1;
  return { files: files.sort((a, b) => sign * (orderOf(a) - orderOf(b))), conflicts };
}

const BETWEEN =
  'Somebody else changed this file between two changes of the run; going back beyond that would lose it.';

/** As many as follow from one another without anybody else's change in between. */
function unbroken(
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

function conflict(
  changes: readonly HarnessFileChange[],
  reason: ConflictReason,
  message: string,
): UndoConflict {
  const changeIds = changes.map(({ id }) => id).sort((a, b) => a - b);
  return { path: changes[0]?.path ?? '', changeIds, reason, message };
}
