import { constants, existsSync } from 'node:fs';
import type { BigIntStats, Dirent } from 'node:fs';
import {
  access,
  lstat,
  mkdir,
  readdir,
  readFile,
  rmdir,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { bufferOf, bytesOf, joined } from './workspace-scan.js';
import type { BytePath } from './workspace-scan.js';

/** Controllers that can limit a sandbox's processes. */
export type Controller = 'pids' | 'memory';

const CONTROLLERS: readonly Controller[] = ['memory', 'pids'];
/** Subgroup into which this service moves itself in a group that it divides. */
const SERVICE = 'plinth-service';
/** A process may start another one while they are moved. */
const MAX_MOVES = 20;

/** The control group of a process. */
export interface OwnGroup {
  readonly version: 1 | 2;
  readonly path: string;
  /** The topmost group that can be seen from here. */
  readonly top: string;
}

/** A group in which groups for commands can be made, and what these can hold a command to. */
export interface GroupParent {
  readonly path: string;
  readonly controllers: readonly Controller[];
}

/**
 * The group that limits a process's number of processes: of version 1 where that has the controller, else of version 2.
 * Undefined where none is mounted, or where the one of the process cannot be seen.
 */
export async function ownGroup(process = '/proc/self'): Promise<OwnGroup | undefined> {
  const groups = await lines(join(process, 'cgroup'));
  const mounts = (await lines(join(process, 'mountinfo'))).map(mountOf);
  const first = groups.find((line) => /^\d+:(.*,)?pids(,.*)?:/.test(line));
  const groupLine = first ?? groups.find((line) => line.startsWith('0::'));
  const [, path] = /^\d+:[^:]*:(\/.*)$/.exec(groupLine ?? '') ?? [];
  if (path === undefined) return undefined;
  const version = first === undefined ? 2 : 1;
  // A later mount lies over an earlier one.
  for (const mount of mounts.toReversed()) {
    const fits =
      version === 2
        ? mount?.type === 'cgroup2'
        : mount?.type === 'cgroup' && mount.options.includes('pids');
    if (!mount || !fits || isOutside(mount.root) || isOutside(path)) continue;
    const below = relative(mount.root, path);
    if (isOutside(below)) continue;
    return { version, path: join(mount.at, below), top: mount.at };
  }
  return undefined;
}

/** Whether a path of a group leads out of the group's namespace: such a path contains `..`. */
function isOutside(path: string): boolean {
  return path.split('/').includes('..');
}

/** Two commands at once must not move the processes of one another. */
let earlier: Promise<unknown> = Promise.resolve();

/**
 * Prepares a parent group for the groups of commands; undefined where none can be created. Groups of version 1 limit
 * only the number of processes.
 */
export async function groupParent(group: OwnGroup): Promise<GroupParent | undefined> {
  if (group.version === 1) return { path: group.path, controllers: ['pids'] };
  const preparation = earlier.then(() => preparedParent(group));
  earlier = preparation.catch(() => undefined);
  return preparation;
}

/** The lowest limit of memory of the group and those above it; Infinity without one. */
export async function memoryLimitOf({ path, top }: OwnGroup): Promise<number> {
  const limits: number[] = [];
  for (let group = path; ; group = dirname(group)) {
    const [text = 'max'] = await lines(join(group, 'memory.max'));
    limits.push(text === 'max' ? Infinity : Number(text));
    if (group === top) return Math.min(...limits);
  }
}

/**
 * A group that has processes can give no controllers to groups below it, the topmost of the machine excepted. So the
 * group above that of the service is taken as it is, or given the controllers where it has no processes, as a unit of
 * systemd that runs its service in a subgroup. Else the service's own group is used, by moving all its processes to a
 * group below it where it was given to this service alone. The first one with both controllers is taken.
 */
async function preparedParent({
  path: groupPath,
  top,
}: OwnGroup): Promise<GroupParent | undefined> {
  const steps: (() => Promise<string>)[] = [];
  if (groupPath !== top) {
    const above = dirname(groupPath);
    steps.push(
      async () => above,
      async () => enable(above),
    );
  }
  steps.push(
    async () => enable(groupPath),
    async () => ((await isGiven(groupPath, top)) ? enable(await divide(groupPath)) : groupPath),
  );
  let best: GroupParent | undefined;
  for (const step of steps) {
    const path = await step().catch(() => undefined);
    if (path === undefined || !(await canMakeGroups(path))) continue;
    const controllers = await controllersOf(path, 'cgroup.subtree_control');
    if (controllers.length > (best?.controllers.length ?? 0)) best = { path, controllers };
    if (controllers.length === CONTROLLERS.length) break;
  }
  return best;
}

/** Gives what the group has to the groups below it. Both controllers in one go: `pids` alone would make it a group of threads. */
async function enable(group: string): Promise<string> {
  const hasProcesses = (await processesOf(group)).length > 0;
  if (hasProcesses && !(await isTopOfMachine(group))) throw new Error('The group has processes.');
  const missing = (await controllersOf(group, 'cgroup.controllers')).map((name) => `+${name}`);
  if (missing.length > 0) await writeFile(join(group, 'cgroup.subtree_control'), missing.join(' '));
  return group;
}

/** Moves all processes of the group to one below it. Those that cannot be named from here are shown as 0, and stay. */
async function divide(group: string): Promise<string> {
  const below = join(group, SERVICE);
  await mkdir(below, { recursive: true });
  for (let moves = 0; moves < MAX_MOVES; moves += 1) {
    const processes = await processesOf(group);
    if (processes.every((process) => process === '0')) break;
    for (const process of processes.filter((name) => name !== '0')) {
      // The process may have ended.
      await writeFile(join(below, 'cgroup.procs'), process).catch(() => undefined);
    }
  }
  return group;
}

/**
 * Whether the group is the service's to divide: made over to its user or, as root, all that a container sees. Outside of
 * a container the group of a root service belongs to the manager of the machine's groups, such as systemd.
 */
async function isGiven(group: string, top: string): Promise<boolean> {
  if (await isTopOfMachine(group)) return false;
  const user = process.geteuid?.();
  return user === 0 ? group === top : (await stat(group)).uid === user;
}

/** The only group without a type. */
async function isTopOfMachine(group: string): Promise<boolean> {
  return stat(join(group, 'cgroup.type')).then(
    () => false,
    () => true,
  );
}

async function canMakeGroups(group: string): Promise<boolean> {
  const { W_OK, X_OK } = constants;
  return Promise.all([
    access(group, W_OK | X_OK),
    // A process can only be moved by who may write this in the group above both.
    access(join(group, 'cgroup.procs'), W_OK),
  ]).then(
    () => true,
    () => false,
  );
}

async function controllersOf(group: string, file: string): Promise<Controller[]> {
  const [text = ''] = await lines(join(group, file));
  const names = text.split(' ');
  return CONTROLLERS.filter((name) => names.includes(name));
}

async function processesOf(group: string): Promise<string[]> {
  return lines(join(group, 'cgroup.procs'));
}

interface CgroupMount {
  readonly type: string;
  /** The group that is at the mount point. */
  readonly root: string;
  readonly at: string;
  readonly options: readonly string[];
}

/** A line of mountinfo (proc(5)). */
function mountOf(line: string): CgroupMount | undefined {
  const [before = '', after] = line.split(' - ');
  const [, , , root, at] = before.split(' ');
  const [type, , options = ''] = after?.split(' ') ?? [];
  if (type === undefined || root === undefined || at === undefined) return undefined;
  return { type, root: unescaped(root), at: unescaped(at), options: options.split(',') };
}

/** Blanks and a few other characters are octal there. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 8)),
  );
}

/** Lines of a kernel file, without the last, empty one; none if it cannot be read. */
async function lines(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean);
}

/** Processes and threads of one command. */
export const PROCESSES = 256;
const NAME = 'plinth-sandbox';
const MAX_REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/** `cgroup`: the kernel, by a control group. `rlimit`: the kernel, by a limit of the user, which does not count for root. */
export const PROCESS_LIMIT_HOLDERS = ['cgroup', 'rlimit', 'watcher'] as const;
export const MEMORY_LIMIT_HOLDERS = ['cgroup', 'watcher'] as const;

/** Which mechanism limits the number of a command's processes, and which its memory. */
export interface LimitHolders {
  readonly processes: (typeof PROCESS_LIMIT_HOLDERS)[number];
  readonly memory: (typeof MEMORY_LIMIT_HOLDERS)[number];
}

/**
 * A control group that holds a sandbox to 256 processes and threads and to its memory. Groups of version 1 hold it to the
 * processes alone.
 */
export class ProcessGroup {
  private constructor(
    private readonly path: string,
    private readonly holds: ReadonlySet<Controller>,
    /** Memory limit of the group: the command's, or the service's own if that is lower. */
    readonly memoryBytes: number,
  ) {}

  /** Puts the process, and all that it will start, into a group; undefined where groups cannot be made. */
  static async around(process: number, memoryBytes: number): Promise<ProcessGroup | undefined> {
    const serviceGroup = await ownGroup();
    const parent = serviceGroup && (await groupParent(serviceGroup));
    if (!serviceGroup || !parent) return undefined;
    await removeLeftovers(parent.path);
    const path = join(parent.path, nameOfGroup());
    const holds = new Set(parent.controllers);
    // A group beside the service's own must not have more memory than it.
    const most = holds.has('memory') ? await memoryLimitOf(serviceGroup) : Infinity;
    const group = new ProcessGroup(path, holds, Math.min(memoryBytes, most));
    try {
      await mkdir(path);
      await group.limit();
      await writeFile(join(path, 'cgroup.procs'), String(process));
      return group;
    } catch {
      await group.remove();
      return undefined;
    }
  }

  /** Mechanism that limits a command in this group, or in none. */
  static holdersOf(group: ProcessGroup | undefined, asRoot: boolean): LimitHolders {
    const otherwise = asRoot ? 'watcher' : 'rlimit';
    return {
      processes: group?.holds.has('pids') ? 'cgroup' : otherwise,
      memory: group?.holds.has('memory') ? 'cgroup' : 'watcher',
    };
  }

  /** Whose memory ran out when the kernel killed processes: the group's, or the system's. */
  async ranOutOfMemory(): Promise<'memory' | 'system-memory' | undefined> {
    if (!this.holds.has('memory')) return undefined;
    const events = await readFile(join(this.path, 'memory.events'), 'utf8').catch(() => '');
    if (!/^oom_kill [1-9]/m.test(events)) return undefined;
    return /^oom [1-9]/m.test(events) ? 'memory' : 'system-memory';
  }

  /** Removes the group once the last of its processes has ended. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < MAX_REMOVE_TRIES && existsSync(this.path); tries += 1) {
      await rmdir(this.path).catch(() => sleep(REMOVE_PAUSE_MS));
    }
  }

  private async limit(): Promise<void> {
    if (this.holds.has('pids')) await this.set('pids.max', PROCESSES);
    if (!this.holds.has('memory')) return;
    await this.set('memory.max', this.memoryBytes);
    // All processes are ended at the limit.
    await this.set('memory.oom.group', 1);
    // Absent where there is no swap.
    await this.set('memory.swap.max', 0).catch(() => undefined);
  }

  private async set(file: string, value: number): Promise<void> {
    await writeFile(join(this.path, file), String(value));
  }
}

function nameOfGroup(): string {
  return `${NAME}-${process.pid}-${randomBytes(8).toString('hex')}`;
}

/** Removes groups of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, service] = new RegExp(`^${NAME}-(\\d+)-`).exec(name) ?? [];
    if (service === undefined || existsSync(`/proc/${service}`)) continue;
    await rmdir(join(parent, name)).catch(() => undefined);
  }
}

/** Limits of one command, over all its processes. */
export interface CommandLimits {
  readonly memoryBytes: number;
  /** Maximum growth of the workspace. */
  readonly diskBytes: number;
  /** Minimum free space on the file system of the workspace. */
  readonly freeBytes: number;
  /** Files and folders that it may add. */
  readonly addedFiles: number;
}

/** The limit that a command exceeded. */
export type Excess = 'processes' | 'memory' | 'disk' | 'files' | 'free-space';

/** Free space of a file system. */
export interface Space {
  readonly bytes: number;
  /** Zero where the file system does not limit it. */
  readonly files: number;
}

export interface Watched {
  /** The number of the sandbox's first process. */
  readonly first: number;
  /** The canonical path of the workspace's root. */
  readonly workspace: string;
  readonly limits: CommandLimits;
  /** Free space before the command. */
  readonly before: Space | undefined;
  /** Whether the kernel holds the command to the number of processes, and to the memory. */
  readonly enforced: { readonly processes: boolean; readonly memory: boolean };
}

const CHECK_MS = 50;
/** A look may take a tenth of the time; one at open files or at the whole workspace a fifth. */
const CHECK_SHARE = 10;
const LONG_CHECK_MS = 1_000;
const LONG_CHECK_SHARE = 5;
/** Writes below this size do not end a command even when little space is left. */
const SMALL_BYTES = 64 * 2 ** 20;
/** Clocks of file systems are a few milliseconds late. */
const CLOCK_MS = 1_000;
const FOLDERS_AT_ONCE = 16;
const BLOCK_BYTES = 512;
const KIB = 1_024;
/** Links that the folder of a process's threads has beside one for each of them. */
const OWN_LINKS = 2;

/**
 * Looks at what the processes of a sandbox use until they use too much of something, which is answered, or until the
 * signal aborts. Looks more seldom where a look takes long.
 */
export async function watchResources(
  watched: Watched,
  signal: AbortSignal,
): Promise<Excess | 'ended'> {
  const watch = new ResourceWatch(watched, signal);
  return Promise.race([watch.look(), watch.lookAtOpenFiles()]);
}

class ResourceWatch {
  private readonly since = Date.now() - CLOCK_MS;
  /** Bytes of open files without a name: on the file system of the workspace, and in memory. */
  private readonly unnamed = { disk: 0, memory: 0 };
  private nextWalk = 0;
  private isInSandbox = false;

  constructor(
    private readonly watched: Watched,
    private readonly signal: AbortSignal,
  ) {}

  async look(): Promise<Excess | 'ended'> {
    while (!this.signal.aborted) {
      const began = performance.now();
      const excess = await this.excess();
      if (excess) return excess;
      await this.pause(Math.max(CHECK_MS, (performance.now() - began) * CHECK_SHARE));
    }
    return 'ended';
  }

  async lookAtOpenFiles(): Promise<'ended'> {
    while (!this.signal.aborted) {
      const began = performance.now();
      await this.sumUnnamedFiles();
      await this.pause(Math.max(LONG_CHECK_MS, (performance.now() - began) * LONG_CHECK_SHARE));
    }
    return 'ended';
  }

  private async excess(): Promise<Excess | undefined> {
    if (!(await this.inSandbox())) return undefined;
    const { enforced, limits } = this.watched;
    if (!enforced.processes && (await this.tasks()) > PROCESSES) return 'processes';
    if (!enforced.memory && (await this.memory('status')) > limits.memoryBytes) {
      // Pages that processes share were counted for each of them.
      if ((await this.memory('smaps_rollup')) > limits.memoryBytes) return 'memory';
    }
    return this.diskExcess();
  }

  /** At first the sandbox's first process still has the machine's root, whose files are not the command's. */
  private async inSandbox(): Promise<boolean> {
    if (this.isInSandbox) return true;
    const [sandboxRoot, machine] = await Promise.all(
      [`/proc/${this.watched.first}/root`, '/'].map((root) => stat(root).catch(() => undefined)),
    );
    this.isInSandbox =
      !!sandboxRoot && (sandboxRoot.dev !== machine?.dev || sandboxRoot.ino !== machine.ino);
    return this.isInSandbox;
  }

  /** The sandbox's own /proc shows its processes and no others, and nothing in it can be put there by a command. */
  private async processes(): Promise<string[]> {
    const proc = `/proc/${this.watched.first}/root/proc`;
    const names = await readdir(proc).catch(() => []);
    return names.filter((name) => /^\d+$/.test(name)).map((name) => `${proc}/${name}`);
  }

  private async tasks(): Promise<number> {
    const processes = await this.processes();
    if (processes.length > PROCESSES) return processes.length;
    const counts = await Promise.all(
      processes.map(async (process) => {
        const stats = await stat(`${process}/task`).catch(() => undefined);
        return stats ? stats.nlink - OWN_LINKS : 0;
      }),
    );
    return total(counts);
  }

  /** Bytes of memory, and of swap, that the processes hold; without what the kernel can read from files again. */
  private async memory(source: 'status' | 'smaps_rollup'): Promise<number> {
    const processes = (await this.processes()).slice(0, PROCESSES);
    const texts = await Promise.all(
      processes.map((process) => readFile(`${process}/${source}`, 'latin1').catch(() => '')),
    );
    const sum = (pattern: RegExp): number =>
      total(texts.map((text) => KIB * Number(pattern.exec(text)?.[1] ?? 0)));
    const [unshared, shared] =
      source === 'status'
        ? [sum(/^RssAnon:\s+(\d+)/m) + sum(/^VmSwap:\s+(\d+)/m), sum(/^RssShmem:\s+(\d+)/m)]
        : [sum(/^Pss_Anon:\s+(\d+)/m) + sum(/^SwapPss:\s+(\d+)/m), sum(/^Pss_Shmem:\s+(\d+)/m)];
    const root = `/proc/${this.watched.first}/root`;
    const files = total(await Promise.all([`${root}/tmp`, `${root}/dev/shm`].map(usedIn)));
    // Mapped files of /tmp are in both.
    return unshared + Math.max(shared, files + this.unnamed.memory);
  }

  private async diskExcess(): Promise<Excess | undefined> {
    const { workspace, limits, before } = this.watched;
    const now = await spaceOf(workspace);
    if (!now || !before) return undefined;
    const bytes = before.bytes - now.bytes;
    if (bytes >= SMALL_BYTES && now.bytes < limits.freeBytes) return 'free-space';
    const files = before.files - now.files;
    // Others write to the file system, too: whose it is is looked for only when it would be too much.
    if (bytes <= limits.diskBytes && files <= limits.addedFiles) return undefined;
    if (performance.now() < this.nextWalk) return undefined;
    const began = performance.now();
    const changed = await changedSince(workspace, this.since, this.signal);
    this.nextWalk =
      performance.now() + Math.max(LONG_CHECK_MS, (performance.now() - began) * LONG_CHECK_SHARE);
    const written = changed.bytes + this.unnamed.disk;
    if (bytes > limits.diskBytes && written > limits.diskBytes) return 'disk';
    return files > limits.addedFiles && changed.files > limits.addedFiles ? 'files' : undefined;
  }

  private async sumUnnamedFiles(): Promise<void> {
    if (!(await this.inSandbox())) return;
    const root = await stat(this.watched.workspace, { bigint: true }).catch(() => undefined);
    const unlinked = new Map<string, BigIntStats>();
    for (const process of await this.processes()) {
      const open = await readdir(`${process}/fd`).catch(() => []);
      for (const name of open) {
        if (this.signal.aborted) return;
        const path = `${process}/fd/${name}`;
        const stats = await stat(path, { bigint: true }).catch(() => undefined);
        if (stats?.isFile() && stats.nlink === 0n) unlinked.set(`${stats.dev}:${stats.ino}`, stats);
      }
    }
    const files = [...unlinked.values()];
    const sum = (some: readonly BigIntStats[]): number =>
      total(some.map(({ blocks }) => Number(blocks) * BLOCK_BYTES));
    this.unnamed.disk = sum(files.filter((file) => file.dev === root?.dev));
    this.unnamed.memory = sum(files.filter((file) => file.dev !== root?.dev));
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** Undefined where it cannot be said. */
export async function spaceOf(path: string): Promise<Space | undefined> {
  const stats = await statfs(path).catch(() => undefined);
  return stats && { bytes: stats.bavail * stats.bsize, files: stats.ffree };
}

async function usedIn(path: string): Promise<number> {
  const stats = await statfs(path).catch(() => undefined);
  return stats ? (stats.blocks - stats.bfree) * stats.bsize : 0;
}

/**
 * Files of the workspace that were made or changed since, and the space that they take: a command can set back every time
 * of a file but this one.
 */
async function changedSince(
  root: string,
  since: number,
  signal: AbortSignal,
): Promise<{ bytes: number; files: number }> {
  const sum = { bytes: 0, files: 0 };
  const linked = new Set<number>();
  const pending: BytePath[] = [bytesOf(root)];
  const add = async (path: BytePath): Promise<void> => {
    const stats = await lstat(bufferOf(path)).catch(() => undefined);
    if (!stats || stats.ctimeMs < since || linked.has(stats.ino)) return;
    if (stats.nlink > 1 && !stats.isDirectory()) linked.add(stats.ino);
    sum.bytes += stats.blocks * BLOCK_BYTES;
    sum.files += 1;
  };
  const folder = async (path: BytePath): Promise<void> => {
    const options = { encoding: 'latin1', withFileTypes: true } as const;
    const entries: Dirent[] = await readdir(bufferOf(path), options).catch(() => []);
    for (const entry of entries) {
      if (signal.aborted) return;
      const below = joined(path, entry.name);
      await add(below);
      if (entry.isDirectory()) pending.push(below);
    }
  };
  while (pending.length > 0 && !signal.aborted) {
    await Promise.all(pending.splice(-FOLDERS_AT_ONCE).map((path) => folder(path)));
  }
  return sum;
}
