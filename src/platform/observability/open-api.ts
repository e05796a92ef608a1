import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { packageFolder } from '../filesystem/index.js';
import { FailureData } from '../http/index.js';
import { describeFailures, describeLargeHeaders, describeNulls } from './open-api.answers.js';
import type { FailureViews } from './open-api.answers.js';
import { describeInputs } from './open-api.inputs.js';

/** The meaning of each envelope code, for all routes. */
const ENVELOPE_CODES: Readonly<Record<number, string>> = {
  200: 'Done.',
  400: 'The input is not acceptable; `msg` names the field and what is wrong.',
  401: 'Not signed in, or the sign-in has ended: sign in again.',
  403: 'Signed in, but without the permission, which `msg` names.',
  404: 'No such route or record. A record of another tenant answers the same.',
  405: 'The record is of a kind that cannot do this.',
  409: 'In conflict with what is stored; `msg` says with what.',
  429: 'Too many requests; `msg` says how long to wait.',
  500: 'Failed on the side of Plinth or of a model service; `msg` carries the request id or the reason.',
  503: 'The database or the file storage cannot be used at the moment. Try again after the seconds of the header Retry-After.',
};

const DESCRIPTION = `The backend on which a company's AI applications stand.

**Answers.** JSON routes answer HTTP 200 with an envelope: \`{code, msg, data}\`, or \`{code, msg, total, rows}\` for
lists, as the schema of the route says. Read \`code\` first:

| code | meaning |
|---|---|
${Object.entries(ENVELOPE_CODES)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join('\n')}

While the process is stopping, the HTTP status is 503, too. Health routes use the HTTP status alone. The
routes below \`/v1\` speak the protocol of OpenAI: HTTP statuses, and \`{error: {message, type, param, code}}\`;
those below \`/v1/messages\` that of Anthropic: \`{type: 'error', error: {type, message}, request_id}\`. The paths of Azure
(\`/openai/deployments/{model}/…\`, \`/openai/v1/…\`) are other names of those below \`/v1\`. The routes below \`/v1beta\`
speak the protocol of Gemini: HTTP statuses, and \`{error: {code, message, status}}\`.

**Signing in.** \`POST /auth/login\` answers an \`access_token\`. Send it as \`Authorization: Bearer …\` together with the
id of the client it was issued to as \`clientid\`. Each route names the permission it needs as \`x-permission\`.
Programs send an API key (\`POST /system/apikey\`) as \`Authorization: Bearer sk-plinth-…\` or in the header
\`x-api-key\`, \`api-key\` or \`x-goog-api-key\` instead, without \`clientid\`. Where any
signed-in user may call a route, \`x-key-permission\` is what a key needs; without it the route refuses keys.

**Reading.** Ids are numbers; those of chat sessions, messages and files are strings. Digit strings are accepted for
every number. Times are \`yyyy-MM-dd HH:mm:ss\`. Unknown fields of a body are ignored. Every answer carries the id of
its request in the header \`X-Request-Id\`.`;

/** The answers of the application besides the successes of its routes. */
export interface CommonAnswers {
  readonly failures: readonly FailureViews[];
  /** Limit of the headers, above which the server answers 431. */
  readonly maxHeaderBytes: number;
}

/** Serves the API's description at /docs, and as JSON at /docs/json. It is made at the first request for it. */
export function serveOpenApi(
  app: NestExpressApplication,
  answers: CommonAnswers,
  baseUrl?: string,
): void {
  SwaggerModule.setup('docs', app, () => openApiOf(app, answers, baseUrl), {
    jsonDocumentUrl: 'docs/json',
    raw: ['json'],
    customSiteTitle: 'Plinth API',
    swaggerOptions: {
      docExpansion: 'none',
      persistAuthorization: true,
      displayRequestDuration: true,
    },
  });
}

/**
 * The description. Without `baseUrl` the server is the one that serves the document.
 */
export function openApiOf(
  app: NestExpressApplication,
  { failures, maxHeaderBytes }: CommonAnswers,
  baseUrl = '/',
): OpenAPIObject {
  const settings = new DocumentBuilder()
    .setTitle('Plinth')
    .setVersion(serviceVersion())
    .setDescription(DESCRIPTION)
    .addServer(baseUrl)
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'authorization')
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'clientid',
        description: 'Id of the client that signed in',
      },
      'clientid',
    )
    .addBearerAuth(
      {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'sk-plinth-…',
        description: 'An API key, without clientid',
      },
      'apiKey',
    )
    .addExtension('x-envelope-codes', ENVELOPE_CODES)
    .build();
  const extraModels = [
    FailureData,
    ...failures.flatMap((view) => ('data' in view ? [view.data] : view.bodies)),
  ];
  const document = withoutCreated(
    SwaggerModule.createDocument(app, settings, { extraModels, operationIdFactory: operationIdOf }),
  );
  describeInputs(document);
  const codes = Object.keys(ENVELOPE_CODES).map(Number);
  describeFailures(
    document,
    codes.filter((code) => code !== 200),
    failures,
  );
  describeLargeHeaders(document, maxHeaderBytes);
  describeNulls(document.components?.schemas);
  describeNulls(document.paths);
  return document;
}

/** The operation id, after which the client package names its functions: `model.list` for the method `list` of ModelController. */
function operationIdOf(controller: string, method: string): string {
  const name = controller.replace(/Controller$/, '');
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}.${method}`;
}

/** Removes the status 201 that the build's plugin adds to each POST, even beside the answer that the route names. */
function withoutCreated(document: OpenAPIObject): OpenAPIObject {
  for (const { post } of Object.values(document.paths)) {
    const { 200: ok, 201: created } = post?.responses ?? {};
    if (post && created && (ok || !('content' in created))) delete post.responses['201'];
  }
  return document;
}

export function serviceVersion(): string {
  const file = join(packageFolder(import.meta.url), 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
