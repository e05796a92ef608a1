import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, resolve } from 'node:path';
import { Session } from './session.js';
import { WEB_CLIENT } from './template.js';
import { eventually } from './wait.js';

/** The built service; PLINTH_MAIN names another build of it. */
const main = resolve(process.env['PLINTH_MAIN'] ?? 'dist/bundle/src/main.js');

/** As `npm start` does: the build has compiled the modules. */
const NODE_COMPILE_CACHE = resolve(dirname(main), '..', 'compiled');

export const isBuilt = existsSync(main);
if (!isBuilt) process.stdout.write(`Skipped: ${main} is missing. Build first: npm run build\n`);

/** A start on an empty folder makes the whole database; two of them share the cores with other tests. */
export const START_MS = 300_000;

const running = new Set<ChildProcess>();

/** One process of the built service. */
export interface BuiltProcess {
  readonly child: ChildProcess;
  /** The exit code, null after a signal. */
  readonly exit: Promise<number | null>;
  stdout(): string;
  stderr(): string;
}

/** Starts the built service on a folder, with nothing of this process's environment but PATH. */
export function boot(dataDir: string, environment: Record<string, string> = {}): BuiltProcess {
  return run([main], dataDir, environment);
}

/** As boot, with another of the built programs, or one elsewhere by its full path, and its arguments. */
export function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  dataDir: string,
  environment: Record<string, string> = {},
): BuiltProcess {
  return run([resolve(dirname(main), program), ...args], dataDir, environment);
}

function run(
  command: readonly string[],
  dataDir: string,
  environment: Record<string, string>,
): BuiltProcess {
  const child = spawn(process.execPath, command, {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE,
      DATA_DIR: dataDir,
      PORT: '0',
      DEMO: 'off',
      LOG_FORMAT: 'json',
      SHUTDOWN_DRAIN_SECONDS: '0',
      // Also in it: how long closing may take before the process gives up, on a disk that may stall.
      SHUTDOWN_GRACE_SECONDS: '120',
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
export async function addressOf(run: BuiltProcess): Promise<string> {
  const found = await eventually(
    () => /"address":"(http:[^"]+)"/.exec(run.stdout())?.[1] ?? run.child.exitCode,
    (answer) => answer !== null,
    START_MS,
  );
  if (typeof found !== 'string') throw new Error(`It ended with ${found}: ${run.stderr()}`);
  return found;
}

/** Signs admin in at the process. */
export async function adminAt(address: string, password: string): Promise<Session> {
  const answer = await new Session(address, {}).post<{ access_token: string }>('/auth/login', {
    tenantId: '000000',
    username: 'admin',
    password,
    clientId: WEB_CLIENT,
    grantType: 'password',
  });
  if (answer.code !== 200) throw new Error(`Sign-in failed: ${answer.msg}`);
  const authorization = `Bearer ${answer.data.access_token}`;
  return new Session(address, { authorization, clientid: WEB_CLIENT });
}

/** Ends what a failed test has left running. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** A port of 127.0.0.1 that nothing listens on, for a process that has to keep its port over a restart. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
