import { readdirSync, readFileSync } from 'node:fs';

/**
 * Starts watching how much of the machine other programs use; the answered function says it in per cent of all cores.
 * What they take is missing in the measured numbers.
 */
export function watchOthers() {
  const before = snapshot();
  return () => {
    const after = snapshot();
    const others = after.busy - before.busy - (after.own - before.own);
    return (100 * Math.max(0, others)) / (after.all - before.all);
  };
}

/** Clock ticks since the boot: of all cores, those in use, and those used by this process and all below it. */
function snapshot() {
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user, nice, system, idle, waiting, ...interrupts] = line
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = user + nice + system + interrupts.reduce((sum, ticks) => sum + ticks, 0);
  return { busy, all: busy + idle + waiting, own: ownTicks() };
}

function ownTicks() {
  return familyOf(process.pid).reduce((sum, { ticks }) => sum + ticks, 0);
}

/** The process and all that descend from it, parents first, with the clock ticks that each has used. */
export function familyOf(pid) {
  const all = allProcesses();
  const family = all.filter((one) => one.pid === pid);
  for (const member of family) family.push(...all.filter(({ parent }) => parent === member.pid));
  return family;
}

function allProcesses() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => statOf(pid) ?? []);
}

/** A process may end while it is looked at. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may hold anything; the fields after it are those of proc(5) from the third on.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    // User and system time, its own and that of its ended children.
    const ticks = fields.slice(11, 15).reduce((sum, part) => sum + part, 0);
    return { pid: Number(pid), parent: fields[1], ticks };
  } catch {
    return undefined;
  }
}
