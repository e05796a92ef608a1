import { isEnvelope } from './envelope.js';
import { ApiError, ConnectionError } from './errors.js';
import type { Connection } from './settings.js';

const UNAUTHENTICATED = 401;

/** Awaits one part of a request. A failure without an abort means that the connection was lost. */
export async function reach<Part>(
  part: () => Promise<Part>,
  signal: AbortSignal | null | undefined,
): Promise<Part> {
  try {
    return await part();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError('No connection to the server. Check the network and try again.', {
      cause: error,
    });
  }
}

/** The part of an answer that both fetch and XMLHttpRequest provide. */
export interface AnswerHead {
  readonly status: number;
  readonly header: (name: string) => string | null;
  /** The instance that sent the request. */
  readonly connection: Connection;
}

export function headOf({ status, headers }: Response, connection: Connection): AnswerHead {
  return { status, header: (name) => headers.get(name), connection };
}

/** Reads a JSON answer with its envelope. Throws ApiError for a failure and for a body that is not JSON. */
export function readJson(head: AnswerHead, text: string): unknown {
  const body = parsed(text);
  const { status } = head;
  const isOk = status >= 200 && status < 300;
  if (isEnvelope(body)) {
    if (isOk && body.code === 200) return body;
    throw failure(head, { code: body.code, message: body.msg, data: body.data ?? null });
  }
  if (isOk && body !== undefined) return body;
  throw unreadable(head, body ?? null);
}

/** Builds the error for an answer without an envelope, such as one from a proxy. */
export function unreadable(head: AnswerHead, data: unknown = null): ApiError {
  const { status } = head;
  const message =
    status >= 200 && status < 300
      ? 'The answer of the server cannot be read. Check the address of the server.'
      : `The server answered with HTTP status ${status}. Try again later.`;
  return failure(head, { code: status, message, data });
}

function failure(
  { status, header, connection }: AnswerHead,
  details: { readonly code: number; readonly message: string; readonly data: unknown },
): ApiError {
  if (details.code === UNAUTHENTICATED) connection.reportUnauthenticated();
  return new ApiError({ ...details, status, requestId: header('X-Request-Id') ?? undefined });
}

/** Parses JSON; undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isJson({ header }: AnswerHead): boolean {
  return /^application\/(.+\+)?json\b/i.test(header('Content-Type') ?? '');
}

/** The file name in the Content-Disposition header. */
export function fileNameOf({ header }: AnswerHead): string | undefined {
  const disposition = header('Content-Disposition') ?? '';
  const encoded = /filename\*\s*=\s*UTF-8''([^;]+)/i.exec(disposition)?.[1];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded.trim());
    } catch {
      // A malformed encoded name is ignored; the plain `filename` follows.
    }
  }
  return /filename\s*=\s*(?:"([^"]*)"|([^;\s]+))/i.exec(disposition)?.slice(1).find(Boolean);
}
