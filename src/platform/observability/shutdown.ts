import type { Server } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type {
  BeforeApplicationShutdown,
  OnApplicationShutdown,
  OnModuleDestroy,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { setEnvelopeCode } from '../error/index.js';

/** A connection that was kept alive is closed this soon after its last answer. */
const IDLE_CHECK_MS = 50;

/** Still answered while stopping: a probe must be able to see it. */
const ANSWERED = /^\/(health|metrics)(\/|$)/;

/**
 * Graceful shutdown: new requests are refused, streams are ended, running requests get SHUTDOWN_GRACE_SECONDS,
 * then their connections are closed, and the stores are closed last. Nest runs the steps when the application closes.
 */
@Injectable()
export class Shutdown implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly logger = new Logger(Shutdown.name);
  private begun = false;
  private idleCheck: NodeJS.Timeout | undefined;
  private cut: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
  ) {}

  get stopping(): boolean {
    return this.begun;
  }

  onModuleDestroy(): void {
    this.begun = true;
  }

  beforeApplicationShutdown(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    this.idleCheck = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    this.cut = setTimeout(() => {
      this.logger.warn({ msg: 'Connections closed after the shutdown grace period' });
      server.closeAllConnections();
    }, this.config.SHUTDOWN_GRACE_SECONDS * 1_000);
  }

  onApplicationShutdown(): void {
    clearInterval(this.idleCheck);
    clearTimeout(this.cut);
  }

  /** Middleware that refuses what arrives while stopping, so that a load balancer asks another process. */
  readonly refuse = (request: Request, response: Response, next: NextFunction): void => {
    if (!this.begun || ANSWERED.test(request.path)) {
      next();
      return;
    }
    setEnvelopeCode(response, 503);
    response.set({ Connection: 'close', 'Retry-After': '5' });
    response
      .status(503)
      .json({ code: 503, msg: 'Plinth is stopping. Try again in a moment.', data: null });
  };
}
