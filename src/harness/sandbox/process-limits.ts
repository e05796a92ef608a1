import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Processes and threads of one command. */
export const PROCESSES = 256;
const LOOK_MS = 50;
/** Links that the folder of a process's threads has beside one for each of them. */
const OWN_LINKS = 2;

/**
 * For a service that is root and cannot make control groups (process-group.ts): counts, and answers 'too many' when there
 * are more than 256 processes and threads, and else 'ended' once the signal aborts.
 */
export async function watchProcesses(
  first: number,
  signal: AbortSignal,
): Promise<'too many' | 'ended'> {
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    if ((await tasksOf(first)) > PROCESSES) return 'too many';
  }
  return 'ended';
}

/** The sandbox's own /proc shows its processes and no others, and nothing in it can be put there by a command. */
async function tasksOf(first: number): Promise<number> {
  const proc = `/proc/${first}/root/proc`;
  const names = await readdir(proc).catch(() => []);
  const processes = names.filter((name) => /^\d+$/.test(name));
  if (processes.length > PROCESSES) return processes.length;
  const counts = await Promise.all(
    processes.map(async (name) => {
      const found = await stat(`${proc}/${name}/task`).catch(() => undefined);
      return found ? found.nlink - OWN_LINKS : 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

const CGROUPS = '/sys/fs/cgroup';
const NAME = 'plinth-sandbox';
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

/**
 * A control group that holds a sandbox to 256 processes and threads, for a service that is root: the kernel's limit for a
 * user does not count for root, and a command of such a service is root outside of its sandbox.
 */
export class ProcessGroup {
  private constructor(private readonly path: string) {}

  /** Puts the process, and all that it will start, into a group; undefined where groups cannot be made. */
  static async around(process: number): Promise<ProcessGroup | undefined> {
    for (const parent of await parents()) {
      const group = await ProcessGroup.make(parent).catch(() => undefined);
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

  /** After the last of its processes has gone. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES && existsSync(this.path); tries += 1) {
      await rmdir(this.path).catch(() => sleep(REMOVE_PAUSE_MS));
    }
  }

  private static async make(parent: string): Promise<ProcessGroup | undefined> {
    await removeLeftovers(parent);
    const name = `${NAME}-${process.pid}-${randomBytes(8).toString('hex')}`;
    const group = new ProcessGroup(join(parent, name));
    await mkdir(group.path);
    try {
      await access(join(group.path, 'pids.max'));
      await writeFile(join(group.path, 'pids.max'), String(PROCESSES));
      await copyMemoryLimit(group.path);
      return group;
    } catch {
      await group.remove();
      return undefined;
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

/** A group beside that of the service is not to have more memory than it: version 2 has both limits in one place. */
async function copyMemoryLimit(group: string): Promise<void> {
  const { version1, version2 } = await ownGroups();
  if (version1 !== undefined || version2 === undefined) return;
  const limit = await readFile(join(CGROUPS, version2, 'memory.max'), 'utf8').catch(() => 'max');
  if (limit.trim() !== 'max') await writeFile(join(group, 'memory.max'), limit.trim());
}

/** Those of services that were killed. */
async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, service] = new RegExp(`^${NAME}-(\\d+)-`).exec(name) ?? [];
    if (service === undefined || existsSync(`/proc/${service}`)) continue;
    await rmdir(join(parent, name)).catch(() => undefined);
  }
}
