import type { Server } from 'node:http';
import { setImmediate as nextPhase, setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestHandler, Response } from 'express';
import { msg } from '../message/index.js';
import { OpenStreams } from '../access/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { answerRefusal } from '../error/index.js';
import type { FailureShape } from '../error/index.js';
import { JobQueue } from '../queue/index.js';

const STOPPING = msg`Plinth is stopping. Try again in a moment.`;

/** A connection that was kept alive is closed this soon after its last answer. */
const IDLE_CHECK_MS = 50;

/** Time for the last frames of stopped streams to reach their clients. */
const LAST_FRAMES_MS = 2_000;

/** Paths that are still answered while the process stops, so that probes see it. */
const ANSWERED = /^\/(health|metrics)(\/|$)/;

/**
 * Graceful shutdown. Jobs are handed over at once. Readiness answers 503 while requests are served for the drain time, so
 * that load balancers move on. Then the listener is closed, streams without an end of their own are ended, and what is
 * open gets SHUTDOWN_GRACE_SECONDS. At their end the remaining streams are stopped, and all connections are closed
 * shortly after. The stores are closed last. Nest runs the steps when the application closes; this one comes first.
 */
@Injectable()
export class Shutdown implements OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(Shutdown.name);
  private phase: 'serving' | 'draining' | 'closing' = 'serving';
  private readonly hurried = new AbortController();
  /** Answers that have not ended. */
  private readonly open = new Set<Response>();
  private readonly empty = new AbortController();
  private readonly ended = new AbortController();
  private idleCheck: NodeJS.Timeout | undefined;
  private cut: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly host: HttpAdapterHost,
    private readonly streams: OpenStreams,
    private readonly queue: JobQueue,
  ) {}

  get stopping(): boolean {
    return this.phase !== 'serving';
  }

  /** Aborts when the grace is over: what has not ended must end now. */
  get graceOver(): AbortSignal {
    return this.ended.signal;
  }

  /** Ends the drain and open streams at once, for a stop from a terminal. */
  hurry(): void {
    this.hurried.abort();
  }

  async onModuleDestroy(): Promise<void> {
    void this.queue.stop();
    const server = this.host.httpAdapter.getHttpServer() as Server;
    if (server.listening) await this.drain();
    this.phase = 'closing';
    server.close();
    this.idleCheck = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    this.streams.endEndless();
    const graceMs = this.config.SHUTDOWN_GRACE_SECONDS * 1_000;
    const end = Date.now() + graceMs;
    await this.requestsEnded(graceMs);
    this.ended.abort();
    this.streams.endAll();
    this.cut = setTimeout(
      () => {
        if (this.open.size > 0)
          this.logger.warn({ msg: 'Connections closed after the shutdown grace period' });
        server.closeAllConnections();
      },
      Math.max(LAST_FRAMES_MS, end - Date.now()),
    );
  }

  onApplicationShutdown(): void {
    clearInterval(this.idleCheck);
    clearTimeout(this.cut);
  }

  /**
   * Middleware that counts requests, and refuses those that arrive on open connections once the listener is closed. Below the
   * paths of a shape, the refusal has that shape.
   */
  admission(shapes: readonly FailureShape[] = []): RequestHandler {
    return (request, response, next) => {
      this.open.add(response);
      response.once('close', () => this.forget(response));
      // The client opens another connection for its next request, which the load balancer gives to another process.
      if (this.stopping) response.set('Connection', 'close');
      if (this.phase === 'closing' && !ANSWERED.test(request.path)) {
        response.set('Retry-After', '5');
        answerRefusal(request, response, { code: 503, message: STOPPING, shapes });
      } else next();
    };
  }

  private async drain(): Promise<void> {
    this.phase = 'draining';
    const { drainSeconds: seconds } = this.config;
    const { signal } = this.hurried;
    if (seconds === 0 || signal.aborted) return;
    this.logger.log({ msg: 'Draining', seconds });
    await sleep(seconds * 1_000, undefined, { signal }).catch(() => undefined);
    // Connections that were made before the listener closes are accepted first.
    await nextPhase();
  }

  /** Resolves when no request is open, at the latest after the limit. */
  private async requestsEnded(limitMs: number): Promise<void> {
    if (this.open.size === 0) return;
    const signal = AbortSignal.any([this.empty.signal, this.hurried.signal]);
    await sleep(limitMs, undefined, { signal }).catch(() => undefined);
  }

  private forget(response: Response): void {
    this.open.delete(response);
    if (this.phase === 'closing' && this.open.size === 0) this.empty.abort();
  }
}
