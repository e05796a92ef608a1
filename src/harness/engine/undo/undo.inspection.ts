import { Injectable } from '@nestjs/common';
import { ToolError } from '../../fault/tool.error.js';
import type { ToolErrorCode } from '../../fault/tool.error.js';
import type { Workspace } from '../../workspace/workspace.js';
import { BlobStore } from '../../change/blob.store.js';
import type { FileOperation, FileState } from '../../workspace/file-operation.js';
import { foldersOf, VacatedPaths } from '../../change/file-changes.js';
import { sameKept } from '../../change/net-change.js';
import type { ConflictReason, FileSelection, UndoConflict } from './undo.selection.js';

/** Largest content that is kept so that the undoing can be undone; what the workspace compares at most. */
const KEPT_BYTES = 64 * 1024 * 1024;

export interface InspectionTarget {
  readonly tenantId: string;
  readonly workspace: Workspace;
  /** Folders that the run has made: they are removed when they have become empty. */
  readonly madeFolders: ReadonlySet<string>;
}

/** A selection that can be carried out. No operation: the file is already as it is to be. */
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

const MESSAGES: Readonly<Record<ConflictReason, string>> = {
  CHANGED_SINCE: 'The file was changed since. Its present content would be lost.',
  CHANGED_BETWEEN: 'Somebody else changed the file between two changes of the run.',
  ORDER: 'Changes of one file are undone in the reverse order.',
  NOT_RESTORABLE:
    'The content before the change was not kept, because it is a secret or too large.',
  CONTENT_LOST: 'The kept content was lost or is damaged.',
  LINK: 'A symbolic link is on the path or in the place of the file. Remove it first.',
  HARD_LINK: 'The file has a second name (a hard link), so a change could reach a file elsewhere.',
  NOT_A_FILE: 'Something else than a file is in its place. Move it away first.',
  TOO_LARGE:
    'The file is larger than 64 MiB now, and such files are not compared. Move it away first.',
  NOT_READABLE:
    'The service cannot read the file or its folder. Correct their permissions, or move them away first.',
  PROTECTED: 'The file belongs to git and is never changed.',
  NOT_CHECKED:
    'Looking at the changed files took too long, and this one was not looked at. Ask for its changes alone.',
};

/** The target, and what is so far known of all that is to be done there. */
interface Place extends InspectionTarget {
  readonly vacated: VacatedPaths;
  /** Their files are at one end of the undo where folders of others are at its other end. */
  readonly paths: ReadonlySet<string>;
}

/** Looks at the files of a workspace to see what can be undone or redone. Changes nothing. */
@Injectable()
export class UndoInspection {
  constructor(private readonly blobs: BlobStore) {}

  /**
   * In the order in which they are to be done: what an earlier one removes is not in the way of a later one. What is not
   * looked at when the signal aborts is a conflict.
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
    const paths = new Set(selections.map(({ path }) => path));
    const place = { ...target, vacated: new VacatedPaths(), paths };
    for (const selection of selections) {
      const found = await this.lookWithin(place, selection, signal);
      if (typeof found === 'string') conflicts.push(conflictOf(selection, found));
      else ready.push({ selection, operation: found });
      if (typeof found === 'object' && !found.after) place.vacated.add(found);
    }
    return { ready, conflicts };
  }

  /** Keeps what is in the files now, so that what is about to happen can be taken back. */
  async keep(
    { tenantId, workspace }: InspectionTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const { path, before } of operations) {
      if (!before || (await this.blobs.has(tenantId, before.sha256))) continue;
      const { bytes } = await workspace.read(path, { limitBytes: KEPT_BYTES, signal });
      await this.blobs.put(tenantId, bytes);
    }
  }

  private async lookWithin(
    place: Place,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<ConflictReason | FileOperation | undefined> {
    try {
      signal.throwIfAborted();
      return await this.look(place, selection, signal);
    } catch (error) {
      if (signal.aborted) return 'NOT_CHECKED';
      throw error;
    }
  }

  private async look(
    place: Place,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<ConflictReason | FileOperation | undefined> {
    const { tenantId } = place;
    const { path, wanted, restorable } = selection;
    if (place.workspace.classify(path).protection === 'GIT') return 'PROTECTED';
    let found: FileState | null;
    try {
      found = await stateOf(place, path, signal);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      // Where a file is in the place of its folder, it is not there.
      if (error.code === 'NOT_A_FOLDER' && !wanted) return undefined;
      return REASONS[error.code] ?? 'CHANGED_SINCE';
    }
    if (sameKept(found, wanted)) return undefined;
    if (!restorable) return 'NOT_RESTORABLE';
    if (!sameKept(found, selection.expected)) return 'CHANGED_SINCE';
    const size = wanted && (await this.blobs.sizeOf(tenantId, wanted.sha256));
    if (size === undefined) return 'CONTENT_LOST';
    const after = wanted && { ...wanted, size: size ?? 0 };
    return operationOf(place, { path, before: found, after });
  }
}

function conflictOf(
  { path, changes }: Pick<FileSelection, 'path' | 'changes'>,
  reason: ConflictReason,
): UndoConflict {
  return { path, changeIds: changes.map(({ id }) => id), reason, message: MESSAGES[reason] };
}

/** HARD_LINK for a file with a second name; the errors of `Workspace.state` otherwise. */
async function stateOf(
  { workspace, vacated }: Place,
  path: string,
  signal: AbortSignal,
): Promise<FileState | null> {
  const state = await vacated.state(workspace, path, signal);
  if (!state) return null;
  const links = await workspace.withFile(path, async ({ stats }) => stats.nlink);
  if (links > 1) throw new ToolError('HARD_LINK', MESSAGES.HARD_LINK);
  return state;
}

function operationOf(
  { madeFolders, paths }: Place,
  { path, before, after }: Pick<FileOperation, 'path' | 'before' | 'after'>,
): FileOperation {
  const op = before ? (after ? 'UPDATE' : 'DELETE') : 'CREATE';
  const folders = foldersOf(path);
  const atFile = folders.findLastIndex((folder) => paths.has(folder));
  const kept = folders.findIndex((folder, index) => index > atFile && !madeFolders.has(folder));
  const count = kept < 0 ? folders.length : kept;
  return { path, op, before, after, restorable: true, ...(count > 0 && { madeFolders: count }) };
}
