import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { DirectoryInUseError, lockDirectory } from './directory-lock.js';

describe('lockDirectory', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-lock-'));
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
    const socket = join(folder, 'plinth.sock');
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

  it('locks a directory whose path is too long for a socket', async () => {
    const deep = join(folder, 'x'.repeat(120));
    mkdirSync(deep);
    const unlock = await lockDirectory(deep);
    await expect(lockDirectory(deep)).rejects.toThrow(DirectoryInUseError);
    await unlock();
  });
});
