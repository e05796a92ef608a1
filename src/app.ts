import { maxHeaderSize } from 'node:http';
import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import type { Request, RequestHandler } from 'express';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import type { OpenAPIObject } from '@nestjs/swagger';
import { AppModule, CODED_ERRORS, failureShapes } from './app.module.js';
import type { AppOptions } from './app.module.js';
import {
  AnthropicFailureView,
  anthropicFailures,
  anthropicSharedFailures,
  pathRewrites,
  GeminiFailureView,
  geminiFailures,
  OpenAiFailureView,
  openAiFailures,
  REWRITTEN_PATHS,
} from './compatible-api/index.js';
import { HarnessFailureData } from './harness/index.js';
import {
  LogoutFailureView,
  SCIM_TYPE,
  ScimFailureView,
  scimFailures,
  ssoFailures,
} from './identity/index.js';
import { MCP_PATH, McpFailureView } from './mcp-server/index.js';
import { OAuthFailureView, oauthFailures } from './oauth/index.js';
import { DirectRoutes } from './platform/access/index.js';
import type { Config } from './platform/config/index.js';
import { ConsoleFiles } from './platform/console/index.js';
import { closeHalfSent, compose, isRead, oneHost, requestContext } from './platform/http/index.js';
import {
  createLogger,
  isProbe,
  Metrics,
  NestLogger,
  openApiOf,
  requestLog,
  serveOpenApi,
  Shutdown,
  traceRequest,
} from './platform/observability/index.js';
import type {
  CommonAnswers,
  FailureViews,
  LogDestination,
} from './platform/observability/index.js';

interface CreateOptions extends AppOptions {
  /** Destination of log lines; default: the standard output. */
  readonly log?: LogDestination | undefined;
}

/** The failures of the coding harness have `data` of their own, those of the compatible APIs, of SCIM, of OAuth and of back-channel logout another body. */
const FAILURES: readonly FailureViews[] = [
  { paths: CODED_ERRORS, data: HarnessFailureData },
  { paths: anthropicFailures.paths, bodies: [AnthropicFailureView] },
  { paths: anthropicSharedFailures.paths, bodies: [OpenAiFailureView, AnthropicFailureView] },
  { paths: openAiFailures.paths, bodies: [OpenAiFailureView] },
  { paths: geminiFailures.paths, bodies: [GeminiFailureView] },
  { paths: scimFailures.paths, bodies: [ScimFailureView], type: SCIM_TYPE },
  { paths: MCP_PATH, bodies: [McpFailureView] },
  { paths: ssoFailures.paths, bodies: [LogoutFailureView] },
  { paths: oauthFailures.paths, bodies: [OAuthFailureView] },
];

const ANSWERS: CommonAnswers = { failures: FAILURES, maxHeaderBytes: maxHeaderSize };

/** Response headers that browsers of other sites may read besides the safelisted ones. */
const EXPOSED_HEADERS = [
  'Content-Disposition',
  'Retry-After',
  'X-Request-Id',
  'request-id',
  'x-plinth-attempts',
  'x-plinth-ignored',
  'x-plinth-model',
  ...['requests', 'tokens'].flatMap((what) => [
    ...['limit', 'remaining', 'reset'].map((which) => `x-ratelimit-${which}-${what}`),
    ...['limit', 'remaining', 'reset'].map((which) => `anthropic-ratelimit-${what}-${which}`),
  ]),
  'x-should-retry',
  'X-Trace-Id',
];

/** The OpenAPI document of an application. */
export function apiDocument(app: NestExpressApplication): OpenAPIObject {
  return openApiOf(app, ANSWERS);
}

/** The same document without a running application: nothing is created, opened or connected. */
export async function describeApi(config: Config): Promise<OpenAPIObject> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.for(config), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  return apiDocument(app);
}

/** The complete application, ready to listen: used by main.ts and the tests. */
export async function createApp(
  config: Config,
  options: CreateOptions = {},
): Promise<NestExpressApplication> {
  // The zone of all times on the wire; see wireTime in src/platform/http/answer.ts.
  process.env['TZ'] = config.TZ;
  const { log, ...appOptions } = options;
  const shapes = failureShapes(config);
  const logger = createLogger(config, log);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.for(config, appOptions), {
    // BodyInterceptor reads bodies, after the guards.
    bodyParser: false,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  app.set('trust proxy', config.TRUST_PROXY);
  app.set('query parser', 'extended');
  app.set('etag', false);
  app.disable('x-powered-by');
  app.use(
    compose(
      requestContext,
      ...(config.ROLE === 'worker' ? [probesOnly] : []),
      ...(config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? [] : [traceRequest]),
      closeHalfSent(),
      requestLog(logger, app.get(Metrics)),
      securityHeaders(),
      oneHost(shapes),
      only(({ url }) => REWRITTEN_PATHS.test(url), pathRewrites),
    ),
  );
  // CORS comes before anything that answers: without its headers a browser of another site can read neither answers nor refusals.
  if (config.CORS_ORIGINS.length > 0) {
    app.enableCors({
      origin: [...config.CORS_ORIGINS],
      credentials: true,
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: 1_800,
    });
  }
  app.use(
    compose(
      app.get(Shutdown).admission(shapes),
      only(isRead, app.get(ConsoleFiles).serve),
      app.get(DirectRoutes).serve,
    ),
  );
  serveOpenApi(app, ANSWERS, config.PUBLIC_URL);
  limitTimes(app.getHttpServer());
  return app;
}

/** A worker answers probes and scrapes, and no one else. */
function probesOnly(...[request, response, next]: Parameters<RequestHandler>): void {
  if (isProbe(request.path)) next();
  else response.status(404).end();
}

/** Runs the handler for requests that match, and passes all others on. */
function only(matches: (request: Request) => boolean, handler: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (matches(request)) void handler(request, response, next);
    else next();
  };
}

/** Time limits for a client to send its headers, and the whole request. */
function limitTimes(server: Server): void {
  server.headersTimeout = 30_000;
  server.requestTimeout = 300_000;
  server.keepAliveTimeout = 65_000;
}

/** Security headers for the API documentation and for other consoles; Plinth's own console has a stricter policy. */
function securityHeaders(): RequestHandler {
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
