import { constants } from 'node:fs';
import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** What a group can hold its processes to. */
export type Controller = 'pids' | 'memory';

const CONTROLLERS: readonly Controller[] = ['memory', 'pids'];
/** Where this service puts itself in a group that it divides. */
const SERVICE = 'plinth-service';
/** A process may start another one while they are moved. */
const MOVES = 20;

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
  const found = first ?? groups.find((line) => line.startsWith('0::'));
  const [, path] = /^\d+:[^:]*:(\/.*)$/.exec(found ?? '') ?? [];
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

/** Of a path in a namespace of groups: what is not in it is told by steps up. */
function isOutside(path: string): boolean {
  return path.split('/').includes('..');
}

/** Two commands at once must not move the processes of one another. */
let earlier: Promise<unknown> = Promise.resolve();

/**
 * Where groups for commands can be made, prepared for it; undefined where nowhere. Groups of version 1 are made for the
 * number of processes alone.
 */
export async function groupParent(own: OwnGroup): Promise<GroupParent | undefined> {
  if (own.version === 1) return { path: own.path, controllers: ['pids'] };
  const found = earlier.then(() => preparedParent(own));
  earlier = found.catch(() => undefined);
  return found;
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
async function preparedParent({ path: own, top }: OwnGroup): Promise<GroupParent | undefined> {
  const steps: (() => Promise<string>)[] = [];
  if (own !== top) {
    const above = dirname(own);
    steps.push(
      async () => above,
      async () => enable(above),
    );
  }
  steps.push(
    async () => enable(own),
    async () => ((await isGiven(own, top)) ? enable(await divide(own)) : own),
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
  for (let moves = 0; moves < MOVES; moves += 1) {
    const processes = await processesOf(group);
    if (processes.every((process) => process === '0')) break;
    for (const process of processes.filter((name) => name !== '0')) {
      // It may have ended.
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

/** Those of a file of the kernel, without the last, empty one; none where it cannot be read. */
async function lines(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean);
}
