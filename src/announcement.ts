import { Logger } from '@nestjs/common';
import type { Config } from './platform/config/index.js';
import type { InitialLogin } from './identity/index.js';
import { logFormat } from './platform/observability/index.js';

const logger = new Logger('Process');

/** Tells where Plinth is. The password is never part of the log. */
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
    ...(config.ROLE === 'api' ? ['  Jobs      left to the workers'] : []),
    `  Sign in   ${login ? signInOf(login) : 'admin, or any other user'}`,
    '',
    'Press Ctrl-C to stop.',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** One line, and a second one if this was the first start of all. */
export function announceWorker(config: Config, login: InitialLogin | undefined): void {
  const store = storeOf(config);
  if (logFormat(config) === 'json') {
    logger.log({ msg: 'Plinth is running', role: config.ROLE, store });
  } else {
    process.stdout.write(`A worker of Plinth is running on ${store}. Press Ctrl-C to stop.\n`);
  }
  if (login) process.stderr.write(`${passwordLine(login)}\n`);
}

export function passwordLine(login: InitialLogin): string {
  return `Sign in: ${signInOf(login)}`;
}

function signInOf({ userName, password }: InitialLogin): string {
  return `${userName}, password ${password} (made for the first start, shown only now)`;
}

function storeOf(config: Config): string {
  return config.embedded ? `embedded database in ${config.DATA_DIR}` : 'PostgreSQL';
}

/** An address that a browser on this machine can open. */
function addressOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
