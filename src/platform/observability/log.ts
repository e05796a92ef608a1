import { setTimeout as sleep } from 'node:timers/promises';
import type { Writable } from 'node:stream';
import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';
import type { LoggerService } from '@nestjs/common';
import type { Request, RequestHandler, Response } from 'express';
import type { Config } from '../config/index.js';
import { currentRequest, ignoredParameters } from '../http/index.js';
import type { Caller } from '../access/index.js';
import { envelopeCode } from '../error/index.js';
import { currentTraceId } from '../tracing/index.js';
import type { Metrics } from './metrics.js';
import { sourceStack } from './source-stack.js';

const HIDDEN = '[hidden]';
const MAX_DEPTH = 6;
const MAX_ENTRIES = 100;
const MAX_TEXT_CHARS = 8_000;

/** Fields whose values are never written, wherever they stand in a logged object. */
const SECRET_FIELD = /password|secret|credential|api[-_]?key|authorization|cookie|token$/i;

/** The fields of an error that say what happened. Requests, answers and statement values that libraries attach are left out. */
const ERROR_FIELDS = [
  'code',
  'status',
  'kind',
  'retryable',
  'rule',
  'constraint',
  'table',
  'query',
];

/** Secrets inside of texts, such as an address in the message of an error. No pattern crosses a quote of the JSON line. */
const SECRETS_IN_TEXT: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)(\s+|%20)[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/((?:authorization|token|api[-_]?key|password|secret)=)[^&\s"'\\<>]+/gi, `$1${HIDDEN}`],
  // The id of an API key stays, which names the key.
  [/\b((?:sk|code|refresh)-plinth-[\da-f]{16})-[\w-]+/gi, `$1-${HIDDEN}`],
  // The signature of a file's address, which opens it without a sign-in.
  [/(\/resource\/oss\/shared\/[\d.]+\.)[\w-]{43}/g, `$1${HIDDEN}`],
  [/(\/\/[^\s/:@"\\]*:)[^\s/@"\\]+@/g, `$1${HIDDEN}@`],
];

/** The fields of a log line without secrets. Never throws. */
function withoutSecrets(fields: object): Record<string, unknown> {
  try {
    return entriesOf(fields, MAX_DEPTH);
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : 'unknown' };
  }
}

/** Hides secrets in a finished line. */
export function withoutSecretsInText(line: string): string {
  return SECRETS_IN_TEXT.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    line,
  );
}

function entriesOf(fields: object, depth: number): Record<string, unknown> {
  const entries = Object.entries(fields)
    .slice(0, MAX_ENTRIES)
    .map(([name, value]: [string, unknown]) => [
      name,
      mayHoldSecret(value) && SECRET_FIELD.test(name) ? HIDDEN : loggableValue(value, depth),
    ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** True when the value could hold a secret; a flag or an absent value says only whether there is one. */
function mayHoldSecret(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'boolean';
}

function loggableValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return errorFields(value, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  // The depth ends cycles too.
  if (depth === 0) return '[…]';
  if (Array.isArray(value)) {
    return value.slice(0, MAX_ENTRIES).map((entry: unknown) => loggableValue(entry, depth - 1));
  }
  return entriesOf(value, depth - 1);
}

function errorFields(error: Error, depth: number): unknown {
  const about = Object.fromEntries(
    Object.entries(error).filter(([name]) => ERROR_FIELDS.includes(name)),
  );
  const deeper = depth > 0;
  return {
    type: error.name,
    message: cut(error.message),
    stack: cut(sourceStack(error.stack ?? '')),
    ...entriesOf(about, 1),
    ...(error.cause !== undefined && deeper && { cause: loggableValue(error.cause, depth - 1) }),
    ...(error instanceof AggregateError &&
      deeper && { errors: loggableValue(error.errors, depth - 1) }),
  };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}…`;
}

/** The destination of finished lines: the standard output, or that of a test. */
export type LogDestination = DestinationStream;

/** Bytes of lines that wait for a reader; where Node counts characters, a little more. */
const MAX_WAITING_BYTES = 16 * 2 ** 20;

/** Error codes of an output whose reader has gone. */
const GONE = new Set(['EPIPE', 'ECONNRESET', 'EBADF', 'ERR_STREAM_DESTROYED']);

/**
 * Writes log lines to the standard output. A stalled reader of a pipe does not block the process: about 16 MiB are
 * buffered. Later lines are dropped and counted in the next line that fits, as are lines that a full disk rejects. A
 * reader that has gone ends the log and nothing else. Node writes to a pipe at once while it has room, so that a process
 * that ends loses nothing a reader could have taken; what still waits is given time by `outputTaken`.
 *
 * (pino's own destination, sonic-boom 4, repeats a failing write without end when a process ends, and never ends it.)
 */
export class LogOutput implements LogDestination {
  private hasGone = false;
  private dropped = 0;

  constructor(
    private readonly output: Writable,
    private readonly format: (line: string) => string,
  ) {
    output.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (GONE.has(code)) this.hasGone = true;
      else this.dropped += 1;
    });
  }

  write(line: string): void {
    if (this.hasGone) return;
    if (this.output.writableLength > MAX_WAITING_BYTES) {
      this.dropped += 1;
      return;
    }
    if (this.dropped > 0) {
      this.output.write(this.format(noticeOf(this.dropped)));
      this.dropped = 0;
    }
    this.output.write(this.format(line));
  }
}

/** Resolves when the reader has taken what was written, or has gone, or after the limit in milliseconds. */
export async function outputTaken(
  limitMs: number,
  output: Writable = process.stdout,
): Promise<void> {
  if (output.writableLength === 0) return;
  const drained = new Promise<void>((resolve) => void output.write('', () => resolve()));
  const over = new AbortController();
  const tooLong = sleep(limitMs, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([drained, tooLong]);
  over.abort();
}

function noticeOf(dropped: number): string {
  const time = new Date().toISOString();
  const msg = 'Log lines dropped: the output did not accept them';
  return `${JSON.stringify({ level: 'warn', time, msg, dropped })}\n`;
}

/** Fields that the start of a line shows by themselves. */
const SHOWN_FIRST = new Set(['time', 'level', 'msg', 'err', 'pid', 'hostname']);

/** One JSON log line as text for people: time, level, message, then key=value; an error's stack below it. */
function asText(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { time, level, msg = '', err } = fields;
  const rest = Object.entries(fields)
    .filter(([name, value]) => !SHOWN_FIRST.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => ` ${name}=${quotedIfNeeded(value)}`);
  const start = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)}`;
  return `${start} ${oneLine(String(msg))}${rest.join('')}\n${stackOf(err)}`;
}

function quotedIfNeeded(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=]|[^\x20-\x7e\u00a0-\uffff]|^$/.test(text) ? JSON.stringify(text) : text;
}

/** Puts a text on one line, so that the input of a stranger cannot look like lines of the log. */
function oneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]+/g, ' ');
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message, cause } = error as { stack?: string; message?: string; cause?: unknown };
  const lines = (stack ?? message ?? '').split('\n');
  const text = lines.map((line) => `    ${oneLine(line)}\n`).join('');
  const below = stackOf(cause);
  return below === '' ? text : `${text}    caused by\n${below}`;
}

/** `auto` means text for a person at a terminal and JSON for everything else. */
export function logFormat(config: Config): 'json' | 'text' {
  if (config.LOG_FORMAT !== 'auto') return config.LOG_FORMAT;
  return process.stdout.isTTY ? 'text' : 'json';
}

/** The one logger of an application. Every line carries the id of its request and passes the redaction. */
export function createLogger(config: Config, output?: LogDestination): Logger {
  return pino(
    {
      level: config.LOG_LEVEL,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: () => {
        const request = currentRequest();
        const traceId = currentTraceId();
        return { ...(request && { requestId: request.id }), ...(traceId && { traceId }) };
      },
      formatters: { level: (level) => ({ level }), log: withoutSecrets },
      // Errors are already plain fields by then; pino's own serializer would copy all they hold.
      serializers: { err: (fields: unknown) => fields },
      hooks: { streamWrite: withoutSecretsInText },
    },
    destination(logFormat(config) === 'text' ? asText : unchanged, output),
  );
}

function destination(
  format: (line: string) => string,
  output: LogDestination | undefined,
): LogDestination {
  if (output) return { write: (line) => output.write(format(line)) };
  return new LogOutput(process.stdout, format);
}

function unchanged(line: string): string {
  return line;
}

/**
 * Contexts in which Nest logs every module and route at startup, and a failed start, which main reports itself:
 * logged at level debug.
 */
const FRAMEWORK = new Set([
  'ExceptionHandler',
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Nest's logger on pino. A logged object's fields become the line's fields, `msg` its message and `err` its error. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...more: unknown[]): void {
    this.write('info', message, more);
  }

  error(message: unknown, ...more: unknown[]): void {
    this.write('error', message, more);
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.write('warn', message, more);
  }

  debug(message: unknown, ...more: unknown[]): void {
    this.write('debug', message, more);
  }

  verbose(message: unknown, ...more: unknown[]): void {
    this.write('trace', message, more);
  }

  fatal(message: unknown, ...more: unknown[]): void {
    this.write('fatal', message, more);
  }

  private write(level: Level, message: unknown, more: readonly unknown[]): void {
    const { context, stack } = readMore(more);
    const fromFramework = FRAMEWORK.has(context ?? '') && level !== 'warn';
    const fields = {
      ...(context !== undefined && { context }),
      ...(stack !== undefined && { stack }),
      ...fieldsOf(message),
    };
    this.logger[fromFramework ? 'debug' : level](fields);
  }
}

function fieldsOf(message: unknown): object {
  if (message instanceof Error) return { err: message };
  if (typeof message === 'object' && message !== null) return message;
  return { msg: String(message) };
}

/** Nest appends the context to the arguments, and before it the stack of an error that was logged as a text. */
function readMore(more: readonly unknown[]): { context?: string; stack?: string } {
  const texts = more.filter((entry) => typeof entry === 'string');
  const stack = texts.find((text) => text.includes('\n    at '));
  const context = texts.findLast((text) => text !== stack);
  return { ...(context !== undefined && { context }), ...(stack !== undefined && { stack }) };
}

const MAX_PATH_CHARS = 500;

/** Probes arrive every few seconds, so they are logged at level debug and not traced. */
export function isProbe(path: string): boolean {
  return /^\/(health|metrics)(\/|$)/.test(path);
}

/** Writes one line and counts one request when an answer has ended, whatever ended it. */
export function requestLog(logger: Logger, metrics: Pick<Metrics, 'answered'>): RequestHandler {
  return (request, response, next) => {
    const began = performance.now();
    const bytesBefore = request.socket.bytesWritten;
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
        bytes: request.socket.bytesWritten - bytesBefore,
        // Parameters of a model call that were left out.
        ignored: ignoredParameters(response),
        ...(aborted && { aborted }),
      });
    });
    next();
  };
}

/** The envelope's code; without an envelope the HTTP status, and `aborted` when the client left before either. */
export function answeredCode(response: Response, aborted: boolean): number | 'aborted' {
  const code = envelopeCode(response);
  if (code !== undefined) return code;
  return aborted && !response.headersSent ? 'aborted' : response.statusCode;
}

/** The pattern, never the path: a label of a metric must not grow with what strangers ask for. */
export function routePattern(request: Request): string {
  const { route } = request as { route?: { path?: unknown } };
  return typeof route?.path === 'string' ? route.path : 'unmatched';
}

/** The path without the query, which may carry a token. */
function pathOf(request: Request): string {
  return (request.originalUrl.split('?', 1)[0] ?? '').slice(0, MAX_PATH_CHARS);
}

export function callerOf(request: Request & { caller?: Caller }): Caller | undefined {
  return request.caller;
}

/**
 * Level of a request's line. Never `error`: wrong passwords and failing model services are answered with 500, too, and an
 * unexpected failure is logged with its cause where it is handled.
 */
function levelOf(code: number | 'aborted', path: string): Level {
  if (isProbe(path)) return 'debug';
  if (code === 'aborted') return 'info';
  return code >= 500 || code === 403 || code === 429 ? 'warn' : 'info';
}
