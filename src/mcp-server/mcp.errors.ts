import { ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import type { FailureShape } from '../platform/error/index.js';
import type { Config } from '../platform/config/index.js';
import { currentRequest, messageForProgram } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';

const JSON_RPC_CODES: Readonly<Record<number, number>> = {
  400: -32_600,
  404: -32_601,
  500: -32_603,
};
const SERVER_ERROR = -32_000;

/** The address of the service without a final slash, as clients reach it. */
export function baseOf({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string {
  return PUBLIC_URL ?? currentRequest()?.baseAddress ?? 'http://localhost';
}

/** The addresses that tokens of OAuth are for, the default one first. */
export function resourcesOf(config: Pick<Config, 'PUBLIC_URL'>): readonly string[] {
  return [`${baseOf(config)}/mcp`];
}

/** The path of the metadata of POST /mcp as a protected resource (RFC 9728, 3.1). */
export const RESOURCE_METADATA = '.well-known/oauth-protected-resource/mcp';

/** Paths whose failures are errors of JSON-RPC. */
export const MCP_PATH = /^\/mcp\/?$/i;

/**
 * Failures of POST /mcp before a message of the protocol is answered: HTTP statuses, and an error of JSON-RPC. Without a valid key
 * the answer names the metadata by which clients find the authorization server (RFC 9728, 5.1).
 */
export function mcpFailures(config: Pick<Config, 'PUBLIC_URL'>): FailureShape {
  return {
    paths: MCP_PATH,
    answer: (failure) => {
      const code = JSON_RPC_CODES[failure.code] ?? SERVER_ERROR;
      const metadata = `${baseOf(config)}/${RESOURCE_METADATA}`;
      return {
        status: failure.code,
        body: { jsonrpc: '2.0', id: null, error: { code, message: messageForProgram(failure) } },
        ...(failure.code === 401 && {
          headers: { 'WWW-Authenticate': `Bearer resource_metadata="${metadata}"` },
        }),
      };
    },
  };
}

export class OriginError extends ForbiddenError {
  constructor() {
    super(
      msg`Pages of this origin may not call this address. Add the origin to CORS_ORIGINS, or call it from a program.`,
    );
  }
}

export class BatchError extends InvalidInputError {
  constructor() {
    super(msg`The protocol has no batches. Send one message at a time.`);
  }
}

export class UnknownArgumentError extends InvalidInputError {
  constructor(name: string, allowed: readonly string[]) {
    super(msg`The tool has no argument ${name}. It has: ${allowed.join(', ')}.`);
  }
}
