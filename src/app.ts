import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import { AppModule } from './app.module.js';
import type { AppOptions } from './app.module.js';
import type { Config } from './config/index.js';

/** The whole application, ready to listen: what main.ts boots and what the tests run. */
export async function createApp(
  config: Config,
  options: AppOptions = {},
): Promise<NestExpressApplication> {
  // The zone of every time on the wire; see http/wire-time.
  process.env['TZ'] = config.TZ;
  const app = await NestFactory.create<NestExpressApplication>(AppModule.for(config, options), {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  app.useBodyParser('json', { limit: `${config.REQUEST_BODY_LIMIT_KB}kb` });
  app.set('trust proxy', config.TRUST_PROXY);
  app.set('query parser', 'extended');
  app.set('etag', false);
  app.use(helmet({ contentSecurityPolicy: false, crossOriginResourcePolicy: { policy: 'cross-origin' } }));
  if (config.CORS_ORIGINS.length > 0) {
    app.enableCors({ origin: [...config.CORS_ORIGINS], credentials: true, maxAge: 1_800 });
  }
  const server = app.getHttpServer();
  server.headersTimeout = config.REQUEST_HEADER_TIMEOUT_SECONDS * 1_000;
  server.requestTimeout = config.REQUEST_BODY_TIMEOUT_SECONDS * 1_000;
  server.keepAliveTimeout = 65_000;
  return app;
}
