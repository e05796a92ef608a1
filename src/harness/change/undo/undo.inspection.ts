import { Injectable } from '@nestjs/common';
import { ToolError } from '../../tool/tool.error.js';
import type { ToolErrorCode } from '../../tool/tool.error.js';
import type { Workspace } from '../../workspace/workspace.js';
import { BlobStore } from '../blob.store.js';
import type { FileOperation, FileState } from '../file-operation.js';
import { sameKept } from '../net-change.js';
import { foldersOf } from './made.folders.js';
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
  PROTECTED: 'The file belongs to git and is never changed.',
  NOT_CHECKED: 'There are too many changed files to look at each. Ask for this one alone.',
};

/** Looks at the files of a workspace to see what can be undone or redone. Changes nothing. */
@Injectable()
export class UndoInspection {
  constructor(private readonly blobs: BlobStore) {}

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
    for (const selection of selections) {
      const found = await this.look(target, selection, signal);
      if (typeof found === 'string') conflicts.push(conflictOf(selection, found));
      else ready.push({ selection, operation: found });
    }
    return { ready, conflicts };
  }

  /** What is in the way of one selection; empty when it can be carried out. */
  async conflictsOf(
    target: InspectionTarget,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<readonly UndoConflict[]> {
    try {
      return (await this.inspect(target, [selection], signal)).conflicts;
    } catch (error) {
      if (signal.aborted) return [conflictOf(selection, 'NOT_CHECKED')];
      throw error;
    }
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

  private async look(
    target: InspectionTarget,
    selection: FileSelection,
    signal: AbortSignal,
  ): Promise<ConflictReason | FileOperation | undefined> {
    const { tenantId, workspace } = target;
    const { path, wanted, restorable } = selection;
    if (workspace.classify(path).protection === 'GIT') return 'PROTECTED';
    let found: FileState | null;
    try {
      found = await stateOf(workspace, path, signal);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      return REASONS[error.code] ?? 'CHANGED_SINCE';
    }
    if (sameKept(found, wanted)) return undefined;
    if (!restorable) return 'NOT_RESTORABLE';
    if (!sameKept(found, selection.expected)) return 'CHANGED_SINCE';
    const size = wanted && (await this.blobs.sizeOf(tenantId, wanted.sha256));
    if (size === undefined) return 'CONTENT_LOST';
    const after = wanted && { ...wanted, size: size ?? 0 };
    return operationOf(target, { path, before: found, after });
  }
}

export function conflictOf(
  { path, changes }: Pick<FileSelection, 'path' | 'changes'>,
  reason: ConflictReason,
): UndoConflict {
  return { path, changeIds: changes.map(({ id }) => id), reason, message: MESSAGES[reason] };
}

/** HARD_LINK for a file with a second name; the errors of `Workspace.state` otherwise. */
async function stateOf(
  workspace: Workspace,
  path: string,
  signal: AbortSignal,
): Promise<FileState | null> {
  const state = await workspace.state(path, signal);
  if (!state) return null;
  const links = await workspace.withFile(path, async ({ stats }) => stats.nlink);
  if (links > 1) throw new ToolError('HARD_LINK', MESSAGES.HARD_LINK);
  return state;
}

function operationOf(
  { madeFolders }: InspectionTarget,
  { path, before, after }: Pick<FileOperation, 'path' | 'before' | 'after'>,
): FileOperation {
  const op = before ? (after ? 'UPDATE' : 'DELETE') : 'CREATE';
  const folders = foldersOf(path);
  const kept = folders.findIndex((folder) => !madeFolders.has(folder));
  const count = kept < 0 ? folders.length : kept;
  return { path, op, before, after, restorable: true, ...(count > 0 && { madeFolders: count }) };
}
