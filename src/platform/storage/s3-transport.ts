import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { OutboundError } from '../outbound/index.js';
import type { OutboundHttp, OutboundRequest } from '../outbound/index.js';

type RequestHandler = NonNullable<S3ClientConfig['requestHandler']>;

/** Time limits of a request; a part of an upload is one request. The total does not count for contents that are read. */
export const S3_LIMITS = { connectMs: 5_000, idleMs: 20_000 };
const TOTAL_MS = 60_000;

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const;

/** The parts of a request of the AWS SDK that are used. */
interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>> | undefined;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Gives the AWS SDK this service's HTTP client, so that time limits, proxies and authorities are those of all other calls.
 * Failures that a retry may resolve are marked for the SDK.
 */
export function s3Transport(http: OutboundHttp): RequestHandler {
  const handle = async (
    request: SdkRequest,
    { abortSignal }: { readonly abortSignal?: unknown } = {},
  ) => {
    const { host: _, 'content-length': __, ...headers } = request.headers;
    const method = METHODS.find((one) => one === request.method) ?? 'GET';
    const body = bodyOf(request.body);
    try {
      const answer = await http.request(addressOf(request), {
        method,
        headers,
        ...(body !== undefined && { body }),
        signal: (abortSignal as AbortSignal | undefined) ?? new AbortController().signal,
        timeouts: method === 'GET' ? S3_LIMITS : { ...S3_LIMITS, totalMs: TOTAL_MS },
      });
      const answered = Object.entries(answer.headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as const],
      );
      return {
        response: {
          statusCode: answer.status,
          headers: Object.fromEntries(answered),
          body: Readable.from(answer.body, { objectMode: false }),
        },
      };
    } catch (error) {
      const isPassing = error instanceof OutboundError && error.retryable;
      throw isPassing ? Object.assign(error, { $retryable: {} }) : error;
    }
  };
  const metadata = { handlerProtocol: 'http/1.1' };
  return { handle, metadata, destroy: () => undefined } as RequestHandler;
}

/** Encoded as it is signed: a space is %20, and so are the characters that encodeURIComponent leaves (RFC 3986). */
function addressOf({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map((one) => `${encoded(name)}=${encoded(one)}`),
  );
  const search = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`;
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function bodyOf(body: unknown): OutboundRequest['body'] {
  if (body === undefined || body === null || typeof body === 'string') return body ?? undefined;
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  throw new Error('The AWS SDK sent a body of an unknown kind.');
}
