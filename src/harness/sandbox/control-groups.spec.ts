import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { groupParent, memoryLimitOf, ownGroup } from './resource-limits.js';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plinth-groups-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function read(name: string): Promise<string> {
  return readFile(join(folder, name), 'utf8');
}

describe('the group of a process', () => {
  const unified =
    '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n';
  const first = '31 23 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n';
  const both = '31 23 0:27 / /cg/both rw - cgroup cgroup rw,cpu,pids\n';
  const hybrid = '32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n';
  const service = '/system.slice/plinth.service';
  const top = '/sys/fs/cgroup';

  it.each([
    ['of version 2', `0::${service}\n`, unified, { version: 2, path: `${top}${service}`, top }],
    ['that is the topmost', '0::/\n', unified, { version: 2, path: top, top }],
    [
      'of version 1, where that has the controller',
      `9:name=systemd:/\n8:pids:${service}\n0::${service}\n`,
      hybrid + first,
      { version: 1, path: `${top}/pids${service}`, top: `${top}/pids` },
    ],
    [
      'of version 1 with several controllers',
      '8:cpu,pids:/a\n0::/\n',
      both,
      { version: 1, path: '/cg/both/a', top: '/cg/both' },
    ],
    [
      'of version 2 in another place, where version 1 lacks the controller',
      '4:memory:/a\n0::/b\n',
      hybrid,
      { version: 2, path: `${top}/unified/b`, top: `${top}/unified` },
    ],
    [
      'in a container that sees only its own part',
      '0::/docker/abc/sub\n',
      unified.replace(' / ', ' /docker/abc '),
      { version: 2, path: `${top}/sub`, top },
    ],
    [
      'below a mount point with blanks',
      '0::/a\n',
      unified.replace(top, String.raw`/my\040groups`),
      { version: 2, path: '/my groups/a', top: '/my groups' },
    ],
  ])('is one %s', async (_, cgroup, mountinfo, expected) => {
    await write({ cgroup, mountinfo });
    expect(await ownGroup(folder)).toEqual(expected);
  });

  it.each([
    ['in a part that is not mounted', '0::/docker/abc\n', unified.replace(' / ', ' /docker/xyz ')],
    ['outside of the namespace', '0::/../abc\n', unified],
    ['below a mount from outside', '0::/\n', unified.replace(' / ', ' /../.. ')],
    ['without a mount', '0::/\n', first],
    ['of nothing', '', unified],
  ])('is not known %s', async (_, cgroup, mountinfo) => {
    await write({ cgroup, mountinfo });
    expect(await ownGroup(folder)).toBeUndefined();
  });

  it('is not known without /proc', async () => {
    expect(await ownGroup(join(folder, 'nowhere'))).toBeUndefined();
  });
});

// Files that only look like groups: what the kernel does about them is shown by test/integration/harness/control-groups.spec.ts.
describe('groups for commands', () => {
  const kind = { 'cgroup.type': 'domain\n' };
  const offering = { ...kind, 'cgroup.procs': '', 'cgroup.controllers': 'cpu memory pids\n' };

  async function groups(files: Record<string, Record<string, string>>): Promise<void> {
    for (const [group, content] of Object.entries(files)) {
      const named = Object.entries(content).map(([name, text]) => [join(group, name), text]);
      await write(Object.fromEntries(named) as Record<string, string>);
    }
  }

  function own(path: string): { version: 2; path: string; top: string } {
    return { version: 2, path: join(folder, path), top: folder };
  }

  it('are made beside that of the service, where the group above has given its controllers', async () => {
    await groups({
      slice: { ...offering, 'cgroup.subtree_control': 'memory pids\n' },
      'slice/service': { ...offering, 'cgroup.procs': '7\n', 'cgroup.subtree_control': '' },
    });
    const parent = await groupParent(own('slice/service'));
    expect(parent).toEqual({ path: join(folder, 'slice'), controllers: ['memory', 'pids'] });
    expect(await read('slice/service/cgroup.subtree_control')).toBe('');
  });

  it('are given what the group above has, where that has no processes', async () => {
    await groups({
      unit: { ...offering, 'cgroup.subtree_control': '' },
      'unit/main': { ...kind, 'cgroup.procs': '7\n', 'cgroup.controllers': '' },
    });
    await groupParent(own('unit/main'));
    expect(await read('unit/cgroup.subtree_control')).toBe('+memory +pids');
  });

  it('are given nothing by a group above that has processes', async () => {
    await groups({
      scope: { ...offering, 'cgroup.procs': '0\n', 'cgroup.subtree_control': '' },
      'scope/main': { ...kind, 'cgroup.procs': '7\n', 'cgroup.controllers': '' },
    });
    await groupParent(own('scope/main'));
    expect(await read('scope/cgroup.subtree_control')).toBe('');
  });

  it('are given what the topmost group has, with processes in it', async () => {
    const { 'cgroup.controllers': has } = offering;
    await write({ 'cgroup.procs': '1\n7\n', 'cgroup.controllers': has });
    await write({ 'cgroup.subtree_control': 'cpu pids\n' });
    const parent = await groupParent(own(''));
    expect(await read('cgroup.subtree_control')).toBe('+memory +pids');
    // Nothing here carries it out.
    expect(parent).toBeUndefined();
  });

  it('hold to one of both, where there is no more', async () => {
    await groups({
      slice: { ...offering, 'cgroup.procs': '9\n', 'cgroup.subtree_control': 'cpu pids\n' },
      'slice/service': { ...kind, 'cgroup.procs': '7\n', 'cgroup.controllers': 'cpu pids\n' },
    });
    const parent = await groupParent(own('slice/service'));
    expect(parent).toEqual({ path: join(folder, 'slice'), controllers: ['pids'] });
  });

  it('of version 1 are made in the own one, for processes alone', async () => {
    const path = join(folder, 'pids');
    const parent = await groupParent({ version: 1, path, top: folder });
    expect(parent).toEqual({ path, controllers: ['pids'] });
  });

  it('have no more memory than any group above the service', async () => {
    await write({ 'unit/memory.max': '300\n', 'unit/main/memory.max': 'max\n' });
    expect(await memoryLimitOf(own('unit/main'))).toBe(300);
    expect(await memoryLimitOf(own(''))).toBe(Infinity);
  });
});
