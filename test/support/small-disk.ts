import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

const BLOCK = Buffer.alloc(64 * 1024);

/** A file system in memory of a test alone, which the test can fill, with a tablespace of a PostgreSQL server of this host. */
export class SmallDisk {
  readonly tablespace = `plinth_disk_${randomBytes(6).toString('hex')}`;

  private constructor(private readonly folder: string) {}

  /** Undefined where no file system can be mounted, or PostgreSQL has no user here. */
  static mount(megabytes: number): SmallDisk | undefined {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-disk-'));
    const options = `size=${megabytes}m,mode=755`;
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) =>
        Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: 'pipe' })),
      );
      execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'plinth-disk', folder], {
        stdio: 'pipe',
      });
      mkdirSync(join(folder, 'postgres'));
      chownSync(join(folder, 'postgres'), uid ?? 0, gid ?? 0);
      return new SmallDisk(folder);
    } catch {
      rmSync(folder, { recursive: true, force: true });
      return undefined;
    }
  }

  /** Fails where the server is on another host. */
  async createTablespace(server: string): Promise<void> {
    await onServer(
      server,
      `CREATE TABLESPACE ${this.tablespace} LOCATION '${join(this.folder, 'postgres')}'`,
    );
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

  /** The databases in it must have been dropped. */
  async unmount(server: string): Promise<void> {
    await onServer(server, `DROP TABLESPACE IF EXISTS ${this.tablespace}`);
    execFileSync('umount', ['--lazy', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get filler(): string {
    return join(this.folder, 'filler');
  }
}

async function onServer(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
