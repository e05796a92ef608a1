import { constants } from 'node:fs';
import {
  copyFile,
  lstat,
  mkdtemp,
  open,
  readdir,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
  chmod,
  cp,
  mkdir,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { constants as signals, tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { ToolError } from '../protocol/tool-call.js';
import {
  Bubblewrap,
  isTaken,
  ownFiles,
  sandboxArguments,
  seccompFilter,
  shellArguments,
} from './bubblewrap.js';
import type { SandboxLayout } from './bubblewrap.js';
import {
  bufferOf,
  scanWorkspace,
  textOf,
  bytesOf,
  entriesIn,
  joined,
  plantedPathsIn,
} from './workspace-scan.js';
import type { BytePath, Cover, Mount, ProtectedPath, WorkspaceScan } from './workspace-scan.js';
import { PROCESSES, ProcessGroup, spaceOf, watchResources } from './resource-limits.js';
import type { CommandLimits, Excess, LimitHolders } from './resource-limits.js';
import { withoutSecrets } from '../workspace/protected-path.js';
import { yieldingChunks } from '../protocol/yielding-chunks.js';

export interface SandboxRequest {
  /** The canonical path of the workspace's root: what the command may write, and where it starts. */
  readonly workspace: string;
  readonly command: string;
  readonly timeoutMs: number;
  /** Ends the command when it aborts. */
  readonly signal: AbortSignal;
  /** Called with the output so far whenever there is more; awaited before more is read. Must not fail. */
  readonly onOutput?: (output: OutputCollector) => Promise<void> | void;
  /**
   * Called when earlier commands have ended, and awaited before this one starts. The argument is what `Sandbox.tidy` needs
   * should this process be lost; the workspace is being looked through for it.
   */
  readonly onReady?: (protectedPaths: Promise<readonly ProtectedPath[]>) => Promise<void>;
  /** Called when nothing of the command runs any more, before the workspace is tidied. Must not fail. */
  readonly onEnded?: () => void;
}

/** How a started command ended. None of its processes run any more. */
export interface SandboxResult {
  /** Null when the command did not end by itself. 128 + n for a command that signal n has ended. */
  readonly exitCode: number | null;
  /** The signal that has ended the command, as far as the exit code tells; SIGKILL when it was stopped. */
  readonly signal: string | null;
  /** Stopped at its time-out. */
  readonly timedOut: boolean;
  /** Stopped because the signal aborted. */
  readonly cancelled: boolean;
  /** Stopped for using more than a command may: what it did, such as "it used more than 4096 MiB of memory". */
  readonly exceeded: string | null;
  /** Both streams in the order in which they were written. */
  readonly output: OutputCollector;
  readonly durationMs: number;
  /** Paths of the workspace that hold secrets: not readable in the sandbox, or, for a configuration of git, without them. */
  readonly masked: readonly string[];
  /** Protected paths and parts of repositories that the command has made, which were moved out of the workspace. */
  readonly removed: readonly string[];
  /** Whether the workspace has changed since `onEnded`. */
  readonly tidied: boolean;
  /** Mechanism that enforces the limits; null when the command was stopped before it began. */
  readonly limitsBy: LimitHolders | null;
}

type Ending = Omit<SandboxResult, 'masked' | 'removed' | 'tidied'>;

/** Commands cannot be run; nothing was started. */
export class SandboxUnavailableError extends ToolError {
  constructor(
    /** Text for the operator: what is wrong and, where known, what to change. */
    readonly reason: string,
  ) {
    super(
      'SANDBOX_UNAVAILABLE',
      `The command was not run: there is no sandbox for it here. ${reason} Go on without commands.`,
    );
  }
}

/** bwrap was ended from outside in the middle of a command, which has ended with it: how far it has come is unknown. */
export class SandboxLostError extends Error {
  override readonly name = 'SandboxLostError';

  constructor() {
    super('The sandbox was ended from outside while a command ran, so its outcome is unknown.');
  }
}

const MIB = 2 ** 20;

/** Bytes of a command's output that are stored. */
export const WHOLE_OUTPUT_BYTES = 5 * MIB;

/** Bytes of the later output that are retained for the end of the view. */
const LAST_BYTES = 32 * 1_024;
const FIRST_BYTES = 16 * 1_024;

/** Takes output of any length in bounded memory: the first 5 MiB, and the last 32 KiB. */
export class OutputCollector {
  private buffer = Buffer.alloc(FIRST_BYTES);
  private storedLength = 0;
  /** End of the output beyond the stored part. Twice the needed size, so that it is rarely moved. */
  private readonly last = Buffer.alloc(2 * LAST_BYTES);
  private lastLength = 0;
  private totalBytes = 0;

  /** Bytes that the command has written. */
  get total(): number {
    return this.totalBytes;
  }

  /** Whether there is more than `whole` has. */
  get discarding(): boolean {
    return this.totalBytes > this.storedLength;
  }

  add(chunk: Buffer): void {
    this.totalBytes += chunk.length;
    const remainingBytes = WHOLE_OUTPUT_BYTES - this.storedLength;
    if (remainingBytes > 0) this.keep(chunk.subarray(0, remainingBytes));
    if (chunk.length > remainingBytes) {
      this.remember(chunk.subarray(Math.max(remainingBytes, chunk.length - LAST_BYTES)));
    }
  }

  /** The output, or its first 5 MiB and a line that says how much is missing. */
  whole(): Buffer {
    const whole = this.buffer.subarray(0, this.storedLength);
    if (!this.discarding) return whole;
    const missing = this.totalBytes - this.storedLength;
    return Buffer.concat([
      whole,
      Buffer.from(`\n[The output went on; ${missing} more bytes were discarded.]\n`),
    ]);
  }

  /** The first bytes of the output. */
  head(bytes: number): Buffer {
    return this.buffer.subarray(0, Math.min(bytes, this.storedLength));
  }

  /** The last bytes of the output, at most 32 KiB. */
  tail(bytes: number): Buffer {
    const wanted = Math.min(bytes, LAST_BYTES);
    const before = this.buffer.subarray(Math.max(0, this.storedLength - wanted), this.storedLength);
    return Buffer.concat([before, this.last.subarray(0, this.lastLength)]).subarray(-wanted);
  }

  private keep(chunk: Buffer): void {
    const needed = this.storedLength + chunk.length;
    if (needed > this.buffer.length) {
      const grown = Buffer.alloc(
        Math.min(Math.max(needed, this.buffer.length * 2), WHOLE_OUTPUT_BYTES),
      );
      this.buffer.copy(grown, 0, 0, this.storedLength);
      this.buffer = grown;
    }
    chunk.copy(this.buffer, this.storedLength);
    this.storedLength = needed;
  }

  /** Retains the end of the output. Chunks have at most 32 KiB. */
  private remember(rest: Buffer): void {
    if (this.lastLength + rest.length > this.last.length) {
      this.last.copyWithin(0, this.lastLength - LAST_BYTES, this.lastLength);
      this.lastLength = LAST_BYTES;
    }
    rest.copy(this.last, this.lastLength);
    this.lastLength += rest.length;
  }
}

/** Pause between reads once output is no longer stored: 64 MB/s, which leaves the event loop to others. */
const DISCARD_PAUSE_MS = 1;

/** Longer than the second in which git takes a file to be as old as its index. */
const NEWER_MS = 2_000;
const MASKING: readonly Cover[] = ['redacted-file', 'hidden-file', 'hidden-folder'];

/** The exit code of a command that a signal has ended is this much and the signal's number. */
const BY_SIGNAL = 128;

export interface SandboxPlace {
  /** Folder in which files removed from workspaces are stored for a month. */
  readonly removed: string;
  /** Absolute folders that a command must not see even where they lie below /usr. */
  readonly hidden: readonly string[];
  readonly limits: CommandLimits;
}

type Stopped = 'time-out' | 'abort' | 'system-memory' | Excess;

/**
 * Runs one command in a sandbox of its own and answers how it ended; nothing of it runs any more then. Fails with a
 * ToolError when it was not started, with the signal's reason when that has aborted before, and with SandboxLostError
 * when it was started and how it ended is unknown.
 */
export async function runInSandbox(
  request: SandboxRequest,
  place: SandboxPlace,
): Promise<SandboxResult> {
  const { workspace, command, signal } = request;
  signal.throwIfAborted();
  if (command.includes('\0')) {
    throw new ToolError('INVALID_ARGUMENTS', 'A command cannot hold a zero byte.');
  }
  await checkWorkspace(workspace);
  const scan = scanWorkspace(workspace, signal);
  const [{ mounts, protectedPaths }] = await Promise.all([
    scan,
    request.onReady?.(protectedPathsOf(scan)),
  ]);
  const asRoot = process.getuid?.() === 0;
  const options = { storeFolder: place.removed };
  try {
    const result = await withCopies(workspace, mounts, (copies) =>
      execute(request, { ...place, workspace, mounts, copies, asRoot }, place.limits),
    );
    request.onEnded?.();
    const masked = mounts.filter(({ cover }) => MASKING.includes(cover));
    // Runs even when the request's signal has aborted: the end of the command may have ended the run.
    const { removed, opened } = await removePlantedPaths(workspace, protectedPaths, options);
    const tidied = opened || removed.length > 0;
    return { ...result, masked: masked.map(({ path }) => textOf(path)), removed, tidied };
  } catch (error) {
    // However it has ended; what is wrong with this is said by the next command.
    await removePlantedPaths(workspace, protectedPaths, options).catch(() => undefined);
    throw error;
  }
}

/** Fails with the scan, also where nothing waits for it. */
function protectedPathsOf(scan: Promise<WorkspaceScan>): Promise<readonly ProtectedPath[]> {
  const paths = scan.then(({ protectedPaths }) => protectedPaths);
  paths.catch(() => undefined);
  return paths;
}

async function execute(
  request: SandboxRequest,
  layout: SandboxLayout,
  limits: CommandLimits,
): Promise<Ending> {
  const filter = seccompFilter();
  if (!filter) {
    const reason = `There is no system call filter for ${process.arch} processors.`;
    throw new SandboxUnavailableError(reason);
  }
  const began = performance.now();
  const bubblewrap = new Bubblewrap({
    options: sandboxArguments(layout),
    filter,
    files: ownFiles(layout).map(([, content]) => content),
    command: shellArguments(request.command, request.timeoutMs),
  });
  const output = new OutputCollector();
  const reading = collect(bubblewrap, output, request);
  const { asRoot } = layout;
  const { stopped, limitsBy, memoryBytes } = await supervise(bubblewrap, request, {
    limits,
    asRoot,
  });
  await reading;
  if (!stopped && !bubblewrap.hasBegun) {
    throw new SandboxUnavailableError(bubblewrap.errorText || 'bwrap exited without a message.');
  }
  if (!stopped && bubblewrap.exitCode === undefined) throw new SandboxLostError();
  const exitCode = stopped ? null : (bubblewrap.exitCode ?? null);
  return {
    exitCode,
    signal: stopped ? 'SIGKILL' : signalOf(exitCode),
    timedOut: stopped === 'time-out',
    cancelled: stopped === 'abort',
    exceeded: exceededText(stopped, { ...limits, memoryBytes }),
    output,
    durationMs: Math.round(performance.now() - began),
    limitsBy,
  };
}

interface Supervised {
  readonly stopped: Stopped | undefined;
  readonly limitsBy: LimitHolders | null;
  /** Memory that was available to the command. */
  readonly memoryBytes: number;
}

/** Lets the command begin, and waits for its end or brings it about. Nothing of it runs any more then, however it ends. */
async function supervise(
  bubblewrap: Bubblewrap,
  { workspace, timeoutMs, signal }: SandboxRequest,
  { limits, asRoot }: { readonly limits: CommandLimits; readonly asRoot: boolean },
): Promise<Supervised> {
  const over = new AbortController();
  const timeOut = sleep(timeoutMs, 'time-out' as const, { signal: over.signal });
  const reasons: Promise<Stopped | 'ended'>[] = [
    bubblewrap.ended.then(() => 'ended'),
    timeOut.catch(() => 'ended'),
    aborted(signal, over.signal),
  ];
  let group: ProcessGroup | undefined;
  let limitsBy: LimitHolders | null = null;
  let reason: Stopped | 'ended' = 'ended';
  try {
    const first = await Promise.race([bubblewrap.began, ...reasons.map(toNothing)]);
    if (first !== undefined) {
      await endFirst(first);
      group = await ProcessGroup.around(first, limits.memoryBytes);
      limitsBy = ProcessGroup.holdersOf(group, asRoot);
      const enforced = {
        processes: limitsBy.processes !== 'watcher',
        memory: limitsBy.memory !== 'watcher',
      };
      const before = await spaceOf(workspace);
      reasons.push(watchResources({ first, workspace, limits, before, enforced }, over.signal));
    }
    bubblewrap.go();
    reason = await Promise.race(reasons);
  } finally {
    over.abort();
    await bubblewrap.stop();
    await bubblewrap.settled();
    if (reason === 'ended') reason = (await group?.ranOutOfMemory()) ?? 'ended';
    await group?.remove();
  }
  const stopped = reason === 'ended' ? undefined : reason;
  return { stopped, limitsBy, memoryBytes: group?.memoryBytes ?? limits.memoryBytes };
}

/** When memory runs out, the kernel is to end a command before the service. What it starts inherits that. */
async function endFirst(process: number): Promise<void> {
  await writeFile(`/proc/${process}/oom_score_adj`, '1000').catch(() => undefined);
}

async function toNothing(reason: Promise<unknown>): Promise<undefined> {
  await reason;
  return undefined;
}

/** 'abort' when the signal aborts, 'ended' when there is no process left to signal. */
async function aborted(signal: AbortSignal, over: AbortSignal): Promise<'abort' | 'ended'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('abort');
    signal.addEventListener('abort', () => resolve('abort'), { once: true, signal: over });
    over.addEventListener('abort', () => resolve('ended'), { once: true });
  });
}

async function collect(
  bubblewrap: Bubblewrap,
  collector: OutputCollector,
  { onOutput }: SandboxRequest,
): Promise<void> {
  const take = async (piece: Buffer): Promise<void> => {
    collector.add(piece);
    await onOutput?.(collector);
    if (collector.discarding) await sleep(DISCARD_PAUSE_MS);
  };
  // A Writable receives the chunks as they are read; iterating over the stream would copy them into larger ones.
  const taker = new Writable({
    highWaterMark: 1,
    write: (piece: Buffer, _, done) => void take(piece).then(() => done(), done),
  });
  // Fails where the pipe was closed on a process that would not let go of it.
  await pipeline(bubblewrap.output, taker).catch(() => undefined);
}

function exceededText(stopped: Stopped | undefined, limits: CommandLimits): string | null {
  const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
  switch (stopped) {
    case 'processes':
      return `it had more than ${PROCESSES} processes and threads`;
    case 'memory':
      return `it used more than ${mib(limits.memoryBytes)} of memory`;
    case 'system-memory':
      return 'the memory of the system, or of the service, ran out';
    case 'disk':
      return `it wrote more than ${mib(limits.diskBytes)} to the workspace`;
    case 'files':
      return `it added more than ${limits.addedFiles} files to the workspace`;
    case 'free-space':
      return `it left less than ${mib(limits.freeBytes)} free on the disk of the workspace`;
    default:
      return null;
  }
}

function signalOf(exitCode: number | null): string | null {
  if (exitCode === null || exitCode <= BY_SIGNAL) return null;
  const number = exitCode - BY_SIGNAL;
  const [name] = Object.entries(signals.signals).find(([, value]) => value === number) ?? [];
  return name ?? null;
}

async function checkWorkspace(workspace: string): Promise<void> {
  const canonical = await realpath(workspace).catch(() => undefined);
  if (canonical !== workspace || !(await stat(workspace)).isDirectory()) {
    throw new ToolError('FAILED', 'The command was not run: the workspace is no longer there.');
  }
  if (isTaken(workspace)) {
    throw new SandboxUnavailableError(
      'The workspace lies where the sandbox has folders of its own.',
    );
  }
}

/** Lends a file for each mount that lies over one, and that no other process can have made or can change. */
async function withCopies<T>(
  workspace: string,
  mounts: readonly Mount[],
  use: (copies: ReadonlyMap<BytePath, string>) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const copies = new Map<BytePath, string>();
    for (const { path, cover } of mounts) {
      const original = Buffer.concat([Buffer.from(`${workspace}/`), bufferOf(path)]);
      const copy = join(folder, String(copies.size));
      if (cover === 'redacted-file') {
        await writeFile(copy, await withoutSecrets(original), { flag: 'wx', mode: 0o444 });
      } else if (cover === 'newer-file') {
        await copyFile(original, copy, constants.COPYFILE_EXCL);
        await utimes(copy, new Date(), new Date((await lstat(original)).mtimeMs + NEWER_MS));
      } else if (cover === 'hidden-file') {
        const { size, atime, mtime } = await lstat(original);
        await using file = await open(copy, 'wx', 0o000);
        await file.truncate(size);
        await file.utimes(atime, mtime);
      } else {
        continue;
      }
      copies.set(path, copy);
    }
    return use(copies);
  });
}

const PREFIX = 'plinth-sandbox-';
/** Longer than any command may take. */
const OLD_MS = 60 * 60 * 1_000;

/** Lends a new folder that only the service's user can enter, and removes it with all that is in it. */
export async function withTemporaryFolder<T>(use: (path: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), PREFIX)));
  try {
    return await use(folder);
  } finally {
    // A folder that cannot be removed now is left to `removeOldFolders`; the run does not fail for it.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Removes what services that were killed have left. */
export async function removeOldFolders(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const stats = await lstat(folder).catch(() => undefined);
    if (!stats?.isDirectory() || stats.mtimeMs > Date.now() - OLD_MS) continue;
    // No other process can have written to the folder.
    if (stats.uid !== process.geteuid?.() || (stats.mode & 0o077) !== 0) continue;
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

const LIMIT_MS = 10 * 60 * 1_000;
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
const MOVED_AT_ONCE = 16;
const MAX_SORTED_PATHS = 10_000;
/** The longest path of a folder of which every name can be reached by its path. */
const FOLDER_BYTES = 4_096 - 256 - 1;
const OWNER = 0o700;

/** Outcome of `removePlantedPaths`. */
export interface Tidied {
  /** Paths below the workspace, in order unless there are more than 10,000. */
  readonly removed: string[];
  /** Whether folders were opened that the service could not look through. */
  readonly opened: boolean;
}

/**
 * Moves what a command has made under a protected name, and repositories that it has made, out of the workspace: other
 * programs would run or obey them. What was there before, by its name and identity, stays, wherever it is now, unless it
 * has become part of a repository. No command may run in the workspace meanwhile. They are moved to a new folder below
 * `storeFolder`; files that cannot be copied to another file system are removed. Continues when one cannot be moved, and fails
 * at the end; fails also after ten minutes, and with the signal's reason when that aborts. Moved paths stay moved.
 */
export async function removePlantedPaths(
  root: string,
  before: readonly ProtectedPath[],
  {
    storeFolder,
    signal: callerSignal,
  }: { readonly storeFolder: string; readonly signal?: AbortSignal },
): Promise<Tidied> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const signal = callerSignal ? AbortSignal.any([callerSignal, limit]) : limit;
  const into = bytesOf(join(storeFolder, `${Date.now()}-${randomUUID()}`));
  const removed: string[] = [];
  let hasOpened = false;
  for (;;) {
    const { planted, opened } = await plantedPathsIn(root, before, signal);
    hasOpened ||= opened;
    // Contents of repository parts are scanned once those are no longer part of a repository.
    if (planted.length === 0) {
      // Sorting more would block the process.
      if (removed.length <= MAX_SORTED_PATHS) removed.sort();
      return { removed, opened: hasOpened };
    }
    await moveAll(bytesOf(root), planted, { into, signal });
    for await (const piece of yieldingChunks(planted)) removed.push(...piece.map(textOf));
  }
}

async function moveAll(
  root: BytePath,
  planted: readonly BytePath[],
  { into, signal }: { readonly into: BytePath; readonly signal: AbortSignal },
): Promise<void> {
  const failures: unknown[] = [];
  for (let start = 0; start < planted.length; start += MOVED_AT_ONCE) {
    signal.throwIfAborted();
    const moves = planted
      .slice(start, start + MOVED_AT_ONCE)
      .map((path) => move(`${root}/${path}`, { path, into, signal }));
    for (const move of await Promise.allSettled(moves)) {
      if (move.status === 'rejected') failures.push(move.reason);
    }
  }
  if (failures.length === 0) return;
  signal.throwIfAborted();
  const count = failures.length;
  const message = `${count} protected paths that a command had made could not be removed from the workspace.`;
  throw new AggregateError(failures, message);
}

async function move(
  from: BytePath,
  {
    path,
    into,
    signal,
  }: { readonly path: BytePath; readonly into: BytePath; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await renameInto(from, `${into}/${path}`);
  } catch (error) {
    switch (codeOf(error)) {
      case 'ENOENT':
        return;
      case 'EXDEV':
        await copy(from, `${into}/${path}`);
        await removeTree(from, signal);
        return;
      case 'EACCES':
      case 'EPERM':
        // A command may have taken the right to remove it, also from the folder that it is in.
        await openForOwner(from.slice(0, from.lastIndexOf('/')));
        await openForOwner(from);
        break;
      default:
      // The path is too long below the other folder, or taken.
    }
    await renameInto(from, `${into}/${randomUUID()}`).catch(async (again: unknown) => {
      if (codeOf(again) === 'ENOENT') return;
      await removeTree(from, signal);
    });
  }
}

async function renameInto(from: BytePath, to: BytePath): Promise<void> {
  const folder = bufferOf(to.slice(0, to.lastIndexOf('/')));
  await mkdir(folder, { recursive: true, mode: OWNER });
  await rename(bufferOf(from), bufferOf(to));
}

/** Copies as much as it can: the source is removed in any case. */
async function copy(from: BytePath, to: BytePath): Promise<void> {
  const isCopied = async (path: string): Promise<boolean> => {
    const stats = await lstat(path);
    return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
  };
  const options = { recursive: true, verbatimSymlinks: true, filter: isCopied };
  await mkdir(dirname(textOf(to)), { recursive: true, mode: OWNER }).catch(() => undefined);
  await cp(textOf(from), textOf(to), options).catch(() => undefined);
}

/**
 * Removes a file or a folder with all that is in it, whatever its names and modes are and however deep it is. Fails with
 * the signal's reason when that aborts.
 */
async function removeTree(top: BytePath, signal: AbortSignal): Promise<void> {
  const stats = await lstat(bufferOf(top)).catch(() => undefined);
  if (!stats?.isDirectory()) {
    if (stats) await unlink(bufferOf(top));
    return;
  }
  const pending = [top];
  for (let folder = pending.at(-1); folder !== undefined; folder = pending.at(-1)) {
    signal.throwIfAborted();
    await openForOwner(folder);
    const entries = await entriesIn(folder);
    if (entries.length === 0) {
      await rmdir(bufferOf(folder));
      pending.pop();
    }
    for (const entry of entries) {
      const path = joined(folder, entry.name);
      if (!entry.isDirectory()) await unlink(bufferOf(path));
      else if (path.length <= FOLDER_BYTES) pending.push(path);
      else {
        await openForOwner(path);
        await rename(bufferOf(path), bufferOf(`${top}/${randomUUID()}`));
      }
    }
  }
}

/** Fails where the folder belongs to another user. */
async function openForOwner(path: BytePath): Promise<void> {
  const stats = await lstat(bufferOf(path));
  const isOpen = !stats.isDirectory() || (stats.mode & OWNER) === OWNER;
  if (!isOpen) await chmod(bufferOf(path), (stats.mode & 0o777) | OWNER);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Removes what was moved to the folder more than 30 days ago; ends soon after the signal. */
export async function forgetPlantedPaths(storeFolder: string, signal: AbortSignal): Promise<void> {
  for (const name of await readdir(storeFolder).catch(() => [])) {
    const movedAt = Number.parseInt(name, 10);
    if (movedAt > Date.now() - KEPT_MS) continue;
    await removeTree(bytesOf(join(storeFolder, name)), signal).catch(() => undefined);
  }
}
