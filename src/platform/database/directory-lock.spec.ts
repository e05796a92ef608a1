import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { DirectoryInUseError, lockDirectory } from './directory-lock.js';

describe('lockDirectory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-lock-'));
  const socket = join(folder, 'plinth.sock');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('refuses a directory that is locked, and takes it again once it is not', async () => {
    const unlock = await lockDirectory(folder);
    await expect(lockDirectory(folder)).rejects.toThrow(DirectoryInUseError);
    await expect(lockDirectory(folder)).rejects.toThrow(/serves one process/);
    await unlock();
    await (
      await lockDirectory(folder)
    )();
  });

  it('takes over from a process that was killed', async () => {
    const program = `require('net').createServer().listen(${JSON.stringify(socket)}, () => console.log('locked'))`;
    const holder = spawn(process.execPath, ['-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await expect(lockDirectory(folder)).rejects.toThrow(DirectoryInUseError);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(existsSync(socket)).toBe(true);
    await (
      await lockDirectory(folder)
    )();
  });

  it('lets one of many that take over at once have it', async () => {
    for (let round = 0; round < 20; round += 1) {
      await leaveSocket();
      const all = Array.from({ length: 20 }, () => lockDirectory(folder));
      const unlock = await Promise.any(all);
      const failures = (await Promise.allSettled(all)).filter(
        (start) => start.status === 'rejected',
      );
      expect(failures).toHaveLength(19);
      for (const { reason } of failures) expect(reason).toBeInstanceOf(DirectoryInUseError);
      await expect(lockDirectory(folder)).rejects.toThrow(DirectoryInUseError);
      await unlock();
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  /** As a process that was killed does: closing a server removes its socket only where that was made. */
  async function leaveSocket(): Promise<void> {
    const made = join(folder, 'made.sock');
    const server = createServer().listen(made);
    await once(server, 'listening');
    renameSync(made, socket);
    server.close();
    await once(server, 'close');
  }

  it('locks a directory whose path is too long for a socket', async () => {
    const deep = join(folder, 'x'.repeat(120));
    mkdirSync(deep);
    const unlock = await lockDirectory(deep);
    await expect(lockDirectory(deep)).rejects.toThrow(DirectoryInUseError);
    await unlock();
  });
});
