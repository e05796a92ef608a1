import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Session } from '../support/session.js';
import { WEB_CLIENT } from '../support/template.js';
import { eventually } from '../support/wait.js';

const main = resolve(process.env['PLINTH_MAIN'] ?? 'dist/src/main.js');
const built = existsSync(main);
if (!built) process.stdout.write(`Skipped: ${main} is missing. Build first: npm run build\n`);

/** A start on an empty folder makes the whole database; two of them share the cores with other tests. */
const START_MS = 90_000;

const dataDir = mkdtempSync(join(tmpdir(), 'plinth-boot-'));
const running = new Set<ChildProcess>();

interface Run {
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  stdout(): string;
  stderr(): string;
}

function boot(environment: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: dataDir,
      PORT: '0',
      DEMO: 'off',
      LOG_FORMAT: 'json',
      SHUTDOWN_GRACE_SECONDS: '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  running.add(child);
  const exit = once(child, 'close').then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  return { child, exit, stdout: () => texts.stdout, stderr: () => texts.stderr };
}

/** The address that the process says it listens on. */
async function addressOf(run: Run): Promise<string> {
  const found = await eventually(
    () => /"address":"(http:[^"]+)"/.exec(run.stdout())?.[1] ?? run.child.exitCode,
    (answer) => answer !== null,
    START_MS,
  );
  if (typeof found !== 'string') throw new Error(`It ended with ${found}: ${run.stderr()}`);
  return found;
}

function signIn(address: string, password: string): Promise<{ code: number }> {
  return new Session(address, {}).post('/auth/login', {
    tenantId: '000000',
    username: 'admin',
    password,
    clientId: WEB_CLIENT,
    grantType: 'password',
  });
}

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

(built ? describe : describe.skip)('the built process', () => {
  it(
    'starts on an empty folder, tells the password once and outside of the log, and stops on SIGTERM',
    async () => {
      const first = boot();
      const address = await addressOf(first);
      const password = await eventually(
        () => /password (\S+)/.exec(first.stderr())?.[1] ?? '',
        (text) => text !== '',
      );
      expect(await signIn(address, password)).toMatchObject({ code: 200 });
      expect(first.stdout()).not.toContain(password);

      const beside = boot();
      expect(await beside.exit).toBe(1);
      expect(beside.stderr()).toMatch(/^Another Plinth process uses /);
      expect(beside.stderr()).not.toMatch(/\n\s+at /);

      first.child.kill('SIGTERM');
      expect(await first.exit).toBe(0);

      const second = boot({ LOG_FORMAT: 'text' });
      await eventually(second.stdout, (text) => text.includes('Press Ctrl-C to stop.'), START_MS);
      expect(second.stdout()).toMatch(
        /^\nPlinth is running\.\n\n {2}Address {3}http:\/\/127\.0\.0\.1:\d+\n/,
      );
      expect(second.stdout() + second.stderr()).not.toContain('password');
      second.child.kill('SIGINT');
      expect(await second.exit).toBe(0);
    },
    3 * START_MS,
  );

  it(
    'says plainly that the port is taken, and shows the password of the first start even so',
    async () => {
      const taken = createServer();
      await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
      const { port } = taken.address() as { port: number };
      const other = join(dataDir, 'other');
      const run = boot({ DATA_DIR: other, PORT: String(port) });

      expect(await run.exit).toBe(1);
      expect(run.stderr()).toContain(`Port ${port} on 127.0.0.1 is in use.`);
      expect(run.stderr()).toMatch(/^Sign in: admin, password \S+ /);
      expect(run.stderr()).not.toMatch(/\n\s+at /);
      taken.close();
    },
    START_MS,
  );

  it(
    'refuses a configuration that cannot be used with code 2, naming each variable',
    async () => {
      const run = boot({ PORT: 'many', SECRET_KEY: 'short' });

      expect(await run.exit).toBe(2);
      expect(run.stdout()).toBe('');
      expect(run.stderr()).toMatch(/^Plinth cannot start with this configuration:\nPORT "many": /);
      expect(run.stderr()).toContain('SECRET_KEY (hidden): must have at least 32 characters');
    },
    START_MS,
  );

  it(
    'names a database server that cannot be used, without its password',
    async () => {
      const run = boot({
        DATABASE_URL: 'postgres://plinth:very-secret@127.0.0.1:1/plinth',
        SECRET_KEY: 'a-secret-key-of-at-least-32-characters',
      });

      expect(await run.exit).toBe(1);
      expect(run.stderr()).toMatch(/^The PostgreSQL server of DATABASE_URL cannot be used: /);
      expect(run.stdout() + run.stderr()).not.toContain('very-secret');
    },
    START_MS,
  );
});
