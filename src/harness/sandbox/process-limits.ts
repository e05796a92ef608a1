import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupParent, memoryLimitOf, ownGroup } from './control-groups.js';
import type { Controller } from './control-groups.js';

/** Processes and threads of one command. */
export const PROCESSES = 256;
const NAME = 'plinth-sandbox';
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/** `cgroup`: the kernel, by a control group. `rlimit`: the kernel, by a limit of the user, which does not count for root. */
export const PROCESS_LIMIT_HOLDERS = ['cgroup', 'rlimit', 'watcher'] as const;
export const MEMORY_LIMIT_HOLDERS = ['cgroup', 'watcher'] as const;

/** What keeps a command from having too many processes, and too much memory. */
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
    /** What it may have of memory: where the service itself may have less than a command, as much as the service. */
    readonly memoryBytes: number,
  ) {}

  /** Puts the process, and all that it will start, into a group; undefined where groups cannot be made. */
  static async around(process: number, memoryBytes: number): Promise<ProcessGroup | undefined> {
    const own = await ownGroup();
    const parent = own && (await groupParent(own));
    if (!own || !parent) return undefined;
    await removeLeftovers(parent.path);
    const path = join(parent.path, nameOfGroup());
    const holds = new Set(parent.controllers);
    // A group beside that of the service is not to have more than it.
    const most = holds.has('memory') ? await memoryLimitOf(own) : Infinity;
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

  /** Who ends a command in this group, or in none. */
  static holdersOf(group: ProcessGroup | undefined, asRoot: boolean): LimitHolders {
    const otherwise = asRoot ? 'watcher' : 'rlimit';
    return {
      processes: group?.holds.has('pids') ? 'cgroup' : otherwise,
      memory: group?.holds.has('memory') ? 'cgroup' : 'watcher',
    };
  }

  /** For want of whose memory the kernel has ended processes: that of the group, or of more than it. */
  async ranOutOfMemory(): Promise<'memory' | 'system-memory' | undefined> {
    if (!this.holds.has('memory')) return undefined;
    const events = await readFile(join(this.path, 'memory.events'), 'utf8').catch(() => '');
    if (!/^oom_kill [1-9]/m.test(events)) return undefined;
    return /^oom [1-9]/m.test(events) ? 'memory' : 'system-memory';
  }

  /** After the last of its processes has gone. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES && existsSync(this.path); tries += 1) {
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

/** Those of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const [, service] = new RegExp(`^${NAME}-(\\d+)-`).exec(name) ?? [];
    if (service === undefined || existsSync(`/proc/${service}`)) continue;
    await rmdir(join(parent, name)).catch(() => undefined);
  }
}
