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

/** Images of 8 MiB as base64 inside of JSON, and the longest text that comes with them. */
const WITH_IMAGES_KB = 14 * 1_024;

interface CreateOptions extends AppOptions {
  /** Where log lines go instead of the standard output. */
  readonly log?: LogDestination | undefined;
}

/** The whole application, ready to listen: what main.ts boots and what the tests run. */
export async function createApp(
  config: Config,
  options: CreateOptions = {},
): Promise<NestExpressApplication> {
  // The zone of every time on the wire; see http/wire-time.
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
    type: (request: IncomingMessage) => bringsImages(request) && isJson(request),
  });
  // What the first has read, the second leaves alone.
  app.useBodyParser('json', { limit: `${limitKb}kb`, type: isJson });
  serveOpenApi(app);
  const server = app.getHttpServer();
  server.headersTimeout = config.REQUEST_HEADER_TIMEOUT_SECONDS * 1_000;
  server.requestTimeout = config.REQUEST_BODY_TIMEOUT_SECONDS * 1_000;
  server.keepAliveTimeout = 65_000;
  return app;
}

/** The console and the API's documentation are served from here; generated media may come from any https host. */
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
    // Which of a host's other services speak TLS is not ours to say.
    strictTransportSecurity: { includeSubDomains: false },
  });
}

/** A run of the coding harness comes with its images, an input with a text as long as a requirement. */
function bringsImages({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'POST' || headers.authorization === undefined) return false;
  const path = url.split('?', 1)[0] ?? '';
  return /^\/coding\/harness\/sessions\/[^/]+\/runs(\/[^/]+\/inputs)?\/?$/i.test(path);
}

/** Login and registration are read as JSON whatever text they are declared to be, as existing services do. */
function isJson(request: IncomingMessage): boolean {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return true;
  return type === 'text/plain' && (request.url?.startsWith('/auth/') ?? false);
}
