import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG, ConfigError } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { ForbiddenAddressError, OutboundHttp } from '../platform/outbound/index.js';

/** The simulator listens on no other address. */
const PORT = 6_040;
const HOST = '127.0.0.1';

const START_LIMIT_MS = 10_000;
const STOP_LIMIT_MS = 2_000;

/** The message of the simulator to its parent when it listens. */
const readyMessage = z.object({ url: z.string() });

/** Runs the simulator as a child process, so that it shares neither memory nor event loop with the service. */
@Injectable()
export class DemoSimulator implements OnApplicationShutdown {
  private readonly logger = new Logger('Demo');
  private child: ChildProcess | undefined;
  private stopping = false;
  /** Its address once it listens. */
  readonly url: Promise<string>;

  /** Starts it, so that it is ready when the database is. ConfigError if its models may not be called where it listens. */
  constructor(@Inject(CONFIG) config: Config, http: OutboundHttp) {
    requireAllowed(config, http);
    this.url = this.start();
    // The failure is that of the bootstrap, which waits for the address.
    this.url.catch(() => undefined);
  }

  /** Uses any free port when its own is in use. */
  private async start(): Promise<string> {
    return (await this.startOn(PORT)) ?? (await this.startOn(0)) ?? this.fail();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopping = true;
    const { child } = this;
    if (!child || child.exitCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await exit;
    clearTimeout(killer);
  }

  private async startOn(port: number): Promise<string | undefined> {
    const program = fileURLToPath(new URL('../../simulator/main.js', import.meta.url));
    const child = fork(program, ['--port', String(port)], {
      // A process group of its own: Ctrl-C reaches only the service, which then stops its child.
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
      // An empty environment: the simulator needs none, and the service's contains secrets.
      env: {},
    });
    const exited = once(child, 'exit');
    const limit = AbortSignal.timeout(START_LIMIT_MS);
    const ready = once(child, 'message', { signal: limit });
    const first = await Promise.race([ready, exited.then(() => undefined)]).catch(() => undefined);
    const message = readyMessage.safeParse(first?.[0]);
    if (!message.success) {
      child.kill('SIGKILL');
      return undefined;
    }
    this.child = child;
    child.once('exit', (code) => {
      if (!this.stopping)
        this.logger.error({ msg: 'Demo simulator exited; restart the service to use it', code });
    });
    return message.data.url;
  }

  private fail(): never {
    throw new ConfigError(
      'The simulator of the offline demo did not start. Set DEMO=off to start without it.',
    );
  }
}

function requireAllowed({ allowedPrivateHosts }: Config, http: OutboundHttp): void {
  try {
    http.assertAddressAllowed(`http://${HOST}`);
  } catch (error) {
    if (!(error instanceof ForbiddenAddressError)) throw error;
    const hosts = [...allowedPrivateHosts, HOST].join(',');
    throw new ConfigError(
      `The offline demo calls its simulated models at ${HOST}, which ALLOW_PRIVATE_MODEL_HOSTS does not allow. Set ALLOW_PRIVATE_MODEL_HOSTS=${hosts}, or set DEMO=off.`,
    );
  }
}
