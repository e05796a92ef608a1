import { Injectable } from '@nestjs/common';
import { ConflictError } from '../../../platform/error/index.js';
import type { Message } from '../../../platform/message/index.js';
import { english, msg } from '../../../platform/message/index.js';
import { BlobStore } from '../../change/blob.store.js';
import {
  foldersOf,
  sameKept,
  stateAfter,
  stateBefore,
  VacatedPaths,
} from '../../change/file-changes.js';
import type { KeptState } from '../../change/file-changes.js';
import { ToolError, kindOf } from '../../protocol/tool-call.js';
import type { ToolErrorCode } from '../../protocol/tool-call.js';
import type { FileOperation, FileState } from '../../../effect/index.js';
import { EffectRepository } from '../../../effect/index.js';
import type { UndoDirection } from '../../store/file-change.repository.js';
import type { HarnessFileChange, HarnessRun } from '../../store/harness.entity.js';
import type { Workspace } from '../../workspace/workspace.js';

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

/** Reasons why changes of a file cannot be undone or redone. */
export interface UndoConflict {
  readonly path: string;
  readonly changeIds: readonly number[];
  readonly reason: ConflictReason;
  /** Text for people: what conflicts and what to do. */
  readonly message: Message;
}

/** Nothing was changed; `conflicts` says file by file why. */
export class UndoConflictError extends ConflictError {
  constructor(message: Message, conflicts: readonly UndoConflict[] = []) {
    const views = conflicts.map((conflict) => ({
      ...conflict,
      message: english(conflict.message),
    }));
    super(message, { data: { errorCode: 'UNDO_CONFLICT', conflicts: views } });
  }

  /** `othersReady`: force would leave some files to change. */
  static of(
    direction: UndoDirection,
    conflicts: readonly UndoConflict[],
    { othersReady }: { readonly othersReady: boolean },
  ): UndoConflictError {
    const what = othersReady
      ? msg`${conflicts.length} file(s) conflict with the ${phraseOf(direction)}, and nothing was changed. Resolve the conflicts, or send force to leave these files out.`
      : msg`Every file of the ${phraseOf(direction)} conflicts (${conflicts.length}), and nothing was changed. force leaves out files that conflict, and no other is left. Resolve the conflicts.`;
    return new UndoConflictError(what, conflicts);
  }
}

/** Changes of one file that are taken back, or done again, in one step. */
interface FileSelection {
  readonly path: string;
  /** Oldest first. */
  readonly changes: readonly HarnessFileChange[];
  /** State that the file must have before. */
  readonly expected: KeptState | null;
  /** State of the file afterwards. */
  readonly wanted: KeptState | null;
  /** False when the wanted content was never stored. */
  readonly restorable: boolean;
}

export interface Selections {
  /** Changes in the order of execution. */
  readonly files: readonly FileSelection[];
  readonly conflicts: readonly UndoConflict[];
}

const MESSAGES: Readonly<Record<ConflictReason, Message>> = {
  CHANGED_SINCE: msg`The file was changed since. Its present content would be lost.`,
  CHANGED_BETWEEN: msg`The file was changed by others between two changes of the run; undoing further would lose that change.`,
  ORDER: msg`Later changes of a file are undone first, and earlier ones are redone first. Name all of them in one request.`,
  NOT_RESTORABLE: msg`The content before the change was not kept, because it is a secret or too large.`,
  CONTENT_LOST: msg`The kept content was lost or is damaged.`,
  LINK: msg`A symbolic link is on the path or in the place of the file. Remove it first.`,
  HARD_LINK: msg`The file has a second name (a hard link), so a change could reach a file elsewhere.`,
  NOT_A_FILE: msg`Its path holds something other than a file. Move it away first.`,
  TOO_LARGE: msg`The file is larger than 64 MiB now, and such files are not compared. Move it away first.`,
  NOT_READABLE: msg`The service cannot read the file or its folder. Correct their permissions, or move them away first.`,
  PROTECTED: msg`The file belongs to git and is never changed.`,
  NOT_CHECKED: msg`Checking the changed files took too long, and this file was not checked. Undo its changes alone.`,
};

/**
 * Effect on each file of undoing or redoing the selected changes of a run. The latest change is undone first, the
 * earliest is redone first. `changes` are all changes of the run, oldest first.
 */
export function selectionsOf(
  changes: readonly HarnessFileChange[],
  chosen: ReadonlySet<number>,
  direction: UndoDirection,
): Selections {
  const files: FileSelection[] = [];
  const conflicts: UndoConflict[] = [];
  for (const ofFile of Map.groupBy(changes, ({ path }) => path).values()) {
    // Changes in the order of execution.
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
    path: first?.path ?? '',
    changes: oldestFirst,
    expected,
    wanted,
    restorable: direction === 'redo' || (first?.restorable ?? false),
  };
}

/** Whether the changes come to nothing, such as those of a file that the run has made and removed. */
export function isNoChange({ expected, wanted }: FileSelection): boolean {
  return sameKept(expected, wanted);
}

/** Wording for a message. */
export function phraseOf(direction: UndoDirection): Message {
  return direction === 'undo' ? msg`undo` : msg`redo`;
}

/** All changes of one file that conflict for the same reason. */
function conflictOf(changes: readonly HarnessFileChange[], reason: ConflictReason): UndoConflict {
  const changeIds = changes.map(({ id }) => id).sort((a, b) => a - b);
  return { path: changes[0]?.path ?? '', changeIds, reason, message: MESSAGES[reason] };
}

/** Maximum size of a content that is stored for a later redo; the workspace compares no larger files. */
const MAX_STORED_BYTES = 64 * 1024 * 1024;
const MAX_ENTRIES = 100_000;

interface InspectionTarget {
  readonly tenantId: string;
  readonly workspace: Workspace;
  /** Folders that the run has made: they are removed when they have become empty. */
  readonly madeFolders: ReadonlySet<string>;
}

/** A selection that can be executed. No operation: the file is already in the wanted state. */
export interface ReadyFile {
  readonly selection: FileSelection;
  readonly operation: FileOperation | undefined;
}

const REASONS: Readonly<Partial<Record<ToolErrorCode, ConflictReason>>> = {
  SYMLINK_ESCAPE: 'LINK',
  HARD_LINK: 'HARD_LINK',
  NOT_A_FILE: 'NOT_A_FILE',
  NOT_A_FOLDER: 'NOT_A_FILE',
  TOO_LARGE: 'TOO_LARGE',
  FAILED: 'NOT_READABLE',
};

/** The target, and what is known so far of the whole undo. */
interface Place extends InspectionTarget {
  readonly freed: VacatedPaths;
  /** All paths of the undo: one of them may be a folder on the way to another before or after it. */
  readonly paths: ReadonlySet<string>;
}

/** Inspects the files of a workspace to find what can be undone or redone. Changes nothing there. */
@Injectable()
export class UndoInspection {
  constructor(
    private readonly blobs: BlobStore,
    private readonly effects: EffectRepository,
  ) {}

  /**
   * Inspects the files in the order of execution: what an earlier one removes does not conflict with a later one. A file
   * that is not inspected when the signal aborts is a conflict.
   */
  async inspect(
    target: InspectionTarget,
    selections: readonly FileSelection[],
    signal: AbortSignal,
  ): Promise<{
    readonly ready: readonly ReadyFile[];
    readonly conflicts: readonly UndoConflict[];
  }> {
    const ready: ReadyFile[] = [];
    const conflicts: UndoConflict[] = [];
    const paths = new Set(selections.filter((one) => !isFolder(one)).map(({ path }) => path));
    const place = { ...target, freed: new VacatedPaths(), paths };
    for (const selection of selections) {
      const finding = await this.inspectWithin(place, selection, signal);
      if (typeof finding === 'string') conflicts.push(conflictOf(selection.changes, finding));
      else ready.push({ selection, operation: finding });
      if (typeof finding === 'object') place.freed.add(finding);
    }
    return { ready, conflicts };
  }

  /** Keeps the present contents of the files, so that the undo or redo can be reversed. */
  async keep(
    { tenantId, workspace }: InspectionTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const { path, before } of operations) {
      if (!before || (await this.blobs.has(tenantId, before.sha256))) continue;
      const { bytes } = await workspace.read(path, { limitBytes: MAX_STORED_BYTES, signal });
      await this.blobs.put(tenantId, bytes);
    }
  }

  /** The folders above the selected files that were made, or removed, by the calls that made or removed the files. */
  async madeFolders(
    run: HarnessRun,
    selections: readonly FileSelection[],
  ): Promise<ReadonlySet<string>> {
    const calls = new Set(
      selections.flatMap(({ changes }) => changes.map(({ toolCallId }) => toolCallId)),
    );
    const createdFolders = new Set<string>();
    for (const { path, count } of await this.effects.madeFolders(run, [...calls])) {
      for (const folder of foldersOf(path).slice(0, count)) createdFolders.add(folder);
    }
    return createdFolders;
  }

  private async inspectWithin(
    place: Place,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<ConflictReason | FileOperation | undefined> {
    try {
      signal.throwIfAborted();
      return await this.inspectFile(place, selection, signal);
    } catch (error) {
      if (signal.aborted) return 'NOT_CHECKED';
      throw error;
    }
  }

  private async inspectFile(
    place: Place,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<ConflictReason | FileOperation | undefined> {
    const { tenantId } = place;
    const { path, wanted, restorable } = selection;
    // Whatever is there by now: the run has left the file as it had found it.
    if (isNoChange(selection)) return undefined;
    if (place.workspace.classify(path).protection === 'GIT') return 'PROTECTED';
    let current: FileState | null;
    try {
      current = await stateOf(place, selection, signal);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      // A file whose parent folder is a file does not exist.
      if (error.code === 'NOT_A_FOLDER' && !wanted) return undefined;
      return REASONS[error.code] ?? 'CHANGED_SINCE';
    }
    if (sameKept(current, wanted)) return undefined;
    if (!restorable) return 'NOT_RESTORABLE';
    if (!sameKept(current, selection.expected)) return 'CHANGED_SINCE';
    if (current && kindOf(current.mode) === 'folder' && !(await isVacated(place, selection))) {
      return 'CHANGED_SINCE';
    }
    const size = wanted && (await this.blobs.sizeOf(tenantId, wanted.sha256));
    if (size === undefined) return 'CONTENT_LOST';
    const after = wanted && { ...wanted, size: size ?? 0 };
    return operationOf(place, { path, before: current, after });
  }
}

/** HARD_LINK for a file with a second name; the errors of `Workspace.state` otherwise. */
async function stateOf(
  { workspace, freed }: Place,
  { path, expected: before, wanted: after }: FileSelection,
  signal: AbortSignal,
): Promise<FileState | null> {
  const state = await freed.state(workspace, { path, before, after }, signal);
  if (!state || kindOf(state.mode) !== 'file') return state;
  const links = await workspace.withFile(path, async ({ stats }) => stats.nlink);
  if (links > 1) throw new ToolError('HARD_LINK', 'The file has a second name.');
  return state;
}

/** Whether the folder can be removed, or stays: what is in it goes before it. */
async function isVacated(
  { workspace, freed }: Place,
  { path, wanted }: FileSelection,
): Promise<boolean> {
  if (wanted && kindOf(wanted.mode) === 'folder') return true;
  const pending = [path];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const { name, kind } of await workspace.entries(folder, MAX_ENTRIES)) {
      const below = `${folder}/${name}`;
      if (freed.has(below)) continue;
      if (kind !== 'folder') return false;
      pending.push(below);
    }
  }
  return true;
}

function isFolder({ expected, wanted }: FileSelection): boolean {
  return [expected, wanted].some((state) => state && kindOf(state.mode) === 'folder');
}

function operationOf(
  { madeFolders, paths }: Place,
  { path, before, after }: Pick<FileOperation, 'path' | 'before' | 'after'>,
): FileOperation {
  const op = before ? (after ? 'UPDATE' : 'DELETE') : 'CREATE';
  const folders = foldersOf(path);
  const atFile = folders.findLastIndex((folder) => paths.has(folder));
  const firstRemaining = folders.findIndex(
    (folder, index) => index > atFile && !madeFolders.has(folder),
  );
  const count = firstRemaining < 0 ? folders.length : firstRemaining;
  return { path, op, before, after, restorable: true, ...(count > 0 && { madeFolders: count }) };
}
