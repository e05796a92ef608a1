import { Injectable } from '@nestjs/common';
import { RollBackFailedError, ToolError } from '../fault/tool.error.js';
import type { FilesFound } from '../protocol/effect.state.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { FileOperation, FileState, PlannedFile } from '../workspace/file-operation.js';
import type { Workspace } from '../workspace/workspace.js';
import { BlobStore } from './blob.store.js';
import { ChangeRecords } from './change-records.js';
import type { DescribedChanges } from './change-records.js';
import type { DiffTotals } from './net-change.js';

/** How long putting files back may take, whatever has stopped the change. */
const ROLL_BACK_MS = 60_000;

export interface ChangeTarget {
  readonly tenantId: string;
  readonly workspace: Workspace;
}

/** Carries out changes of files that were written down before, finds out how far they have come, and takes them back. */
@Injectable()
export class FileChanges {
  constructor(
    private readonly blobs: BlobStore,
    private readonly records: ChangeRecords,
  ) {}

  /** Keeps the contents that the operations and their undoing need. Call it before the operations are written down. */
  async keep(tenantId: string, files: readonly PlannedFile[]): Promise<void> {
    for (const { beforeContent, afterContent } of files) {
      if (beforeContent) await this.blobs.put(tenantId, beforeContent);
      if (afterContent) await this.blobs.put(tenantId, afterContent);
    }
  }

  /**
   * Carries the operations out, one after the other. ToolError with nothing changed when a file is not as it was before
   * (CHANGED_MEANWHILE), is reached over a link, or cannot be written: what was done until then is taken back.
   * RollBackFailedError when that failed, too: then only `find` can say what has happened.
   */
  async apply(
    target: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.verify(target, operations, signal);
    const begun: FileOperation[] = [];
    try {
      for (const operation of operations) {
        signal.throwIfAborted();
        begun.push(operation);
        await this.move(target, operation, { to: 'after', signal });
      }
    } catch (error) {
      await this.takeBack(target, begun, error);
      throw error;
    }
  }

  /**
   * How the files are found once no process executes the operations any more; what an interrupted write has left beside
   * them is removed. An operation that changes nothing counts as both.
   */
  async find(
    { workspace }: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<FilesFound> {
    await this.tidy(workspace, operations, signal);
    const places = new VacatedPaths(operations);
    let [before, after] = [0, 0];
    for (const operation of operations) {
      const place = await placeOf({ workspace, places }, operation, signal);
      if (place === 'OTHER') return 'OTHER';
      if (place !== 'AFTER') before += 1;
      if (place !== 'BEFORE') after += 1;
    }
    if (before === operations.length) return 'BEFORE';
    return after === operations.length ? 'AFTER' : 'MIXED';
  }

  /** Those of the operations that may have been carried out: all but those whose files are found as before. */
  async carriedOut(
    { workspace }: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<FileOperation[]> {
    const places = new VacatedPaths(operations);
    const found: FileOperation[] = [];
    for (const operation of operations) {
      const place = await placeOf({ workspace, places }, operation, signal);
      if (place !== 'BEFORE') found.push(operation);
    }
    return found;
  }

  /**
   * Puts every file back that is as after its operation, the last one first. A file that is neither as before nor as
   * after stays as it is; RollBackFailedError names such files when the others are done.
   */
  async rollBack(
    target: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const left: string[] = [];
    const { workspace } = target;
    const places = new VacatedPaths(operations);
    let cause: unknown;
    for (const operation of operations.toReversed()) {
      try {
        const place = await placeOf({ workspace, places }, operation, signal);
        if (place === 'OTHER') left.push(operation.path);
        if (place === 'AFTER') await this.move(target, operation, { to: 'before', signal });
      } catch (error) {
        signal.throwIfAborted();
        left.push(operation.path);
        cause = error;
      }
    }
    if (left.length > 0) throw new RollBackFailedError(left, { cause });
  }

  /** What the events and rows of the operations will say, with their diffs. Reads files: call it before the transaction. */
  async describe(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    operations: readonly FileOperation[],
  ): Promise<DescribedChanges> {
    return this.records.describe(run, operations);
  }

  /**
   * Writes the changes down, joining an open transaction, and answers their events: file.changed for each file (for the
   * first 500 of one call) and one run.diff.
   */
  async record(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    toolCallId: string,
    described: DescribedChanges,
  ): Promise<EventDraft[]> {
    return this.records.record(run, toolCallId, described);
  }

  /** What the run's changes come to that are not undone. */
  async totals(run: Pick<HarnessRun, 'id' | 'tenantId'>): Promise<DiffTotals> {
    return this.records.totals(run);
  }

  private async verify(
    { tenantId, workspace }: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const vacated = new VacatedPaths();
    for (const operation of operations) {
      const { path, before, after } = operation;
      if (!sameState(await vacated.state(workspace, path, signal), before)) {
        throw new ToolError(
          'CHANGED_MEANWHILE',
          `${path} is no longer as it was when the change was prepared. Nothing was written. Read it again and repeat the change.`,
        );
      }
      if (after && !(await this.blobs.has(tenantId, after.sha256))) throw lost(path);
      if (!after) vacated.add(operation);
    }
  }

  /** What cannot be looked through stays: it is hidden like a secret. */
  private async tidy(
    workspace: Workspace,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const oneOfFolder = new Map(operations.map(({ path }) => [foldersOf(path)[0] ?? '', path]));
    for (const path of oneOfFolder.values()) {
      signal.throwIfAborted();
      await workspace.removeUnfinished(path).catch((error: unknown) => {
        if (!(error instanceof ToolError)) throw error;
      });
    }
  }

  /** Brings one file to the state after its operation, or before it. */
  private async move(
    { tenantId, workspace }: ChangeTarget,
    { path, before, after, madeFolders = 0 }: FileOperation,
    { to, signal }: { readonly to: 'before' | 'after'; readonly signal: AbortSignal },
  ): Promise<void> {
    const [expected, wanted] = to === 'after' ? [before, after] : [after, before];
    if (wanted) {
      const bytes = await this.blobs.get(tenantId, wanted.sha256);
      if (!bytes) throw lost(path);
      await workspace.write(path, bytes, { mode: wanted.mode, expected, signal });
      return;
    }
    if (expected) await workspace.remove(path, { expected, signal });
    if (madeFolders > 0) await workspace.removeEmptyFolders(path, madeFolders);
  }

  private async takeBack(
    target: ChangeTarget,
    begun: readonly FileOperation[],
    cause: unknown,
  ): Promise<void> {
    try {
      await this.rollBack(target, begun, AbortSignal.timeout(ROLL_BACK_MS));
    } catch (error) {
      const paths = error instanceof RollBackFailedError ? error.paths : begun.map((o) => o.path);
      throw new RollBackFailedError(paths, { cause });
    }
  }
}

type Place = 'BEFORE' | 'AFTER' | 'BOTH' | 'OTHER';

/** `places` are those of all operations: each may stand in the way of another that is not done yet, or is done already. */
async function placeOf(
  { workspace, places }: { readonly workspace: Workspace; readonly places: VacatedPaths },
  { path, before, after }: FileOperation,
  signal: AbortSignal,
): Promise<Place> {
  let state: FileState | null;
  try {
    state = await places.state(workspace, path, signal);
  } catch (error) {
    // A folder, a link or a hard link has taken the file's place.
    if (error instanceof ToolError) return 'OTHER';
    throw error;
  }
  if (sameState(state, before)) return sameState(before, after) ? 'BOTH' : 'BEFORE';
  return sameState(state, after) ? 'AFTER' : 'OTHER';
}

/** The same content and permissions. */
export function sameState(one: FileState | null, other: FileState | null): boolean {
  return one?.sha256 === other?.sha256 && one?.mode === other?.mode;
}

function lost(path: string): ToolError {
  return new ToolError(
    'FAILED',
    `The kept content of ${path} was lost or is damaged, so that it cannot be written.`,
  );
}

/** Every folder above the path, from the innermost on. */
export function foldersOf(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, names.length - 1 - index).join('/'));
}

/**
 * What stands in the place of other files until operations have removed it: a file where a folder is to be, or folders,
 * which go with their last file, where a file is to be.
 */
export class VacatedPaths {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();

  constructor(operations: readonly FileOperation[] = []) {
    for (const operation of operations) this.add(operation);
  }

  add({ path, madeFolders = 0 }: FileOperation): void {
    this.files.add(path);
    for (const folder of foldersOf(path).slice(0, madeFolders)) this.folders.add(folder);
  }

  /** What is at the path; null where only what the operations remove is in its place. Else as `Workspace.state`. */
  async state(workspace: Workspace, path: string, signal: AbortSignal): Promise<FileState | null> {
    try {
      return await workspace.state(path, signal);
    } catch (error) {
      if (this.isCause(error, path)) return null;
      throw error;
    }
  }

  private isCause(error: unknown, path: string): boolean {
    if (!(error instanceof ToolError)) return false;
    if (error.code === 'NOT_A_FILE') return this.folders.has(path);
    return error.code === 'NOT_A_FOLDER' && foldersOf(path).some((one) => this.files.has(one));
  }
}
