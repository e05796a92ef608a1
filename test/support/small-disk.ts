import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './built-process.js';
import { eventually } from './wait.js';

const BLOCK = Buffer.alloc(64 * 1024);
const PROGRAMS = '/usr/lib/postgresql';

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A PostgreSQL server of a test alone, with a tablespace on a file system in memory that the test can fill. The server of the other
 * suites would fail their checkpoints meanwhile.
 */
export class SmallDisk {
  readonly tablespace = 'plinth_small_disk';

  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly server: ChildProcess,
  ) {}

  /** Undefined where no file system can be mounted, or PostgreSQL has no programs or no user here. */
  static async start(megabytes: number): Promise<SmallDisk | undefined> {
    const programs = programsOf();
    const account = accountOf('postgres');
    if (programs === undefined || account === undefined) return undefined;
    const folder = mkdtempSync(join(tmpdir(), 'plinth-disk-'));
    chownSync(folder, account.uid, account.gid);
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    try {
      const options = `size=${megabytes}m,mode=755`;
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'plinth-disk', disk], { stdio: 'pipe' });
    } catch {
      rmSync(folder, { recursive: true, force: true });
      return undefined;
    }
    mkdirSync(join(disk, 'postgres'));
    chownSync(join(disk, 'postgres'), account.uid, account.gid);
    const data = join(folder, 'data');
    const how = { ...account, cwd: folder, stdio: 'pipe' } as const;
    execFileSync(
      join(programs, 'initdb'),
      ['-D', data, '-U', 'plinth', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
      how,
    );
    const port = await freePort();
    const settings = [
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${folder}`,
      'fsync=off',
    ];
    const server = spawn(
      join(programs, 'postgres'),
      ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      { ...how, stdio: 'ignore' },
    );
    const started = new SmallDisk(`postgres://plinth@127.0.0.1:${port}/postgres`, folder, server);
    await started.createTablespace();
    return started;
  }

  fill(): void {
    const file = openSync(this.filler, 'w');
    try {
      for (;;) writeSync(file, BLOCK);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.filler, { force: true });
  }

  async stop(): Promise<void> {
    const exit = once(this.server, 'exit');
    this.server.kill('SIGINT');
    await exit;
    execFileSync('umount', ['--lazy', join(this.folder, 'disk')]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async createTablespace(): Promise<void> {
    const location = join(this.folder, 'disk', 'postgres');
    const create = async (): Promise<boolean> => {
      const client = new pg.Client({ connectionString: this.url });
      try {
        await client.connect();
      } catch {
        return false;
      }
      await client.query(`CREATE TABLESPACE ${this.tablespace} LOCATION '${location}'`);
      await client.end();
      return true;
    };
    await eventually(create, (isCreated) => isCreated);
  }

  private get filler(): string {
    return join(this.folder, 'disk', 'filler');
  }
}

function programsOf(): string | undefined {
  if (!existsSync(PROGRAMS)) return undefined;
  const folders = readdirSync(PROGRAMS).map((version) => join(PROGRAMS, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb')));
}

function accountOf(name: string): Account | undefined {
  try {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' })),
    );
    return { uid: uid ?? 0, gid: gid ?? 0 };
  } catch {
    return undefined;
  }
}
