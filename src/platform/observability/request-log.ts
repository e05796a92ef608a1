import { performance } from 'node:perf_hooks';
import type { Request, RequestHandler, Response } from 'express';
import type { Level, Logger } from 'pino';
import type { Caller } from '../access/index.js';
import { envelopeCode } from '../error/index.js';
import { currentRequest, ignoredParameters } from '../http/index.js';
import type { Metrics } from './metrics.js';

const PATH_LENGTH = 500;

/** Probes arrive every few seconds, so they are logged at level debug. */
const PROBES = /^\/(health|metrics)(\/|$)/;

/** Writes one line and counts one request when an answer has ended, whatever ended it. */
export function requestLog(logger: Logger, metrics: Pick<Metrics, 'answered'>): RequestHandler {
  return (request, response, next) => {
    const began = performance.now();
    const sentBefore = request.socket.bytesWritten;
    const requestId = currentRequest()?.id;
    response.once('close', () => {
      const ms = performance.now() - began;
      const aborted = !response.writableFinished;
      const code = answeredCode(response, aborted);
      const route = routePattern(request);
      const path = pathOf(request);
      metrics.answered({ method: request.method, route, code: String(code), seconds: ms / 1e3 });
      const caller = callerOf(request);
      logger[levelOf(code, path)]({
        msg: 'request',
        requestId,
        method: request.method,
        route,
        path,
        tenant: caller?.tenantId,
        user: caller?.userId,
        key: caller?.apiKey?.id,
        code,
        ms: Math.round(ms * 10) / 10,
        bytes: request.socket.bytesWritten - sentBefore,
        // Parameters of a model call that were left out.
        ignored: ignoredParameters(response),
        ...(aborted && { aborted }),
      });
    });
    next();
  };
}

/** The envelope's code; without an envelope the HTTP status, and `aborted` when the client left before either. */
function answeredCode(response: Response, aborted: boolean): number | 'aborted' {
  const code = envelopeCode(response);
  if (code !== undefined) return code;
  return aborted && !response.headersSent ? 'aborted' : response.statusCode;
}

/** The pattern, never the path: a label of a metric must not grow with what strangers ask for. */
function routePattern(request: Request): string {
  const { route } = request as { route?: { path?: unknown } };
  return typeof route?.path === 'string' ? route.path : 'unmatched';
}

/** Without the query, which may carry a token. */
function pathOf(request: Request): string {
  return (request.originalUrl.split('?', 1)[0] ?? '').slice(0, PATH_LENGTH);
}

function callerOf(request: Request & { caller?: Caller }): Caller | undefined {
  return request.caller;
}

/**
 * Never an error by itself: the code 500 is also how a wrong password and a failing model service are answered, and
 * the code that meets an unexpected failure logs the error with its cause.
 */
function levelOf(code: number | 'aborted', path: string): Level {
  if (PROBES.test(path)) return 'debug';
  if (code === 'aborted') return 'info';
  return code >= 500 || code === 403 || code === 429 ? 'warn' : 'info';
}
