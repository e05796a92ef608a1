import { pino } from 'pino';
import type { Logger } from 'pino';
import type { Config } from '../config/index.js';
import { currentRequest } from '../http/index.js';
import { asText, LogOutput } from './log-output.js';
import type { LogDestination } from './log-output.js';
import { withoutSecrets, withoutSecretsInText } from './redaction.js';

/** `auto` means text for a person at a terminal and JSON for everything else. */
export function logFormat(config: Config): 'json' | 'text' {
  if (config.LOG_FORMAT !== 'auto') return config.LOG_FORMAT;
  return process.stdout.isTTY ? 'text' : 'json';
}

/** The one logger of an application. Every line carries the id of its request and passes the redaction. */
export function createLogger(config: Config, given?: LogDestination): Logger {
  return pino(
    {
      level: config.LOG_LEVEL,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: () => {
        const request = currentRequest();
        return request ? { requestId: request.id } : {};
      },
      formatters: { level: (level) => ({ level }), log: withoutSecrets },
      // Errors are already plain fields by then; pino's own serializer would copy all they hold.
      serializers: { err: (fields: unknown) => fields },
      hooks: { streamWrite: withoutSecretsInText },
    },
    destination(logFormat(config) === 'text' ? asText : unchanged, given),
  );
}

function destination(
  format: (line: string) => string,
  given: LogDestination | undefined,
): LogDestination {
  if (given) return { write: (line) => given.write(format(line)) };
  return new LogOutput(process.stdout, format);
}

function unchanged(line: string): string {
  return line;
}
