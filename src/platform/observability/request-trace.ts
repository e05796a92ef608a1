import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { isOutage } from '../database/index.js';
import { currentRequest } from '../http/index.js';
import { processId } from '../lease/index.js';
import { IntervalJob } from '../queue/index.js';
import { ATTRIBUTE, setContentTenants, startSpan, startTracing } from '../tracing/index.js';
import { answeredCode, callerOf, isProbe, routePattern } from './log.js';
import { serviceVersion } from './open-api.js';
import { TraceContentRepository } from './trace-content.repository.js';

/** How soon a tenant that switches its content on or off is followed. */
const CONTENT_EVERY_MS = 10_000;

/** Traces this process where OTEL_EXPORTER_OTLP_ENDPOINT is set. */
@Injectable()
export class Tracing implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Tracing');
  private stop: (() => Promise<void>) | undefined;
  private refresh: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: TraceContentRepository,
  ) {}

  async onModuleInit(): Promise<void> {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = this.config;
    if (endpoint === undefined) return;
    const process = { version: serviceVersion(), instanceId: processId };
    this.stop = await startTracing(this.config, { ...process, endpoint });
    this.refresh = new IntervalJob(CONTENT_EVERY_MS, () => this.readContentTenants());
    await this.readContentTenants();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.refresh?.stop();
    await this.stop?.();
  }

  private async readContentTenants(): Promise<void> {
    try {
      setContentTenants(await this.repository.tenants());
    } catch (error) {
      // What cannot be checked is not recorded.
      setContentTenants(new Set());
      if (!isOutage(error)) {
        this.logger.warn({ msg: 'Failed to read the tenants that record content', err: error });
      }
    }
  }
}

/** The span of a request, which continues the trace of its caller. The header X-Trace-Id names a trace that is sampled. */
export const traceRequest: RequestHandler = (request, response, next) => {
  if (isProbe(request.path)) {
    next();
    return;
  }
  const span = startSpan(request.method, {
    kind: 'server',
    parent: request.headers['traceparent']?.toString(),
    attributes: () => ({
      [ATTRIBUTE.httpMethod]: request.method,
      [ATTRIBUTE.urlScheme]: request.protocol,
      [ATTRIBUTE.requestId]: currentRequest()?.id,
    }),
  });
  if (!span) {
    next();
    return;
  }
  if (span.isSampled) response.setHeader('X-Trace-Id', span.traceId);
  response.once('close', () => {
    const aborted = !response.writableFinished;
    const code = answeredCode(response, aborted);
    const route = routePattern(request);
    const caller = callerOf(request);
    const status = response.statusCode;
    span.rename(`${request.method} ${route}`);
    span.set({
      [ATTRIBUTE.httpRoute]: route,
      [ATTRIBUTE.httpStatus]: status,
      [ATTRIBUTE.envelopeCode]: String(code),
      [ATTRIBUTE.tenantId]: caller?.tenantId,
      [ATTRIBUTE.userId]: caller && String(caller.userId),
    });
    span.end(code === 'aborted' || code < 500 ? undefined : String(code));
  });
  span.run(next);
};
