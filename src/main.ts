import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';
import { createApp } from './app.js';
import { ConfigError, loadConfig } from './config/index.js';
import type { Config } from './config/index.js';
import { InitialPassword } from './identity/index.js';
import type { InitialLogin } from './identity/index.js';
import { logFormat, reportUncaughtErrors, startFailure, stopOnSignals } from './operation/index.js';

/** Exit codes: 2 for a configuration that cannot be used, 1 for any other failure, 0 after a stop. */
async function main(): Promise<void> {
  let config: Config | undefined;
  try {
    config = loadConfig(process.env);
    await start(config);
  } catch (error) {
    process.stderr.write(`${startFailure(error, config)}\n`);
    process.exit(error instanceof ConfigError ? 2 : 1);
  }
}

async function start(config: Config): Promise<void> {
  const app = await createApp(config);
  reportUncaughtErrors();
  await app.init();
  const login = app.get(InitialPassword).take();
  try {
    const port = await listen(app.getHttpServer(), config);
    stopOnSignals(app, config.SHUTDOWN_GRACE_SECONDS);
    announce(config, port, login);
  } catch (error) {
    // The first user exists from now on: nobody could ever sign in with a password that was not shown.
    if (login) process.stderr.write(`${passwordLine(login)}\n`);
    await app.close();
    throw error;
  }
}

function listen(server: Server, config: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.PORT, config.HOST, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Tells where Plinth is. The password is never part of the log. */
function announce(config: Config, port: number, login: InitialLogin | undefined): void {
  const address = addressOf(config.HOST, port);
  const store = config.embedded ? `embedded database in ${config.DATA_DIR}` : 'PostgreSQL';
  if (logFormat(config) === 'json') {
    new Logger('Process').log({
      msg: 'Plinth is running',
      address,
      docs: `${address}/docs`,
      store,
    });
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
    `  Sign in   ${login ? signInOf(login) : 'admin, or any other user'}`,
    '',
    'Press Ctrl-C to stop.',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function passwordLine(login: InitialLogin): string {
  return `Sign in: ${signInOf(login)}`;
}

function signInOf({ userName, password }: InitialLogin): string {
  return `${userName}, password ${password} (made for the first start, shown only now)`;
}

/** An address that a browser on this machine can open. */
function addressOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

await main();
