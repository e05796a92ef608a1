import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import {
  announceServer,
  announceWorker,
  keepInitialPassword,
  passwordLine,
} from './announcement.js';
import { createApp } from './app.js';
import type { Config } from './platform/config/index.js';
import { IdentitySeed } from './identity/index.js';
import type { InitialLogin } from './identity/index.js';
import { SealedColumns } from './platform/database/index.js';
import { reportUncaughtErrors, stopOnSignals } from './platform/observability/index.js';

/** About 25 days, the longest delay that a timer accepts. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** Runs Plinth in this process until a signal ends it. Rejects where it cannot start. */
export async function run(config: Config): Promise<void> {
  const app = await createApp(config);
  reportUncaughtErrors();
  const seed = app.get(IdentitySeed);
  try {
    await app.init();
    await app.get(SealedColumns).renew();
  } catch (error) {
    tellPassword(seed.takeInitialLogin());
    throw error;
  }
  const login = seed.takeInitialLogin();
  if (login && config.demo && config.embedded) await keepInitialPassword(config, login);
  const isWorker = config.ROLE === 'worker';
  const port = isWorker ? config.WORKER_PORT : config.PORT;
  try {
    const boundPort =
      port === undefined ? undefined : await listen(app.getHttpServer(), config.HOST, port);
    stopOnSignals(app, config);
    if (isWorker) announceWorker(config, boundPort, login);
    else announceServer(config, boundPort ?? 0, login);
    // A process without a server has nothing else that keeps it running.
    if (boundPort === undefined) setInterval(() => undefined, MAX_INTERVAL_MS);
  } catch (error) {
    tellPassword(login);
    await app.close();
    throw error;
  }
}

/** Prints the generated password when the start fails after it has created the first user; otherwise it would be lost. */
function tellPassword(login: InitialLogin | undefined): void {
  if (login) process.stderr.write(`${passwordLine(login)}\n`);
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
