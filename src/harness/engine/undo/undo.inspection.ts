import { Injectable } from '@nestjs/common';
import { WorkspaceSnapshots } from '../../change/snapshot/workspace.snapshots.js';
import type { HarnessEffect } from '../../store/harness.entity.js';
import { EffectRepository } from '../../store/effect.repository.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { ToolError } from '../../fault/tool.error.js';
import type { ToolErrorCode } from '../../fault/tool.error.js';
import type { Workspace } from '../../workspace/workspace.js';
import { BlobStore } from '../../change/blob.store.js';
import type { FileOperation, FileState } from '../../workspace/file-operation.js';
import { foldersOf, VacatedPaths } from '../../change/file-changes.js';
import { sameKept } from '../../change/net-change.js';
import { conflictOf } from './undo.selection.js';
import type { ConflictReason, FileSelection, UndoConflict } from './undo.selection.js';

/** Largest content that is kept for a later redo; the workspace compares no larger files. */
const KEPT_BYTES = 64 * 1024 * 1024;

export interface InspectionTarget {
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
    private readonly snapshots: WorkspaceSnapshots,
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
    const paths = new Set(selections.map(({ path }) => path));
    const place = { ...target, freed: new VacatedPaths(), paths };
    for (const selection of selections) {
      const found = await this.inspectWithin(place, selection, signal);
      if (typeof found === 'string') conflicts.push(conflictOf(selection.changes, found));
      else ready.push({ selection, operation: found });
      if (typeof found === 'object' && !found.after) place.freed.add(found);
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
      const { bytes } = await workspace.read(path, { limitBytes: KEPT_BYTES, signal });
      await this.blobs.put(tenantId, bytes);
    }
  }

  /** The folders above the selected files that were made by the calls that made the files. */
  async madeFolders(
    run: HarnessRun,
    selections: readonly FileSelection[],
  ): Promise<ReadonlySet<string>> {
    const calls = new Set(
      selections.flatMap(({ changes }) => changes.map(({ toolCallId }) => toolCallId)),
    );
    const made = new Set<string>();
    for (const effect of await this.effects.ofRun(run)) {
      if (!calls.has(effect.toolCallId)) continue;
      for (const folder of await this.madeBy(effect)) made.add(folder);
    }
    return made;
  }

  /** A command has made the folders that held no file in the snapshot before it. */
  private async madeBy(effect: HarnessEffect): Promise<readonly string[]> {
    const { effectClass, operations, tenantId, snapshotSha256 } = effect;
    const created = operations.filter(({ op }) => op === 'CREATE');
    if (created.length === 0) return [];
    if (effectClass !== 'SHELL') {
      return created.flatMap(({ path, madeFolders = 0 }) => foldersOf(path).slice(0, madeFolders));
    }
    const before = snapshotSha256 && (await this.snapshots.load(tenantId, snapshotSha256));
    if (!before) return [];
    const known = new Set(before.manifest.flatMap(({ path }) => foldersOf(path)));
    return created.flatMap(({ path }) => foldersOf(path)).filter((folder) => !known.has(folder));
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
    if (place.workspace.classify(path).protection === 'GIT') return 'PROTECTED';
    let found: FileState | null;
    try {
      found = await stateOf(place, path, signal);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      // Where its folder is a file, the file does not exist.
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

/** HARD_LINK for a file with a second name; the errors of `Workspace.state` otherwise. */
async function stateOf(
  { workspace, freed }: Place,
  path: string,
  signal: AbortSignal,
): Promise<FileState | null> {
  const state = await freed.state(workspace, path, signal);
  if (!state) return null;
  const links = await workspace.withFile(path, async ({ stats }) => stats.nlink);
  if (links > 1) throw new ToolError('HARD_LINK', 'The file has a second name.');
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
