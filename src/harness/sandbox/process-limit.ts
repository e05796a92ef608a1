import { readdir, stat } from 'node:fs/promises';
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
