import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import type { Config } from '../config/index.js';
import { currentRequest } from '../http/index.js';
import { withoutSecrets, withoutSecretsInText } from './redaction.js';
import { asText } from './text-format.js';

/** Where finished lines go: the standard output, or what a test hands over. */
export type LogDestination = DestinationStream;

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
    destination(logFormat(config), given),
  );
}

function destination(format: 'json' | 'text', given: LogDestination | undefined): LogDestination {
  if (format === 'json') return given ?? pino.destination(1);
  const output = given ?? process.stdout;
  return { write: (line) => void output.write(asText(line)) };
}
