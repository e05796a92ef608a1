import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';

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
