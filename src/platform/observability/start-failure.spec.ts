import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config/index.js';
import { createDataSource } from '../database/index.js';
import { DependencyFault } from '../dependency/index.js';
import { UnavailableError } from '../error/index.js';
import { msg } from '../message/index.js';
import { startFailure } from './start-failure.js';

describe('startFailure', () => {
  const parent = mkdtempSync(join(tmpdir(), 'plinth-failure-'));
  afterAll(() => rmSync(parent, { recursive: true }));

  const DATABASE_URL = 'postgres://plinth:very-secret@127.0.0.1:1/plinth';
  const DATA_DIR = join(parent, 'data');
  const SECRET_KEY = 'a-secret-of-at-least-thirty-two-characters';
  const config = loadConfig({ DATABASE_URL, DATA_DIR, SECRET_KEY, HOST: 'nowhere.invalid' });
  // Nothing can be made below a file, not even by root.
  writeFileSync(DATA_DIR, '');

  it('names DATA_DIR for a file and a socket in it', async () => {
    const problem = (cause: string): string =>
      `DATA_DIR ${DATA_DIR} cannot be used: ${cause}. Set it to a folder that this user may write to.`;
    const file = join(DATA_DIR, 'installation.json');
    const ofFile = await writeFile(file, '').catch((error: unknown) => error);
    expect(startFailure(ofFile, config)).toBe(problem(`ENOTDIR: not a directory, open '${file}'`));

    const socket = join(DATA_DIR, 'plinth.sock');
    const [ofSocket] = (await once(createServer().listen(socket), 'error')) as [unknown];
    expect(startFailure(ofSocket, config)).toBe(
      problem(`listen ENOTDIR: not a directory ${socket}`),
    );
  });

  it('says why a dependency is unavailable', () => {
    const fault = new DependencyFault(msg`The bucket does not exist.`);
    expect(startFailure(new UnavailableError(msg`The file storage`, fault))).toBe(
      'Plinth could not start: The file storage is not available at the moment. Try again in a few seconds. The bucket does not exist.',
    );
  });

  it('names HOST for its name, and PostgreSQL for any other', () => {
    const unknown = (hostname: string): Error =>
      Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
        code: 'ENOTFOUND',
        syscall: 'getaddrinfo',
        hostname,
      });

    expect(startFailure(unknown('nowhere.invalid'), config)).toMatch(
      /^HOST nowhere\.invalid is not an address of this machine\. /,
    );
    expect(startFailure(unknown('db'), config)).toMatch(
      /^The PostgreSQL server of DATABASE_URL cannot be used: getaddrinfo ENOTFOUND db\. /,
    );
  });

  it('names PostgreSQL for what its server and its connection say, and for nothing else', async () => {
    const refused = await createDataSource({ url: DATABASE_URL, poolSize: 1 })
      .initialize()
      .catch((error: unknown) => error);
    expect(startFailure(refused, config)).toMatch(/^The PostgreSQL server of .*ECONNREFUSED/);
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    });
    expect(startFailure(full, config)).toMatch(/^Plinth could not start: Error: ENOSPC/);
  });
});
