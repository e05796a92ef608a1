import type { OutboundHttp } from './outbound-http.js';

interface LibraryFetchOptions {
  /** Time limit of one request. */
  readonly limitMs: number;
  readonly maxBytes: number;
  /** See OutboundRequest. */
  readonly redirect?: 'answer';
}

interface LibraryRequest {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/**
 * The fetch that libraries for OAuth are given: to services that secrets are exchanged with, within a limit of time and size. Bodies
 * are texts and forms.
 */
export function libraryFetch(
  http: OutboundHttp,
  { limitMs, maxBytes, redirect }: LibraryFetchOptions,
): (address: string | URL, request?: LibraryRequest) => Promise<Response> {
  return async (address, { method, headers, body, signal } = {}) => {
    http.assertSecureAddress(String(address));
    const text = textOf(body);
    const response = await http.request(String(address), {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(headers)),
      ...(text !== undefined && { body: text }),
      signal: signal ?? AbortSignal.timeout(limitMs),
      timeouts: { connectMs: limitMs, idleMs: limitMs, totalMs: limitMs },
      ...(redirect && { redirect }),
    });
    const { status } = response;
    const answered = await response.text(maxBytes);
    const names = ['content-type', 'www-authenticate', 'location'] as const;
    return new Response(status === 204 || answered === '' ? null : answered, {
      status,
      headers: names.flatMap((name): [string, string][] => {
        const value = response.headers[name];
        return value === undefined ? [] : [[name, value]];
      }),
    });
  };
}

function textOf(body: unknown): string | undefined {
  if (body instanceof URLSearchParams) return body.toString();
  return typeof body === 'string' ? body : undefined;
}
