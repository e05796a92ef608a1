import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { chown, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { groupParent, ownGroup } from '../../../src/harness/sandbox/resource-limits.js';
import type { GroupParent, LimitHolders } from '../../../src/harness/sandbox/resource-limits.js';
import { eventually } from '../../support/wait.js';

// Groups of version 2 as services are given them. scripts/cgroup2-machine.sh runs this where the machine has version 1.

const IN_GROUP = fileURLToPath(new URL('../../support/sandbox-in-group.ts', import.meta.url));
const ROOT = 0;
const USER = 65_534;
const KERNEL: LimitHolders = { processes: 'cgroup', memory: 'cgroup' };
const TOO_MUCH = `perl -e '$m = 300 << 20; $x = "x" x $m; sleep 99'`;
const OVER = 'it used more than 128 MiB of memory';

interface Answer {
  readonly group: string;
  readonly results: readonly {
    readonly limitsBy: LimitHolders;
    readonly exceeded: string | null;
    readonly exitCode: number | null;
    readonly output: string;
  }[];
}

/** Where the tests can make groups; undefined where they cannot, which is said. */
const place = await placeOfTests();
const describeHere = place ? describe : describe.skip;

async function placeOfTests(): Promise<GroupParent | undefined> {
  const own = await ownGroup();
  const found = process.getuid?.() === 0 && own?.version === 2 ? await groupParent(own) : undefined;
  if (found?.controllers.length === 2) return found;
  const why = 'they need root and control groups of version 2 (scripts/cgroup2-machine.sh)';
  process.stderr.write(`Skipped: tests of control groups; ${why}.\n`);
  return undefined;
}

describeHere('a service', () => {
  let above = '';
  let own = '';

  beforeEach(async () => {
    above = join(place?.path ?? '', `plinth-test-${randomBytes(6).toString('hex')}`);
    own = join(above, 'unit');
    await mkdir(above);
    await writeFile(join(above, 'cgroup.subtree_control'), '+memory +pids');
    await mkdir(own);
  });

  afterEach(async () => {
    await removeGroups(above);
  });

  it('as root, beside its own group', async () => {
    const { group, results } = await start(own, ROOT, [TOO_MUCH]);
    expect(results).toMatchObject([{ limitsBy: KERNEL, exceeded: OVER }]);
    expect(group).toMatch(/\/unit$/);
    expect(groupsIn(above)).toEqual(['unit']);
  });

  it('as a user, in a group that was made over to it', async () => {
    await delegate(own);
    const { group, results } = await start(own, USER, [TOO_MUCH, 'echo fine', TOO_MUCH]);
    const over = { limitsBy: KERNEL, exceeded: OVER, exitCode: null };
    const fine = { limitsBy: KERNEL, exceeded: null, output: 'fine\n' };
    expect(results).toMatchObject([over, fine, over]);
    expect(group).toMatch(/\/unit\/plinth-service$/);
    expect(groupsIn(own)).toEqual(['plinth-service']);
  });

  it('as a user, in a subgroup of one that was made over to it', async () => {
    const subgroup = join(own, 'main');
    await mkdir(subgroup);
    await delegate(own);
    await delegate(subgroup);
    const { group, results } = await start(subgroup, USER, [TOO_MUCH]);
    expect(results).toMatchObject([{ limitsBy: KERNEL, exceeded: OVER }]);
    expect(group).toMatch(/\/unit\/main$/);
    expect(groupsIn(own)).toEqual(['main']);
  });

  it('as a user that was given no group', async () => {
    const { group, results } = await start(own, USER, [TOO_MUCH]);
    const limitsBy = { processes: 'rlimit', memory: 'watcher' };
    expect(results).toMatchObject([{ limitsBy, exceeded: OVER }]);
    expect(group).toMatch(/\/unit$/);
  });

  it.each([
    ['that may write its groups', 'rw', ROOT, KERNEL],
    ['that may not', 'ro', ROOT, { processes: 'watcher', memory: 'watcher' }],
    ['that may not, as a user', 'ro', USER, { processes: 'rlimit', memory: 'watcher' }],
  ])('in a container %s', async (_, mode, user, limitsBy) => {
    const { group, results } = await start(own, user, [TOO_MUCH], { container: mode });
    expect(results).toMatchObject([{ limitsBy, exceeded: OVER }]);
    expect(group).toBe(mode === 'rw' ? '0::/plinth-service' : '0::/');
  });

  it('in a container, as a user whom root has given its group', async () => {
    await delegate(own);
    const { group, results } = await start(own, USER, [TOO_MUCH], { container: 'rw' });
    expect(results).toMatchObject([{ limitsBy: KERNEL, exceeded: OVER }]);
    expect(group).toBe('0::/plinth-service');
  });

  it('with less memory than a command may have', async () => {
    await writeFile(join(own, 'memory.max'), String(250 * 2 ** 20));
    const { results } = await start(own, ROOT, [TOO_MUCH], { memoryMib: 1_024 });
    expect(results).toMatchObject([{ exceeded: 'it used more than 250 MiB of memory' }]);
  });

  it('whose groups together have no memory left', async () => {
    await writeFile(join(above, 'memory.max'), String(400 * 2 ** 20));
    await delegate(own);
    const hold = 'head -c 390M /dev/zero > /tmp/large; sleep 99';
    const { results } = await start(own, USER, [hold], { memoryMib: 399 });
    const exceeded = 'the memory of the system, or of the service, ran out';
    expect(results).toMatchObject([{ exceeded, limitsBy: KERNEL }]);
  });

  it('and no more processes in a command than allowed', async () => {
    await delegate(own);
    const many = `perl -e '$| = 1; while ($n < 1000) { $p = fork; last if !defined $p; if (!$p) { sleep 60; exit } $n++ } print $n'`;
    const { results } = await start(own, USER, [many]);
    const count = Number(results[0]?.output);
    expect(count).toBeGreaterThan(200);
    expect(count).toBeLessThan(256);
  });

  it('that was killed leaves a group that the next one removes', async () => {
    await delegate(own);
    const left = join(own, 'plinth-sandbox-4194304-left');
    await mkdir(left);
    await start(own, USER, ['true']);
    expect(groupsIn(own)).toEqual(['plinth-service']);
  });
});

/** Makes a group over to the user, as systemd does with Delegate=yes. */
async function delegate(group: string): Promise<void> {
  for (const file of ['', 'cgroup.procs', 'cgroup.subtree_control', 'cgroup.threads']) {
    await chown(join(group, file), USER, USER);
  }
}

/** Runs commands in a service of this group; `container`: as the topmost that it sees, mounted with this option. */
async function start(
  group: string,
  user: number,
  commands: readonly string[],
  { container, memoryMib = 128 }: { container?: string; memoryMib?: number } = {},
): Promise<Answer> {
  const service = [process.execPath, IN_GROUP, String(user), String(memoryMib), ...commands];
  const enter = `echo $$ > '${group}/cgroup.procs' && exec "$@"`;
  const mount = [
    'umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    `mount -o remount,bind,${container} /sys/fs/cgroup && exec "$@"`,
  ].join(' && ');
  const contained = ['unshare', '--cgroup', '--mount', 'sh', '-c', mount, 'sh'];
  const program = ['-c', enter, 'sh', ...(container ? contained : []), ...service];
  const { stdout } = await promisify(execFile)('sh', program);
  return JSON.parse(stdout.split('\n').at(-1) ?? '') as Answer;
}

function groupsIn(group: string): string[] {
  return readdirSync(group, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

async function removeGroups(group: string): Promise<void> {
  for (const name of groupsIn(group)) await removeGroups(join(group, name));
  await eventually(
    () =>
      rmdir(group).then(
        () => true,
        () => false,
      ),
    Boolean,
  );
}
