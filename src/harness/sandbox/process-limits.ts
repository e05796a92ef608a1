import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Processes and threads of one command. */
export const PROCESSES = 256;
const CGROUPS = '/sys/fs/cgroup';
const NAME = 'plinth-sandbox';
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/**
 * A control group that holds a sandbox to 256 processes and threads, for a service that is root: the kernel's limit for a
 * user does not count for root, and a command of such a service is root outside of its sandbox. Where groups of version 2
 * hold the memory, too, it also holds the sandbox to its memory.
 */
export class ProcessGroup {
  private constructor(
    private readonly path: string,
    /** Whether it holds the sandbox to its memory. */
    readonly holdsMemory: boolean,
  ) {}

  /** Puts the process, and all that it will start, into a group; undefined where groups cannot be made. */
  static async around(process: number, memoryBytes: number): Promise<ProcessGroup | undefined> {
    for (const parent of await parents()) {
      const group = await ProcessGroup.make(parent, memoryBytes).catch(() => undefined);
      if (!group) continue;
      try {
        await writeFile(join(group.path, 'cgroup.procs'), String(process));
        return group;
      } catch {
        await group.remove();
      }
    }
    return undefined;
  }

  /** Whether the kernel has ended processes for want of memory. */
  async ranOutOfMemory(): Promise<boolean> {
    if (!this.holdsMemory) return false;
    const events = await readFile(join(this.path, 'memory.events'), 'utf8').catch(() => '');
    return /^oom_kill [1-9]/m.test(events);
  }

  /** After the last of its processes has gone. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES && existsSync(this.path); tries += 1) {
      await rmdir(this.path).catch(() => sleep(REMOVE_PAUSE_MS));
    }
  }

  private static async make(parent: string, memoryBytes: number): Promise<ProcessGroup> {
    await removeLeftovers(parent);
    const path = join(parent, `${NAME}-${process.pid}-${randomBytes(8).toString('hex')}`);
    await mkdir(path);
    try {
      await access(join(path, 'pids.max'));
      await writeFile(join(path, 'pids.max'), String(PROCESSES));
      return new ProcessGroup(path, await limitMemory(path, memoryBytes));
    } catch (error) {
      await new ProcessGroup(path, false).remove();
      throw error;
    }
  }
}

/** Groups in which one may be made: that of the service itself, and of version 2, where that may be full, the one above. */
async function parents(): Promise<string[]> {
  const { version1, version2 } = await ownGroups();
  if (version1 !== undefined) return [join(CGROUPS, 'pids', version1)];
  if (version2 === undefined) return [];
  const own = join(CGROUPS, version2);
  return own === CGROUPS ? [own] : [own, dirname(own)];
}

async function ownGroups(): Promise<{ version1?: string; version2?: string }> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n');
  const [, version1] = lines.map((line) => /^\d+:pids:(\/.*)$/.exec(line)).find(Boolean) ?? [];
  const [, version2] = lines.map((line) => /^0::(\/.*)$/.exec(line)).find(Boolean) ?? [];
  return { ...(version1 && { version1 }), ...(version2 && { version2 }) };
}

/**
 * Whether the group holds its processes to the memory, all of which are ended at the limit. A group beside that of the
 * service is not to have more than it. Groups of version 1 have the memory in another place, and are not made for it.
 */
async function limitMemory(group: string, bytes: number): Promise<boolean> {
  const { version1, version2 } = await ownGroups();
  if (version1 !== undefined || version2 === undefined) return false;
  const isThere = await access(join(group, 'memory.max')).then(
    () => true,
    () => false,
  );
  if (!isThere) return false;
  const own = await readFile(join(CGROUPS, version2, 'memory.max'), 'utf8').catch(() => 'max');
  const limit = Math.min(bytes, own.trim() === 'max' ? Infinity : Number(own));
  await writeFile(join(group, 'memory.max'), String(limit));
  await writeFile(join(group, 'memory.oom.group'), '1');
  // Absent where there is no swap.
  await writeFile(join(group, 'memory.swap.max'), '0').catch(() => undefined);
  return true;
}

/** Those of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, service] = new RegExp(`^${NAME}-(\\d+)-`).exec(name) ?? [];
    if (service === undefined || existsSync(`/proc/${service}`)) continue;
    await rmdir(join(parent, name)).catch(() => undefined);
  }
}
