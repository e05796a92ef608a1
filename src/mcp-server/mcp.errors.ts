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

/** The paths of the metadata of the addresses as protected resources (RFC 9728, 3.1). */
export const RESOURCE_METADATA = '.well-known/oauth-protected-resource/mcp';
export const GATEWAY_METADATA = `${RESOURCE_METADATA}/gateway`;

/** Paths whose failures are errors of JSON-RPC. */
export const MCP_PATH = /^\/mcp(\/gateway)?\/?$/i;

/**
 * Failures of POST /mcp and /mcp/gateway before a message of the protocol is answered: HTTP statuses, and an error of JSON-RPC.
 * Without a valid key the answer names the metadata by which clients find the authorization server (RFC 9728, 5.1).
 */
export function mcpFailures(config: Pick<Config, 'PUBLIC_URL'>): readonly FailureShape[] {
  const shape = (paths: RegExp, metadata: string): FailureShape => ({
    paths,
    answer: (failure) => {
      const code = JSON_RPC_CODES[failure.code] ?? SERVER_ERROR;
      const address = `${baseOf(config)}/${metadata}`;
      return {
        status: failure.code,
        body: { jsonrpc: '2.0', id: null, error: { code, message: messageForProgram(failure) } },
        ...(failure.code === 401 && {
          headers: { 'WWW-Authenticate': `Bearer resource_metadata="${address}"` },
        }),
      };
    },
  });
  return [shape(/^\/mcp\/?$/i, RESOURCE_METADATA), shape(/^\/mcp\/gateway\/?$/i, GATEWAY_METADATA)];
}

export class ConsentNeededError extends ForbiddenError {
  constructor(tool: string) {
    super(
      msg`The tool ${tool} asks a person before each call, which is not possible here. Use it in a chat, or let an administrator set its consent to always.`,
    );
  }
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
