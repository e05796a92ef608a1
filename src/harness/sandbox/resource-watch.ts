import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, readdir, readFile, stat, statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bufferOf, bytesOf, joined } from './mount.js';
import type { BytePath } from './mount.js';
import { PROCESSES } from './process-limits.js';

/** What one command may use, all its processes together. */
export interface CommandLimits {
  readonly memoryBytes: number;
  /** What the workspace may grow by. */
  readonly diskBytes: number;
  /** What must stay free on the file system of the workspace. */
  readonly freeBytes: number;
  /** Files and folders that it may add. */
  readonly addedFiles: number;
}

/** What a command had too much of. */
export type Excess = 'processes' | 'memory' | 'disk' | 'files' | 'free-space';

/** What is free on a file system. */
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
  /** What was free before the command. */
  readonly before: Space | undefined;
  /** Whether the kernel holds the command to the number of processes, and to the memory. */
  readonly held: { readonly processes: boolean; readonly memory: boolean };
}

const LOOK_MS = 50;
/** A look may take a tenth of the time; one at open files or at the whole workspace a fifth. */
const LOOK_PART = 10;
const LONG_LOOK_MS = 1_000;
const LONG_LOOK_PART = 5;
/** What is written where there is little space left, and is not worth ending a command for. */
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
  /** Of files that no folder has any more, or never had: on the file system of the workspace, and in memory. */
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
      await this.pause(Math.max(LOOK_MS, (performance.now() - began) * LOOK_PART));
    }
    return 'ended';
  }

  async lookAtOpenFiles(): Promise<'ended'> {
    while (!this.signal.aborted) {
      const began = performance.now();
      await this.sumUnnamedFiles();
      await this.pause(Math.max(LONG_LOOK_MS, (performance.now() - began) * LONG_LOOK_PART));
    }
    return 'ended';
  }

  private async excess(): Promise<Excess | undefined> {
    if (!(await this.inSandbox())) return undefined;
    const { held, limits } = this.watched;
    if (!held.processes && (await this.tasks()) > PROCESSES) return 'processes';
    if (!held.memory && (await this.memory('status')) > limits.memoryBytes) {
      // Pages that processes share were counted for each of them.
      if ((await this.memory('smaps_rollup')) > limits.memoryBytes) return 'memory';
    }
    return this.diskExcess();
  }

  /** For its first moments the first process has the root of the machine, whose processes and files are not the command's. */
  private async inSandbox(): Promise<boolean> {
    if (this.isInSandbox) return true;
    const [own, machine] = await Promise.all(
      [`/proc/${this.watched.first}/root`, '/'].map((root) => stat(root).catch(() => undefined)),
    );
    this.isInSandbox = !!own && (own.dev !== machine?.dev || own.ino !== machine.ino);
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
        const found = await stat(`${process}/task`).catch(() => undefined);
        return found ? found.nlink - OWN_LINKS : 0;
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
    const [own, shared] =
      source === 'status'
        ? [sum(/^RssAnon:\s+(\d+)/m) + sum(/^VmSwap:\s+(\d+)/m), sum(/^RssShmem:\s+(\d+)/m)]
        : [sum(/^Pss_Anon:\s+(\d+)/m) + sum(/^SwapPss:\s+(\d+)/m), sum(/^Pss_Shmem:\s+(\d+)/m)];
    const root = `/proc/${this.watched.first}/root`;
    const files = total(await Promise.all([`${root}/tmp`, `${root}/dev/shm`].map(usedIn)));
    // Mapped files of /tmp are in both.
    return own + Math.max(shared, files + this.unnamed.memory);
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
      performance.now() + Math.max(LONG_LOOK_MS, (performance.now() - began) * LONG_LOOK_PART);
    const written = changed.bytes + this.unnamed.disk;
    if (bytes > limits.diskBytes && written > limits.diskBytes) return 'disk';
    return files > limits.addedFiles && changed.files > limits.addedFiles ? 'files' : undefined;
  }

  private async sumUnnamedFiles(): Promise<void> {
    if (!(await this.inSandbox())) return;
    const root = await stat(this.watched.workspace, { bigint: true }).catch(() => undefined);
    const seen = new Map<string, BigIntStats>();
    for (const process of await this.processes()) {
      const open = await readdir(`${process}/fd`).catch(() => []);
      for (const name of open) {
        if (this.signal.aborted) return;
        const path = `${process}/fd/${name}`;
        const found = await stat(path, { bigint: true }).catch(() => undefined);
        if (found?.isFile() && found.nlink === 0n) seen.set(`${found.dev}:${found.ino}`, found);
      }
    }
    const files = [...seen.values()];
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
  const found = await statfs(path).catch(() => undefined);
  return found && { bytes: found.bavail * found.bsize, files: found.ffree };
}

async function usedIn(path: string): Promise<number> {
  const found = await statfs(path).catch(() => undefined);
  return found ? (found.blocks - found.bfree) * found.bsize : 0;
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
    const found = await lstat(bufferOf(path)).catch(() => undefined);
    if (!found || found.ctimeMs < since || linked.has(found.ino)) return;
    if (found.nlink > 1 && !found.isDirectory()) linked.add(found.ino);
    sum.bytes += found.blocks * BLOCK_BYTES;
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
