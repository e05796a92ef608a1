import { request } from 'undici';
import { checkAnswer } from './answer-schemas.js';
import { canary } from './canary.js';

export interface Answer<Data = unknown> {
  code: number;
  msg: string;
  data: Data;
  total: number;
  rows: Data extends readonly (infer Row)[] ? Row[] : Record<string, unknown>[];
}

/**
 * One signed-in (or anonymous) client speaking JSON over real HTTP. Every answer is searched for
 * leaked secrets, and held against the OpenAPI schema of its route.
 */
export class Session {
  constructor(
    readonly url: string,
    readonly headers: Record<string, string>,
  ) {
    canary.protect('token', (headers['authorization'] ?? '').replace('Bearer ', ''));
  }

  /** The same client with this header Accept-Language. */
  inLanguage(language: string): Session {
    return new Session(this.url, { ...this.headers, 'accept-language': language });
  }

  get<Data = unknown>(path: string): Promise<Answer<Data>> {
    return this.call<Data>('GET', path);
  }

  post<Data = unknown>(path: string, body?: unknown): Promise<Answer<Data>> {
    return this.call<Data>('POST', path, body);
  }

  put<Data = unknown>(path: string, body?: unknown): Promise<Answer<Data>> {
    return this.call<Data>('PUT', path, body);
  }

  delete<Data = unknown>(path: string): Promise<Answer<Data>> {
    return this.call<Data>('DELETE', path);
  }

  /** Sends a form with files, by POST. */
  async upload<Data = unknown>(path: string, form: FormData): Promise<Answer<Data>> {
    // Not by undici's request, whose own FormData never ends where it holds a Blob of Node.
    const { headers } = this;
    const response = await fetch(this.url + path, { method: 'POST', headers, body: form });
    const text = await response.text();
    canary.check(`POST ${path}`, text);
    const type = response.headers.get('content-type');
    await checkAnswer({ method: 'POST', address: path, status: response.status, type, text });
    return envelopeOf(`POST ${path}`, response.status, text) as Answer<Data>;
  }

  /** The envelope of a JSON route; throws when the answer is not HTTP 200 with an envelope. */
  async call<Data>(method: string, path: string, body?: unknown): Promise<Answer<Data>> {
    const { status, text } = await this.raw(method, path, body);
    return envelopeOf(`${method} ${path}`, status, text) as Answer<Data>;
  }

  async raw(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
    canary.protectFieldsOf(body);
    const response = await request(this.url + path, {
      method: method as 'GET',
      headers: {
        ...this.headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    canary.check(`${method} ${path}`, text);
    const { statusCode: status, headers: answered } = response;
    await checkAnswer({ method, address: path, status, type: answered['content-type'], text });
    return { status, text, headers: answered };
  }
}

function envelopeOf(route: string, status: number, text: string): Answer {
  if (status !== 200) throw new Error(`${route}: HTTP ${status} ${text.slice(0, 200)}`);
  return JSON.parse(text) as Answer;
}
