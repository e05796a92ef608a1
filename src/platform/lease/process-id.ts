import { createHash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';

/** `unknown`: it belongs to another host or container, or this system has no /proc. */
export type ProcessState = 'running' | 'ended' | 'unknown';

/** The namespace of the process numbers that this process sees; equal for processes that see each other. */
const namespace = namespaceOf();

/**
 * Names this process for others: its namespace, its number and when it started, because the system uses numbers again.
 * A row that is held by a process that has ended can be taken at once, without waiting for the end of its lease.
 */
export const processId = `${namespace}:${process.pid}:${ownStart()}`;

export function stateOfProcess(id: string): ProcessState {
  const [space, number, start] = id.split(':');
  if (space !== namespace || !/^\d+$/.test(number ?? '')) return 'unknown';
  try {
    return startOf(Number(number)) === start ? 'running' : 'ended';
  } catch {
    return 'unknown';
  }
}

function namespaceOf(): string {
  try {
    // An unprivileged user may not see the processes of others.
    const user = String(process.getuid?.());
    const kernel = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const facts = [kernel, readlinkSync('/proc/self/ns/pid'), user].join(' ');
    return createHash('sha256').update(facts).digest('hex').slice(0, 16);
  } catch {
    return randomUUID();
  }
}

function ownStart(): string | undefined {
  try {
    return startOf(process.pid);
  } catch {
    return undefined;
  }
}

/** The start of a process in clock ticks since the system booted (proc(5)); undefined when there is no such process. */
function startOf(number: number): string | undefined {
  const stat = statOf(number);
  // The name of the program stands in parentheses and may hold any character; the start is the 20th field after it.
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  // A zombie has ended and waits for its parent to notice.
  return state === 'Z' ? undefined : fields[18];
}

function statOf(number: number): string | undefined {
  try {
    return readFileSync(`/proc/${number}/stat`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
