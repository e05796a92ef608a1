import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { BlobStore } from './blob.store.js';
import type * as diffWorker from './diff/diff.worker.js';
import type { Compared, CompareTask } from './diff/diff.worker.js';
import type { FileDiff } from './diff/unified-diff.js';
import { WorkerThread } from './worker-thread.js';
import { RollBackFailedError, ToolError, kindOf } from '../protocol/tool-call.js';
import type { PlannedFile } from '../protocol/tool-call.js';
import type { FileOperation, FileState, FilesFound } from '../../effect/index.js';
import { FileChangeRepository } from '../store/file-change.repository.js';
import type { NewFileChange } from '../store/file-change.repository.js';
import { cutLines } from '../protocol/values.js';
import { yieldingChunks } from '../protocol/yielding-chunks.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { HarnessFileChange, HarnessRun } from '../store/harness.entity.js';
import { SecretMask } from '../store/secret-mask.js';
import type { Workspace } from '../workspace/workspace.js';

/** A content by its hash, with the mode of FileState. */
export type KeptState = Pick<FileState, 'sha256' | 'mode'>;

/** Fields of a recorded change that a net change needs. */
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

/** Combined result of several changes of one file. */
export interface NetChange<Change = Recorded> {
  readonly path: string;
  readonly op: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly before: KeptState | null;
  readonly after: KeptState | null;
  /** Whether the content before the first change is stored. */
  readonly restorable: boolean;
  /** Oldest first. */
  readonly changes: readonly Change[];
}

/** Totals of a run's changes. The etag is another one whenever the difference is. */
interface DiffTotals {
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
  for await (const piece of yieldingChunks(changes)) {
    for (const change of piece) {
      const ofPath = byPath.get(change.path);
      if (ofPath) ofPath.push(change);
      else byPath.set(change.path, [change]);
    }
  }
  const nets: NetChange<Change>[] = [];
  for await (const piece of yieldingChunks([...byPath.values()])) {
    for (const ofPath of piece) {
      const net = netChangeOf(ofPath);
      if (net) nets.push(net);
    }
  }
  await nextTurn();
  // Mostly in order already, because the changes of a call are.
  return nets.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Combined result of the changes of one file; undefined when it is unchanged, or there are none. */
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

async function etagOf(nets: readonly NetChange<unknown>[]): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of yieldingChunks(nets)) {
    hash.update(JSON.stringify(piece.map(({ path, before, after }) => [path, before, after])));
  }
  return hash.digest('hex');
}

/** Compares files: a large diff would block the process. */
const WORKER = new URL('./diff/diff.worker.js', import.meta.url);
/** The thread ends when it has had nothing to do for so long. */
const IDLE_MS = 60_000;

/** Time limit for restoring files, whatever has stopped the change. */
const ROLL_BACK_MS = 60_000;
/** Maximum size of one file's diff in an event or an answer. */
const MAX_DIFF_BYTES = 64 * 1024;
/** All diffs in the events of one call, and all that are compared at once. */
const MAX_TOTAL_DIFF_BYTES = 2 * 1024 * 1024;
/** Events of one call; a command may change any number of files, and all of them get their rows. */
const MAX_EVENTS = 500;
/** Time limit for comparing one call's changes; the rest are shown without lines. */
const COMPARE_MS = 3_000;
/** Rows of one statement: the embedded database executes it in this process. */
const INSERTED_AT_ONCE = 200;
/** Files of one message to the thread, whose diffs are then masked in one go: other work gets its turn in between. */
const COMPARED_AT_ONCE = 20;
const MAX_CACHED_COUNTS = 2_000;

export interface ChangeTarget {
  readonly tenantId: string;
  readonly workspace: Workspace;
}

type ChangedRun = Pick<HarnessRun, 'id' | 'tenantId'>;
type Counts = Pick<FileDiff, 'additions' | 'deletions'>;

/** The difference of two contents, as events and answers show it. */
export interface Comparison extends Counts {
  /** Unified, at most 64 KiB. */
  readonly diff: string;
  readonly diffTruncated: boolean;
}

interface DescribedChange extends Comparison {
  readonly operation: FileOperation;
}

/** Input of `record`. */
export interface DescribedChanges {
  readonly files: readonly DescribedChange[];
  /** Totals of the run, including these changes. */
  readonly totals: DiffTotals;
}

/** A path with what is there before and after. */
interface Sides {
  readonly path: string;
  readonly before: KeptState | null;
  readonly after: KeptState | null;
}

interface ComparedSides extends Sides {
  /** False when the content before was not stored. */
  readonly restorable: boolean;
}

/**
 * Carries out changes of files that were written down before, finds out how far they have come, and takes them back;
 * compares kept contents, and records the changes of runs.
 */
@Injectable()
export class FileChanges implements OnApplicationShutdown {
  private readonly logger = new Logger(FileChanges.name);
  private readonly thread = new WorkerThread<typeof diffWorker>(WORKER, IDLE_MS);
  /** Lines added and deleted between two contents, which never change. */
  private readonly counts = new LRUCache<string, Counts>({ max: MAX_CACHED_COUNTS });

  constructor(
    private readonly blobs: BlobStore,
    private readonly repository: FileChangeRepository,
    private readonly mask: SecretMask,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }

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
    const started: FileOperation[] = [];
    try {
      for (const operation of operations) {
        signal.throwIfAborted();
        started.push(operation);
        await this.move(target, operation, { to: 'after', signal });
      }
    } catch (error) {
      await this.takeBack(target, started, error);
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
    const places = await placesOf(workspace, operations, signal);
    if (places.includes('OTHER')) return 'OTHER';
    if (!places.includes('AFTER')) return 'BEFORE';
    return places.includes('BEFORE') ? 'MIXED' : 'AFTER';
  }

  /** Operations that may have been carried out: all but those whose files are unchanged. */
  async carriedOut(
    { workspace }: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<FileOperation[]> {
    const places = await placesOf(workspace, operations, signal);
    return operations.filter((_, index) => places[index] !== 'BEFORE');
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
    const failedPaths: string[] = [];
    const { workspace } = target;
    const places = new VacatedPaths(operations);
    let cause: unknown;
    for (const operation of operations.toReversed()) {
      try {
        const place = await placeOf({ workspace, places }, operation, signal);
        if (place === 'OTHER') failedPaths.push(operation.path);
        if (place === 'AFTER') await this.move(target, operation, { to: 'before', signal });
      } catch (error) {
        signal.throwIfAborted();
        failedPaths.push(operation.path);
        cause = error;
      }
    }
    if (failedPaths.length > 0) throw new RollBackFailedError(failedPaths, { cause });
  }

  /** Events and rows of the operations, with their diffs. Reads files: call it before the transaction. */
  async describe(run: ChangedRun, operations: readonly FileOperation[]): Promise<DescribedChanges> {
    await this.blobs.share(run.tenantId, hashesOf(operations));
    const deadline = Date.now() + COMPARE_MS;
    const compared = await this.compareWithin(deadline, run.tenantId, operations);
    const earlier = await this.repository.ofRun(run.tenantId, run.id);
    const rows: Recorded[] = earlier.filter(({ undone }) => !undone);
    const files: DescribedChange[] = [];
    for await (const piece of yieldingChunks(operations)) {
      for (const operation of piece) {
        const file = { operation, ...(compared[files.length] ?? NOT_COMPARED) };
        files.push(file);
        rows.push(rowOf(run, '', file));
      }
    }
    return { files, totals: await this.totalsOf(run.tenantId, await netChanges(rows)) };
  }

  /**
   * Writes the changes down, joining an open transaction, and answers their events: file.changed for each file (for the
   * first 500 of one call, with 2 MiB of diffs in all) and one run.diff.
   */
  async record(
    run: ChangedRun,
    toolCallId: string,
    { files, totals }: DescribedChanges,
  ): Promise<EventDraft[]> {
    if (files.length === 0) return [];
    for await (const piece of yieldingChunks(files, INSERTED_AT_ONCE)) {
      await this.repository.insert(piece.map((file) => rowOf(run, toolCallId, file)));
    }
    const subject = { toolCallId };
    let remainingBytes = MAX_TOTAL_DIFF_BYTES;
    const changed = files.slice(0, MAX_EVENTS).map((file): EventDraft => {
      const { operation, additions, deletions } = file;
      const { path, op } = operation;
      remainingBytes -= Buffer.byteLength(file.diff);
      const shownDiff =
        remainingBytes >= 0 && file.diff !== '' ? file : { diff: LEFT_OUT, diffTruncated: true };
      const { diff, diffTruncated } = shownDiff;
      const data = { path, op, additions, deletions, diff, diffTruncated };
      return { type: 'file.changed', data, subject };
    });
    return [...changed, { type: 'run.diff', data: totals, subject }];
  }

  /** The totals of net changes; files whose lines cannot be counted count as files alone. */
  async totalsOf(tenantId: string, nets: readonly NetChange[]): Promise<DiffTotals> {
    let [additions, deletions] = [0, 0];
    for (const counts of await this.countsOf(tenantId, nets, Date.now() + COMPARE_MS)) {
      additions += counts.additions ?? 0;
      deletions += counts.deletions ?? 0;
    }
    return { files: nets.length, additions, deletions, etag: await etagOf(nets) };
  }

  /**
   * The differences of kept contents in the order of the files, with the service's secrets masked and cut to 64 KiB. After
   * the deadline, in milliseconds since the epoch, nothing is compared. All diffs have 2 MiB at most: those after that are
   * empty.
   */
  async compareWithin(
    deadline: number,
    tenantId: string,
    files: readonly ComparedSides[],
  ): Promise<Comparison[]> {
    await this.blobs.fetch(tenantId, hashesOf(files), deadline);
    const compared = await this.compare(deadline, files, ({ path, before, after, restorable }) => ({
      path,
      before: this.keptSide(tenantId, before, restorable),
      after: this.keptSide(tenantId, after, true),
    }));
    for (const [index, { before, after }] of files.entries()) {
      const one = compared[index];
      if (!one || one === NOT_COMPARED) continue;
      const { additions, deletions } = one;
      this.counts.set(keyOf(before, after), { additions, deletions });
    }
    return compared;
  }

  /** Diffs of planned changes, with the same limits as `compareWithin`. */
  async preview(files: readonly PlannedFile[]): Promise<Comparison[]> {
    return this.compare(
      Date.now() + COMPARE_MS,
      files,
      ({ operation, beforeContent, afterContent }) => ({
        path: operation.path,
        before: sideOf(operation.before, beforeContent),
        after: sideOf(operation.after, afterContent),
      }),
    );
  }

  private async compare<File>(
    deadline: number,
    files: readonly File[],
    taskOf: (file: File) => CompareTask,
  ): Promise<Comparison[]> {
    const compared: Comparison[] = [];
    let remainingBytes = MAX_TOTAL_DIFF_BYTES;
    for await (const piece of yieldingChunks(files, COMPARED_AT_ONCE)) {
      if (Date.now() >= deadline) break;
      const job = { tasks: piece.map(taskOf), deadline, withDiffs: remainingBytes > 0 };
      for (const comparedFile of await this.thread.run('compare', job)) {
        const one = this.maskedComparison(comparedFile, remainingBytes);
        remainingBytes -= Buffer.byteLength(one.diff);
        compared.push(one);
      }
    }
    while (compared.length < files.length) compared.push(NOT_COMPARED);
    return compared;
  }

  private maskedComparison(compared: Compared | undefined, remainingBytes: number): Comparison {
    if (!compared) return NOT_COMPARED;
    const { additions, deletions, diff, cut, damaged } = compared;
    for (const hash of damaged) this.logger.error({ msg: 'Stored content is damaged', hash });
    if (remainingBytes <= 0) return { additions, deletions, diff: '', diffTruncated: true };
    const cutDiff = cutLines(this.mask.apply(diff), MAX_DIFF_BYTES);
    return { additions, deletions, diff: cutDiff.text, diffTruncated: cut || cutDiff.cut };
  }

  /** One side of a comparison, from stored content; null where the file does not exist. */
  private keptSide(
    tenantId: string,
    state: KeptState | null,
    isKept: boolean,
  ): CompareTask['before'] {
    if (!state) return null;
    const { mode, sha256 } = state;
    if (!isKept) return { mode };
    return { mode, stored: { path: this.blobs.pathOf(tenantId, sha256), sha256 } };
  }

  /** The lines of net changes, as `compareWithin`; a file of one change has them stored. */
  async countsOf(
    tenantId: string,
    nets: readonly NetChange[],
    deadline: number,
  ): Promise<readonly Counts[]> {
    const unknown = nets.filter((net) => !this.knownCounts(net));
    const compared = await this.compareWithin(deadline, tenantId, unknown);
    const comparisons = new Map(unknown.map((net, index) => [net, compared[index]]));
    return nets.map((net) => comparisons.get(net) ?? this.knownCounts(net) ?? NOT_COMPARED);
  }

  private knownCounts({ before, after, changes }: NetChange): Counts | undefined {
    const [only, ...more] = changes;
    return only && more.length === 0 ? only : this.counts.get(keyOf(before, after));
  }

  private async verify(
    { tenantId, workspace }: ChangeTarget,
    operations: readonly FileOperation[],
    signal: AbortSignal,
  ): Promise<void> {
    const vacated = new VacatedPaths();
    for (const operation of operations) {
      const { path, before, after } = operation;
      if (!sameKept(await vacated.state(workspace, operation, signal), before)) {
        throw new ToolError(
          'CHANGED_MEANWHILE',
          `${path} is no longer as it was when the change was prepared. Nothing was written. Read it again and repeat the change.`,
        );
      }
      if (after && !(await this.blobs.has(tenantId, after.sha256))) throw lost(path);
      vacated.add(operation);
    }
  }

  /** Folders that cannot be scanned stay: they are hidden like a secret. */
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
    started: readonly FileOperation[],
    cause: unknown,
  ): Promise<void> {
    try {
      await this.rollBack(target, started, AbortSignal.timeout(ROLL_BACK_MS));
    } catch (error) {
      const paths = error instanceof RollBackFailedError ? error.paths : started.map((o) => o.path);
      throw new RollBackFailedError(paths, { cause });
    }
  }
}

type Place = 'BEFORE' | 'AFTER' | 'BOTH' | 'OTHER';

/** How each operation's file compares with its states before and after. */
async function placesOf(
  workspace: Workspace,
  operations: readonly FileOperation[],
  signal: AbortSignal,
): Promise<Place[]> {
  const places = new VacatedPaths(operations);
  const filePlaces: Place[] = [];
  for (const operation of operations) {
    filePlaces.push(await placeOf({ workspace, places }, operation, signal));
  }
  return filePlaces;
}

/** `places` are those of all operations: each may stand in the way of another that is not done yet, or is done already. */
async function placeOf(
  { workspace, places }: { readonly workspace: Workspace; readonly places: VacatedPaths },
  operation: FileOperation,
  signal: AbortSignal,
): Promise<Place> {
  const { before, after } = operation;
  let state: FileState | null;
  try {
    state = await places.state(workspace, operation, signal);
  } catch (error) {
    // A folder, a link or a hard link has taken the file's place.
    if (error instanceof ToolError) return 'OTHER';
    throw error;
  }
  if (sameKept(state, before)) return sameKept(before, after) ? 'BOTH' : 'BEFORE';
  return sameKept(state, after) ? 'AFTER' : 'OTHER';
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
 * Paths that other files need and that operations will vacate: a file in the place of a folder, or folders, which are
 * removed with their last file, in the place of a file.
 */
export class VacatedPaths {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();

  /** Starts with the operations that are done, or all where any of them may be. */
  constructor(operations: readonly FileOperation[] = []) {
    for (const { path, madeFolders = 0 } of operations) this.vacate(path, madeFolders);
  }

  /** Adds the paths that the operation removes, or replaces by a folder. */
  add({ path, before, after, madeFolders = 0 }: FileOperation): void {
    const isFolder = after && kindOf(after.mode) === 'folder';
    const wasFolder = before && kindOf(before.mode) === 'folder';
    if (!after || (isFolder && !wasFolder)) this.vacate(path, madeFolders);
  }

  private vacate(path: string, madeFolders: number): void {
    this.files.add(path);
    for (const folder of foldersOf(path).slice(0, madeFolders)) this.folders.add(folder);
  }

  /**
   * State of the path; null when only files that the operations remove are in its place. Otherwise like `Workspace.state`:
   * a link or folder is only accepted where one is expected or wanted.
   */
  async state(
    workspace: Workspace,
    { path, before, after }: Sides,
    signal: AbortSignal,
  ): Promise<FileState | null> {
    const isFile = [before, after].every((state) => !state || kindOf(state.mode) === 'file');
    try {
      return await (isFile ? workspace.state(path, signal) : workspace.anyState(path, signal));
    } catch (error) {
      if (this.isCause(error, path)) return null;
      throw error;
    }
  }

  /** Whether an operation removes the file, link or folder with the path. */
  has(path: string): boolean {
    return this.files.has(path) || this.folders.has(path);
  }

  private isCause(error: unknown, path: string): boolean {
    if (!(error instanceof ToolError)) return false;
    if (error.code === 'NOT_A_FILE') return this.folders.has(path);
    const isBehindOne = ['NOT_A_FOLDER', 'SYMLINK_ESCAPE'].includes(error.code);
    return isBehindOne && foldersOf(path).some((one) => this.files.has(one));
  }
}

/** Comparison of a file for which there was no time. */
const NOT_COMPARED: Comparison = {
  additions: null,
  deletions: null,
  diff: 'Not compared: there is too much to compare at once.\n',
  diffTruncated: true,
};

const LEFT_OUT = 'Left out: the call has changed too much at once. The diff of the run shows it.\n';

function sideOf(state: FileState | null, content: Buffer | null): CompareTask['before'] {
  return state && { mode: state.mode, ...(content && { content }) };
}

function hashesOf(files: readonly Pick<ComparedSides, 'before' | 'after'>[]): Set<string> {
  return new Set(
    files.flatMap(({ before, after }) => [before, after]).flatMap((state) => state?.sha256 ?? []),
  );
}

function keyOf(before: KeptState | null, after: KeptState | null): string {
  return `${before?.sha256 ?? ''}:${after?.sha256 ?? ''}`;
}

function rowOf(
  { tenantId, id: runId }: ChangedRun,
  toolCallId: string,
  { operation, additions, deletions }: DescribedChange,
): NewFileChange {
  const { path, op, before, after, restorable } = operation;
  return {
    tenantId,
    runId,
    toolCallId,
    path,
    op,
    additions,
    deletions,
    restorable,
    beforeSha256: before?.sha256 ?? null,
    afterSha256: after?.sha256 ?? null,
    beforeMode: before?.mode ?? null,
    afterMode: after?.mode ?? null,
  };
}
