import type { ServerResponse } from 'node:http';

const codes = new WeakMap<ServerResponse, number>();

/**
 * Notes what a response says in its envelope, for log and metrics: the HTTP status is 200 either way.
 * A route that writes its own answer notes it itself, at the latest before it ends the response.
 */
export function setEnvelopeCode(response: ServerResponse, code: number): void {
  codes.set(response, code);
}

export function envelopeCode(response: ServerResponse): number | undefined {
  return codes.get(response);
}
