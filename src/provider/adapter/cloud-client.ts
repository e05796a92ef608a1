import { Readable } from 'node:stream';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { isRecord } from './vendor-json.js';

const LIMITS = { connectMs: 10_000, idleMs: 20_000, totalMs: 30_000 } as const;
const MAX_ANSWER_BYTES = 1024 * 1024;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** The host's own identity services, which the rules for addresses of users refuse; only libraries name their addresses. */
const hostServices = new OutboundHttp({ allowedPrivateHosts: ['*'], allowsHostServices: true });

interface CloudRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface CloudAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** A request of @azure/identity. */
interface AzureRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: { toJSON(): Record<string, string> };
  readonly body?: unknown;
}

/** A request of the AWS SDK. */
interface AwsRequest {
  readonly protocol?: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Gives the libraries of the clouds this service's one HTTP client, so that proxies, authorities and the rules for addresses
 * hold for tokens as well. Made for one fetching of a token.
 */
export class CloudClient {
  /** The failure of a request below HTTP, which the libraries wrap in errors of their own. */
  failure?: unknown;

  constructor(
    private readonly http: OutboundHttp,
    /** Whether the identity of the host is asked for: nothing that a user enters leads to the host's services. */
    private readonly isOfHost: boolean,
  ) {}

  /** The client that google-auth-library takes. */
  readonly fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const { status, headers, text } = await this.send({
      url: input instanceof Request ? input.url : String(input),
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body,
    });
    return new Response(status === 204 ? null : text, { status, headers });
  };

  /** The client that @azure/identity takes. */
  readonly azureClient = {
    sendRequest: async <R extends AzureRequest>(request: R) => {
      const { url, method, body } = request;
      const headers = request.headers.toJSON();
      const { status, headers: answered, text } = await this.send({ url, method, headers, body });
      return {
        request,
        status,
        headers: new HeaderMap(Object.entries(answered)),
        bodyAsText: text,
      };
    },
  };

  /** The client that the AWS SDK takes. */
  readonly awsHandler = {
    handle: async (request: AwsRequest) => {
      const { protocol = 'https:', hostname, port, path, query = {}, method, headers } = request;
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
      const { host: _, 'content-length': __, ...forwardedHeaders } = headers;
      const answer = await this.send({
        url: url.href,
        method,
        headers: forwardedHeaders,
        body: request.body,
      });
      const body = Readable.from([Buffer.from(answer.text)]);
      return { response: { statusCode: answer.status, headers: answer.headers, body } };
    },
    destroy: () => undefined,
  };

  private async send({ url, method, headers, body }: CloudRequest): Promise<CloudAnswer> {
    try {
      const isAtHost = this.isOfHost && isHostService(new URL(url));
      const http = isAtHost ? hostServices : this.http;
      const response = await http.request(url, {
        method: METHODS.find((one) => one === method.toUpperCase()) ?? 'GET',
        headers,
        ...(body !== undefined && body !== null && { body: textOf(body) }),
        signal: AbortSignal.timeout(LIMITS.totalMs),
        timeouts: LIMITS,
      });
      const text = await response.text(MAX_ANSWER_BYTES);
      const answered = Object.entries(response.headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as const],
      );
      return { status: response.status, headers: Object.fromEntries(answered), text };
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}

/** Header names in lower case, with what the pipeline of Azure calls. */
class HeaderMap extends Map<string, string> {
  override get(name: string): string | undefined {
    return super.get(name.toLowerCase());
  }

  override has(name: string): boolean {
    return super.has(name.toLowerCase());
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this);
  }
}

/** Managed identities are served at link-local addresses and on the loopback, without TLS. */
function isHostService({ protocol, hostname }: URL): boolean {
  return (
    protocol === 'http:' && /^(169\.254\.\d+\.\d+|127\.\d+\.\d+\.\d+|localhost)$/.test(hostname)
  );
}

function textOf(body: unknown): string | Buffer {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  if (body instanceof Uint8Array) return Buffer.from(body);
  if (isRecord(body)) return JSON.stringify(body);
  throw new Error('The library of the cloud sent a body of an unknown kind.');
}
