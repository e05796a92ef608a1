import type { ServerResponse } from 'node:http';

const codes = new WeakMap<ServerResponse, number>();

/**
 * Records the envelope code of a response for log and metrics, because the HTTP status is 200 in any case.
 * A route that writes its own answer records it itself, at the latest before it ends the response.
 */
export function setEnvelopeCode(response: ServerResponse, code: number): void {
  codes.set(response, code);
}

export function envelopeCode(response: ServerResponse): number | undefined {
  return codes.get(response);
}
