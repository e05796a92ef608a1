import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  addressOf,
  adminAt,
  boot as bootOn,
  isBuilt,
  killAll,
  runProgram,
  START_MS,
} from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { eventually } from '../support/wait.js';

let dataDir: string;
let store: OwnStore;

const boot = (environment: Record<string, string> = {}): BuiltProcess =>
  bootOn(environment['DATA_DIR'] ?? dataDir, { ...store.environment, ...environment });

/** An installation whose first start ended at a port that was taken: it has a database, and no process. */
interface Installation {
  readonly port: number;
  readonly run: BuiltProcess;
  readonly exitCode: number | null;
  /** Of admin, as of now. */
  password: string;
  /** For another start on it. */
  readonly environment: Record<string, string>;
}

let made: Promise<Installation> | undefined;
let madeStore: OwnStore | undefined;

/** One for all tests that do not look at a first start of their own, whichever runs first. */
function installation(): Promise<Installation> {
  return (made ??= install());
}

async function install(): Promise<Installation> {
  const taken = createServer();
  await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
  const { port } = taken.address() as { port: number };
  madeStore = await ownStore({ empty: true });
  const folder = mkdtempSync(join(tmpdir(), 'plinth-installed-'));
  const environment = { ...madeStore.environment, DATA_DIR: folder };
  const run = boot({ ...environment, PORT: String(port) });
  const exitCode = await run.exit;
  taken.close();
  const password = /password (\S+)/.exec(run.stderr())?.[1] ?? '';
  return { port, run, exitCode, password, environment };
}

/** Stops a process whose log nobody reads any more, after more lines than any pipe and its two ends hold. */
async function stopUnread({ child }: BuiltProcess, address: string, goes: boolean): Promise<void> {
  child.stdout?.pause();
  const long = `${address}/health/live/${'x'.repeat(480)}`;
  for (let line = 0; line < 1_000; line += 1) {
    await (await fetch(long)).text();
  }
  if (goes) child.stdout?.destroy();
  // The pipe of a reader that has stalled is never closed.
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'plinth-boot-'));
  store = await ownStore({ empty: true });
});

afterEach(killAll);

afterAll(async () => {
  await store.drop();
  rmSync(dataDir, { recursive: true, force: true });
  await madeStore?.drop();
  const { environment } = (await made) ?? {};
  rmSync(environment?.['DATA_DIR'] ?? dataDir, { recursive: true, force: true });
});

/** Writes the URL of every module that a process loads to a file. */
const RECORD_MODULES = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED_MODULES, url + '\\n');
      return next(url, context);
    },
  });`;

/** The loaded files of a process that has answered a request which have the SDK of OpenTelemetry, bundled or not. */
async function openTelemetryOf(environment: Record<string, string>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-modules-'));
  const file = join(folder, 'loaded');
  const hook = `data:text/javascript,${encodeURIComponent(RECORD_MODULES)}`;
  const run = boot({ ...environment, NODE_OPTIONS: `--import ${hook}`, LOADED_MODULES: file });
  expect((await fetch(`${await addressOf(run)}/auth/code`)).status).toBe(200);
  run.child.kill('SIGTERM');
  expect(await run.exit).toBe(0);
  const urls = readFileSync(file, 'utf8').split('\n');
  rmSync(folder, { recursive: true });
  return urls
    .filter((url) => url.startsWith('file:'))
    .filter((url) => readFileSync(fileURLToPath(url)).includes('BatchSpanProcessor'));
}

/** The folder of the embedded store serves one process; any number share a server. */
async function expectBeside(beside: BuiltProcess): Promise<void> {
  if (store.databaseUrl !== undefined) {
    await addressOf(beside);
    expect(beside.stderr()).not.toContain('password');
    beside.child.kill('SIGTERM');
    const code = await beside.exit;
    expect({ code, log: code === 0 ? '' : beside.stdout() }).toEqual({ code: 0, log: '' });
    return;
  }
  expect(await beside.exit).toBe(1);
  expect(beside.stderr()).toMatch(/^Another Plinth process uses /);
  expect(beside.stderr()).not.toMatch(/\n\s+at /);
}

(isBuilt ? describe : describe.skip)('the built process', () => {
  it(
    'starts on an empty folder, tells the password once and outside of the log, and stops on SIGTERM',
    async () => {
      const first = boot();
      const address = await addressOf(first);
      const password = await eventually(
        () => /password (\S+)/.exec(first.stderr())?.[1] ?? '',
        (text) => text !== '',
      );
      await adminAt(address, password);
      expect(first.stdout()).not.toContain(password);

      await expectBeside(boot());

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
      const { port, run, exitCode } = await installation();

      expect(exitCode).toBe(1);
      expect(run.stderr()).toContain(`Port ${port} on 127.0.0.1 is in use.`);
      expect(run.stderr()).toMatch(/^Sign in: admin, password \S+ /);
      expect(run.stderr()).not.toMatch(/\n\s+at /);
    },
    START_MS,
  );

  it(
    'names HOST where it is not an address',
    async () => {
      const { environment } = await installation();
      const run = boot({ ...environment, HOST: 'nowhere.invalid' });

      expect(await run.exit).toBe(1);
      expect(run.stderr()).toMatch(/^HOST nowhere\.invalid is not an address of this machine\. /m);
      expect(run.stderr()).not.toMatch(/\n\s+at /);
    },
    START_MS,
  );

  it(
    'says what to set when the models of the demo may not be called, starts with it, and stops although its reader has stalled',
    async () => {
      const { environment, password } = await installation();
      const demo = { ...environment, DEMO: 'on' };
      const refused = boot({ ...demo, ALLOW_PRIVATE_MODEL_HOSTS: '10.0.0.0/8' });

      expect(await refused.exit).toBe(2);
      expect(refused.stderr()).toContain(
        'Set ALLOW_PRIVATE_MODEL_HOSTS=10.0.0.0/8,127.0.0.1, or set DEMO=off.',
      );
      expect(refused.stderr()).not.toMatch(/\n\s+at /);

      const hosts = '10.0.0.0/8,127.0.0.1';
      const run = boot({ ...demo, ALLOW_PRIVATE_MODEL_HOSTS: hosts, LOG_LEVEL: 'debug' });
      const address = await addressOf(run);
      const admin = await adminAt(address, password);
      const models = await admin.get('/system/model/list?modelName=demo');
      expect(models.total).toBeGreaterThan(5);
      await stopUnread(run, address, false);
    },
    3 * START_MS,
  );

  it(
    'closes a folder that was open to others, refuses one that is not its own, and stops although its reader has gone',
    async () => {
      const { environment } = await installation();
      const folder = environment['DATA_DIR'] ?? '';
      chmodSync(folder, 0o777);
      writeFileSync(join(folder, 'letter.txt'), '');
      const refused = boot(environment);
      expect(await refused.exit).toBe(2);
      expect(refused.stderr()).toMatch(/such as letter\.txt\. .* run: chmod 07\d0 \//);
      expect(refused.stderr()).not.toMatch(/\n\s+at /);

      rmSync(join(folder, 'letter.txt'));
      const run = boot({ ...environment, LOG_LEVEL: 'debug' });
      const address = await addressOf(run);
      expect(statSync(folder).mode & 0o007).toBe(0);
      await stopUnread(run, address, true);
    },
    3 * START_MS,
  );

  it(
    'gives admin a new password when the operator runs the command for it',
    async () => {
      const installed = await installation();
      const { environment, password } = installed;
      const command = (...args: string[]): BuiltProcess =>
        runProgram(['password-reset.js', ...args], environment['DATA_DIR'] ?? '', environment);

      const reset = command('--remove-second-factor');
      expect(await reset.exit).toBe(0);
      installed.password = /^The new password of admin: (\S+)\n$/.exec(reset.stdout())?.[1] ?? '';
      expect(reset.stderr()).not.toContain(installed.password);

      const run = boot(environment);
      const address = await addressOf(run);
      await adminAt(address, installed.password);
      await expect(adminAt(address, password)).rejects.toThrow('Sign-in failed');

      const beside = command('--user', 'stranger');
      const code = await beside.exit;
      if (madeStore?.databaseUrl === undefined) {
        expect(code).toBe(1);
        expect(beside.stderr()).toMatch(
          /^Plinth is running on .+ Stop the service, reset the pass/,
        );
      } else {
        expect(code).toBe(2);
        expect(beside.stderr()).toMatch(/^Tenant 000000 has no user stranger\./m);
      }
    },
    4 * START_MS,
  );

  it(
    'writes what support needs to a file of its owner, with the last errors and without secrets',
    async () => {
      const { environment } = await installation();
      const folder = mkdtempSync(join(tmpdir(), 'plinth-diagnosis-'));
      const file = join(folder, 'diagnosis.json');
      const run = runProgram(
        ['diagnose.js', '--to', file],
        environment['DATA_DIR'] ?? '',
        environment,
      );
      expect({ code: await run.exit, log: run.stderr() }).toEqual({ code: 0, log: '' });
      expect(run.stdout()).toContain(file);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const text = readFileSync(file, 'utf8');
      rmSync(folder, { recursive: true });
      expect(JSON.parse(text)).toMatchObject({
        versions: { node: process.version },
        settings: { SECRET_KEY: { isSet: expect.any(Boolean) } },
        database: {
          lastErrors: [],
          tables: expect.arrayContaining([expect.objectContaining({ name: 'user_account' })]),
        },
      });
      for (const secret of ['SECRET_KEY', 'DATABASE_URL'].map((name) => environment[name])) {
        if (secret !== undefined) expect(text).not.toContain(secret);
      }
    },
    2 * START_MS,
  );

  it(
    'loads OpenTelemetry only with OTEL_EXPORTER_OTLP_ENDPOINT',
    async () => {
      const { environment } = await installation();
      expect(await openTelemetryOf(environment)).toEqual([]);
      const endpoint = 'http://127.0.0.1:9';
      const traced = { ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
      expect(await openTelemetryOf(traced)).not.toEqual([]);
    },
    2 * START_MS,
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
