import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from './config-error.js';
import { loadConfig } from './config.js';
import { closeDataDir } from './data-dir.js';

describe('closeDataDir', () => {
  let parent: string;
  let dataDir: string;

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'plinth-data-dir-'));
    dataDir = join(parent, 'data');
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  const modeOf = (): string => (statSync(dataDir).mode & 0o777).toString(8);

  function existing(mode: number, ...names: readonly string[]): void {
    mkdirSync(dataDir);
    for (const name of names) writeFileSync(join(dataDir, name), '');
    chmodSync(dataDir, mode);
  }

  it('makes the folder of the embedded database for its owner alone', () => {
    closeDataDir(dataDir, true);
    expect(modeOf()).toBe('700');
  });

  it.each([0o755, 0o777, 0o750, 0o701])('closes an existing folder of mode %o', (mode) => {
    existing(mode, 'secret.key', 'pg');
    closeDataDir(dataDir, true);
    expect(modeOf()).toBe('700');
  });

  it('is done by every program that reads the configuration, also where the key is given', () => {
    existing(0o777);
    loadConfig({ DATA_DIR: dataDir, SECRET_KEY: 'a-secret-of-at-least-thirty-two-characters' });
    expect(modeOf()).toBe('700');
  });

  it('is refused with the cause where the folder cannot be made', () => {
    writeFileSync(dataDir, '');
    expect(() => loadConfig({ DATA_DIR: join(dataDir, 'below') })).toThrow(
      new ConfigError(
        `DATA_DIR ${dataDir}/below cannot be used: ENOTDIR: not a directory, mkdir '${dataDir}/below'. Set it to a folder that this user may write to.`,
      ),
    );
  });

  it('leaves the group of the files of a server, and makes no folder for it', () => {
    closeDataDir(dataDir, false);
    expect(() => modeOf()).toThrow('ENOENT');
    existing(0o775, 'files');
    closeDataDir(dataDir, false);
    expect(modeOf()).toBe('770');
  });

  it.each(['answers', 'files', 'harness', 'parsing', 'books'])('knows %s as its own', (name) => {
    existing(0o1777, 'secret.key', name);
    closeDataDir(dataDir, true);
    expect(modeOf()).toBe('700');
  });

  it('refuses to change a folder that holds something else, and says what to run', () => {
    existing(0o1777, 'secret.key', 'letter.txt');
    expect(() => closeDataDir(dataDir, true)).toThrow(
      new ConfigError(
        `DATA_DIR ${dataDir} is open to other users of this machine (mode 0777) and holds files that are not Plinth's, such as letter.txt. Set DATA_DIR to a folder of its own, or run: chmod 0700 ${dataDir}`,
      ),
    );
    expect(modeOf()).toBe('777');
    chmodSync(dataDir, 0o700);
    closeDataDir(dataDir, true);
  });

  it('refuses a folder of another user that is open, but not one that is open to a group', () => {
    const refuse = (): never => {
      throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    };
    existing(0o755);
    expect(() => closeDataDir(dataDir, true, refuse)).toThrow(
      `and this process may not change that (EPERM). Run as its owner: chmod 0700 ${dataDir}`,
    );
    chmodSync(dataDir, 0o770);
    closeDataDir(dataDir, true, refuse);
  });

  // Only root can give a folder to another user, and act as one.
  const asRoot = process.geteuid?.() === 0 ? it : it.skip;

  asRoot.each([0o700, 0o755])('names chown for a folder of another user (mode %o)', (mode) => {
    existing(mode);
    chmodSync(parent, 0o755);
    process.setegid?.(65_534);
    process.seteuid?.(65_534);
    let failure: unknown;
    try {
      loadConfig({ DATA_DIR: dataDir });
    } catch (error) {
      failure = error;
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as ConfigError).message).toContain(
      'It belongs to user 0, and this process runs as user 65534.',
    );
    expect((failure as ConfigError).message).toMatch(
      new RegExp(`: chown -R 65534:65534 ${dataDir}$`),
    );
  });
});
