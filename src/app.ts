import type { IncomingMessage } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import { AppModule } from './app.module.js';
import type { AppOptions } from './app.module.js';
import type { Config } from './platform/config/index.js';
import { requestContext } from './platform/http/index.js';
import {
  createLogger,
  Metrics,
  NestLogger,
  requestLog,
  serveOpenApi,
  Shutdown,
} from './platform/observability/index.js';
import type { LogDestination } from './platform/observability/index.js';

/** 8 MiB of images as base64 in JSON, and the longest text with them. */
const WITH_IMAGES_KB = 14 * 1_024;

interface CreateOptions extends AppOptions {
  /** Destination of log lines; default: the standard output. */
  readonly log?: LogDestination | undefined;
}

/** The complete application, ready to listen: used by main.ts and the tests. */
export async function createApp(
  config: Config,
  options: CreateOptions = {},
): Promise<NestExpressApplication> {
  // The zone of all times on the wire; see src/platform/http/time.ts.
  process.env['TZ'] = config.TZ;
  const { log, ...appOptions } = options;
  const logger = createLogger(config, log);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.for(config, appOptions), {
    bodyParser: false,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  app.set('trust proxy', config.TRUST_PROXY);
  app.set('query parser', 'extended');
  app.set('etag', false);
  app.use(requestContext);
  app.use(requestLog(logger, app.get(Metrics)));
  app.use(app.get(Shutdown).refuse);
  app.use(securityHeaders());
  if (config.CORS_ORIGINS.length > 0) {
    app.enableCors({ origin: [...config.CORS_ORIGINS], credentials: true, maxAge: 1_800 });
  }
  const limitKb = config.REQUEST_BODY_LIMIT_KB;
  app.useBodyParser('json', {
    limit: `${Math.max(limitKb, WITH_IMAGES_KB)}kb`,
    type: (request: IncomingMessage) => mayHaveImages(request) && isJson(request),
  });
  // The second parser skips what the first has read.
  app.useBodyParser('json', { limit: `${limitKb}kb`, type: isJson });
  serveOpenApi(app);
  const server = app.getHttpServer();
  server.headersTimeout = config.REQUEST_HEADER_TIMEOUT_SECONDS * 1_000;
  server.requestTimeout = config.REQUEST_BODY_TIMEOUT_SECONDS * 1_000;
  server.keepAliveTimeout = 65_000;
  return app;
}

/** For the API documentation and a web console; generated media may come from any https host. */
function securityHeaders(): ReturnType<typeof helmet> {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'self'"],
        objectSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:', 'blob:', 'https:'],
        mediaSrc: ["'self'", 'data:', 'blob:', 'https:'],
      },
    },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    // Other services of the same host may not use TLS.
    strictTransportSecurity: { includeSubDomains: false },
  });
}

/** Runs of the coding harness have images, and inputs have texts as long as a requirement. */
function mayHaveImages({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'POST' || headers.authorization === undefined) return false;
  const path = url.split('?', 1)[0] ?? '';
  return /^\/coding\/harness\/sessions\/[^/]+\/runs(\/[^/]+\/inputs)?\/?$/i.test(path);
}

/** Login and registration are parsed as JSON also when declared as plain text, as existing clients send them. */
function isJson(request: IncomingMessage): boolean {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return true;
  return type === 'text/plain' && (request.url?.startsWith('/auth/') ?? false);
}
