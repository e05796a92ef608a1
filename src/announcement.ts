import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import type { Config } from './platform/config/index.js';
import type { InitialLogin } from './identity/index.js';
import { logFormat } from './platform/observability/index.js';

const logger = new Logger('Process');

/** Prints the address, the store and, after the first start, the generated password, which is never logged. */
export function announceServer(
  config: Config,
  port: number,
  login: InitialLogin | undefined,
): void {
  const address = addressOf(config.HOST, port);
  const store = storeOf(config);
  if (logFormat(config) === 'json') {
    const fields = { role: config.ROLE, address, docs: `${address}/docs`, store };
    logger.log({ msg: 'Plinth is running', ...fields });
    if (login) process.stderr.write(`${passwordLine(login)}\n`);
    return;
  }
  const lines = [
    '',
    'Plinth is running.',
    '',
    `  Address   ${address}`,
    `  API docs  ${address}/docs`,
    `  Data      ${store}`,
    ...(config.ROLE === 'api' ? ['  Jobs      run by the workers (ROLE=worker)'] : []),
    `  Sign in   ${login ? signInOf(login) : 'admin, or any other user'}`,
    ...(login && config.demo && config.embedded
      ? [`            npm run demo reads it from ${initialPasswordFile(config)}`]
      : []),
    '',
    'Press Ctrl-C to stop.',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** One line, and a second one with the generated password after the first start. */
export function announceWorker(
  config: Config,
  port: number | undefined,
  login: InitialLogin | undefined,
): void {
  const store = storeOf(config);
  if (logFormat(config) === 'json') {
    logger.log({ msg: 'Plinth is running', role: config.ROLE, store, port });
  } else {
    process.stdout.write(`A Plinth worker is running on ${store}. Press Ctrl-C to stop.\n`);
  }
  if (login) process.stderr.write(`${passwordLine(login)}\n`);
}

/**
 * Keeps the generated password for `npm run demo`, readable by this user alone. Only in the offline demo: DATA_DIR, with
 * the key that signs tokens in it, then holds nothing but a trial.
 */
export async function keepInitialPassword(config: Config, login: InitialLogin): Promise<void> {
  await writeFile(initialPasswordFile(config), `${login.password}\n`, { mode: 0o600 });
}

export function passwordLine(login: InitialLogin): string {
  return `Sign in: ${signInOf(login)}`;
}

function signInOf({ userName, password }: InitialLogin): string {
  return `${userName}, password ${password} (generated for the first start, shown only once)`;
}

function initialPasswordFile(config: Config): string {
  return join(config.DATA_DIR, 'initial-password');
}

function storeOf(config: Config): string {
  return config.embedded ? `embedded database in ${config.DATA_DIR}` : 'PostgreSQL';
}

/** An address that a browser on this machine can open. */
function addressOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
