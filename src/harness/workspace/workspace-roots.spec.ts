import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { TenantLifecycle } from '../../platform/access/index.js';
import { ConfigError, loadConfig } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { DomainError } from '../../platform/error/index.js';
import { packageFolder } from '../../platform/filesystem/index.js';
import { WorkspaceRoots } from './workspace-roots.js';

const FIRST = '000000';
const SECOND = '000001';
const NOT_FOUND = 'WORKSPACE_NOT_FOUND';
const NOT_ALLOWED = 'WORKSPACE_NOT_ALLOWED';
const SERVER = {
  DATABASE_URL: 'postgres://plinth@localhost/plinth',
  SECRET_KEY: 'a-secret-of-at-least-thirty-two-characters',
};

let place: string;
let lifecycle: TenantLifecycle;

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-roots-')));
  lifecycle = new TenantLifecycle();
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

/** The roots of an installation whose data is in `place/data`. No statement is sent: the database stays closed. */
function rootsWith(environment: Record<string, string> = {}): WorkspaceRoots {
  const config = loadConfig({ DATA_DIR: join(place, 'data'), ...environment });
  return new WorkspaceRoots(config, new Database(new DataSource({ type: 'postgres' })), lifecycle);
}

function folder(...names: string[]): string {
  const path = join(place, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** What a client learns: code and error code. */
async function refusal(work: Promise<unknown>): Promise<[number, unknown]> {
  const error = await work.then(
    (found) => new Error(`found ${JSON.stringify(found)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DomainError)) throw error;
  expect(error.message).toMatch(/\. \w/);
  return [error.code, (error.data as { errorCode: string }).errorCode];
}

describe('a folder below a root', () => {
  it('is found by its absolute path and by one below the first root', async () => {
    const path = folder('ws', 'project');
    const roots = rootsWith({ HARNESS_ROOTS: join(place, 'ws') });
    const { dev, ino } = statSync(path, { bigint: true });
    const found = { path, identity: `${dev}:${ino}` };

    expect(await roots.resolve(FIRST, path)).toEqual(found);
    expect(await roots.resolve(FIRST, 'project')).toEqual(found);
    expect(await roots.resolve(FIRST, './project/')).toEqual(found);
    expect(await roots.resolve(FIRST, join(place, 'ws', 'x', '..', 'project'))).toEqual(found);
    await roots.check(FIRST, found.path, found.identity);
  });

  it('may be the root itself, which stands for no path where it is the only one', async () => {
    const ws = folder('ws');
    const other = folder('other');
    const one = rootsWith({ HARNESS_ROOTS: ws });
    const two = rootsWith({ HARNESS_ROOTS: `${ws},${other}` });

    expect(await one.resolve(FIRST)).toMatchObject({ path: ws });
    expect(await one.resolve(FIRST, '')).toMatchObject({ path: ws });
    expect(await refusal(two.resolve(FIRST))).toEqual([400, NOT_ALLOWED]);
    expect(await two.resolve(FIRST, '.')).toMatchObject({ path: ws });
    expect(await two.resolve(FIRST, other)).toMatchObject({ path: other });
  });

  it('is told without links, also below a root that is one', async () => {
    const path = folder('real', 'project');
    symlinkSync(join(place, 'real'), join(place, 'link'));
    symlinkSync(path, join(place, 'real', 'alias'));
    const roots = rootsWith({ HARNESS_ROOTS: join(place, 'link') });

    expect(await roots.resolve(FIRST, 'project')).toMatchObject({ path });
    expect(await roots.resolve(FIRST, 'alias')).toMatchObject({ path });
    expect(await roots.resolve(FIRST, join(place, 'link', 'project'))).toMatchObject({ path });
    expect(await roots.resolve(FIRST, path)).toMatchObject({ path });
  });
});

describe('what is answered like a folder that is not there', () => {
  it.each<[string, () => string]>([
    ['one that is not there', () => 'nothing'],
    ['one that was never a root', () => folder('elsewhere')],
    ['a sibling whose name begins like the root', () => folder('ws-evil')],
    ['a step up', () => '../ws-evil'],
    ['the folder above', () => '..'],
    ['the root of the system', () => '/'],
    ['a path with a NUL', () => 'a\0b'],
    ['a path with a line break', () => (folder('ws', 'a\nb'), 'a\nb')],
    ['a path that is too long', () => 'a/'.repeat(5_000)],
    [
      'a file',
      () => {
        writeFileSync(join(folder('ws'), 'file'), '');
        return 'file';
      },
    ],
    [
      'a link to the outside',
      () => {
        symlinkSync(folder('elsewhere'), join(folder('ws'), 'link'));
        return 'link';
      },
    ],
    [
      'a dangling link',
      () => {
        symlinkSync(join(place, 'nothing'), join(folder('ws'), 'link'));
        return 'link';
      },
    ],
    [
      'a link to the workspace of another tenant',
      () => {
        symlinkSync(folder('theirs', 'project'), join(folder('ws'), 'link'));
        return 'link';
      },
    ],
    ['the workspace of another tenant', () => folder('theirs', 'project')],
    ['the root of another tenant', () => folder('theirs')],
  ])('%s', async (_, path) => {
    folder('ws');
    folder('ws-evil');
    const roots = rootsWith({
      HARNESS_ROOTS: `${join(place, 'ws')}, ${SECOND}=${join(place, 'theirs')}`,
    });
    const given = path();
    expect(await refusal(roots.resolve(FIRST, given))).toEqual([404, NOT_FOUND]);
    const missing = await roots.resolve(FIRST, 'nothing').catch((error: unknown) => error);
    const found = await roots.resolve(FIRST, given).catch((error: unknown) => error);
    expect(found).toEqual(missing);
  });

  it('a folder in which links bring the roots of two tenants together', async () => {
    folder('ws', 'project');
    symlinkSync(join(place, 'ws', 'project'), join(place, 'link'));
    const roots = rootsWith({
      HARNESS_ROOTS: `${join(place, 'ws')}, ${SECOND}=${join(place, 'link')}`,
    });
    expect(await refusal(roots.resolve(FIRST, 'project'))).toEqual([404, NOT_FOUND]);
    expect(await refusal(roots.resolve(FIRST, '.'))).toEqual([404, NOT_FOUND]);
    expect(await refusal(roots.resolve(SECOND, '.'))).toEqual([404, NOT_FOUND]);
  });

  it('every folder when the root itself is not there', async () => {
    const roots = rootsWith({ HARNESS_ROOTS: join(place, 'nothing') });
    expect(await refusal(roots.resolve(FIRST, 'x'))).toEqual([404, NOT_FOUND]);
  });
});

describe('a folder that the service keeps for itself', () => {
  it.each<[string, () => string]>([
    ['the data', () => folder('data')],
    ['a folder of the data', () => folder('data', 'harness')],
    ['the workspaces of all tenants in the data', () => folder('data', 'workspaces')],
    ['what holds the data', () => place],
    ['the home folder', () => homedir()],
    [
      'the whole system, behind a link',
      () => {
        if (!existsSync(join(place, 'all'))) symlinkSync('/', join(place, 'all'));
        return join(place, 'all');
      },
    ],
    ['the program', () => packageFolder(import.meta.url)],
    ['a folder of the program', () => join(packageFolder(import.meta.url), 'src')],
    ['what holds the program', () => dirname(packageFolder(import.meta.url))],
    ['a folder of the system', () => '/etc'],
    ['the processes', () => '/proc'],
    ['settings', () => folder('ws', '.git')],
    ['pipelines', () => folder('ws', '.github', 'workflows')],
    ['secrets', () => folder('ws', '.ssh')],
  ])('is no workspace: %s', async (_, path) => {
    folder('data');
    const roots = rootsWith({ HARNESS_ROOTS: [join(place, 'ws'), path()].join(',') });
    expect(await refusal(roots.resolve(FIRST, path()))).toEqual([400, NOT_ALLOWED]);
  });

  it('is no root either where it is the whole system', () => {
    expect(() => rootsWith({ HARNESS_ROOTS: '/' })).toThrow(ConfigError);
    expect(() => rootsWith({ HARNESS_ROOTS: 'relative/folder' })).toThrow(/HARNESS_ROOTS/);
    expect(() => rootsWith({ HARNESS_ROOTS: `/srv/a,${SECOND}=/srv/a/b` })).toThrow(
      /must not nest the folder of one tenant in that of another/,
    );
    expect(() => rootsWith({ HARNESS_ROOTS: `/srv/a,${SECOND}=/srv/a` })).toThrow(ConfigError);
  });
});

describe('without HARNESS_ROOTS', () => {
  it('the embedded set-up has a folder for each tenant, made with its first use', async () => {
    const roots = rootsWith();
    const own = join(place, 'data', 'workspaces', FIRST);
    expect(existsSync(own)).toBe(false);

    expect(await roots.resolve(FIRST)).toMatchObject({ path: own });
    expect(statSync(own).mode & 0o777).toBe(0o700);
    mkdirSync(join(own, 'project'));
    expect(await roots.resolve(FIRST, 'project')).toMatchObject({ path: join(own, 'project') });

    await roots.resolve(SECOND);
    expect(await refusal(roots.resolve(FIRST, `../${SECOND}`))).toEqual([404, NOT_FOUND]);
    expect(await refusal(roots.resolve(FIRST, '..'))).toEqual([404, NOT_FOUND]);
    expect(await refusal(roots.resolve(FIRST, join(place, 'data')))).toEqual([404, NOT_FOUND]);
    expect(await refusal(roots.resolve('../000000'))).toEqual([404, NOT_FOUND]);
  });

  it('a server has none, and says which variable to set', async () => {
    const refused = rootsWith(SERVER).resolve(FIRST, place);
    await expect(refused).rejects.toThrow(/HARNESS_ROOTS/);
    expect(await refusal(refused)).toEqual([400, NOT_ALLOWED]);
  });

  it('a tenant has none that the variable leaves out', async () => {
    const roots = rootsWith({ HARNESS_ROOTS: folder('ws') });
    expect(await refusal(roots.resolve(SECOND, join(place, 'ws')))).toEqual([400, NOT_ALLOWED]);
  });
});

describe('a workspace of a session', () => {
  it('is checked again for its identity and its root', async () => {
    const path = folder('ws', 'project');
    const roots = rootsWith({ HARNESS_ROOTS: join(place, 'ws') });
    const { identity } = await roots.resolve(FIRST, 'project');

    await roots.check(FIRST, path, identity);
    const elsewhere = rootsWith({ HARNESS_ROOTS: folder('other') });
    expect(await refusal(elsewhere.check(FIRST, path, identity))).toEqual([404, NOT_FOUND]);

    renameSync(path, join(place, 'aside'));
    expect(await refusal(roots.check(FIRST, path, identity))).toEqual([409, 'WORKSPACE_GONE']);
    mkdirSync(path);
    expect(await refusal(roots.check(FIRST, path, identity))).toEqual([409, 'WORKSPACE_GONE']);
    rmSync(path, { recursive: true });
    symlinkSync(join(place, 'aside'), path);
    expect(await refusal(roots.check(FIRST, path, identity))).toEqual([409, 'WORKSPACE_GONE']);
  });

  it('goes with its tenant where it lies in the data, and nothing of the operator does', async () => {
    const given = folder('ws', 'project');
    await rootsWith({ HARNESS_ROOTS: `${SECOND}=${join(place, 'ws')}` }).resolve(SECOND, 'project');
    const roots = rootsWith();
    const [first, second] = [await roots.resolve(FIRST), await roots.resolve(SECOND)];
    writeFileSync(join(second.path, 'file'), '');
    symlinkSync(given, join(second.path, 'link'));

    await lifecycle.deleting(SECOND);

    expect(existsSync(second.path)).toBe(false);
    expect(existsSync(first.path)).toBe(true);
    expect(existsSync(given)).toBe(true);
    await lifecycle.deleting('..');
    expect(existsSync(first.path)).toBe(true);
  });
});
