import { Agent, request } from 'undici';

const CLIENT_ID = 'e5cd7e4891bf95d1d19206ce24a7b32e';
/** Longer than any server is away, or any answer takes. */
const TIMEOUT_MS = 180_000;
const agent = new Agent({ connections: null });

/** An answer that had begun and came to no end. */
export class CutAnswer extends Error {}

/** A user, or an API key, at the load balancer of an installation. */
export class Client {
  constructor(url, headers) {
    this.url = url;
    this.headers = headers;
  }

  static async signIn(url, password) {
    const anonymous = new Client(url, { clientid: CLIENT_ID });
    const { data } = await anonymous.call('POST', '/auth/login', {
      tenantId: '000000',
      username: 'admin',
      password,
      clientId: CLIENT_ID,
      grantType: 'password',
    });
    return new Client(url, { ...anonymous.headers, authorization: `Bearer ${data.access_token}` });
  }

  withKey(key) {
    return new Client(this.url, { authorization: `Bearer ${key}` });
  }

  /** The envelope of a route; throws where its code is none of success. `body` is JSON or a form. */
  async call(method, path, body) {
    const text = await this.text(method, path, body);
    const answer = JSON.parse(text);
    if (answer.code !== 200) throw new Error(`${path}: ${answer.code} ${answer.msg}`);
    return answer;
  }

  async text(method, path, body) {
    const { statusCode, body: content } = await this.#send(method, path, body);
    const text = await content.text();
    if (statusCode !== 200) throw new Error(`${path}: HTTP ${statusCode} ${text.slice(0, 200)}`);
    return text;
  }

  /** Reads a stream to its end. One that has begun and lacks `end` was cut. */
  async stream(path, body, end) {
    const { statusCode, headers, body: content } = await this.#send('POST', path, body);
    const isStream = String(headers['content-type']).startsWith('text/event-stream');
    let text = '';
    content.setEncoding('utf8');
    try {
      for await (const piece of content) text += piece;
    } catch (error) {
      throw isStream ? new CutAnswer(`${path}: ${error.message}`) : error;
    }
    if (isStream && text.includes(end)) return text;
    const hasBegun = isStream && /"content":"[^"]/.test(text);
    const cause = `${path}: HTTP ${statusCode} ${text.slice(-200)}`;
    throw hasBegun ? new CutAnswer(cause) : new Error(cause);
  }

  async #send(method, path, body) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    if (body instanceof FormData) {
      // undici's own form data never ends where it holds a Blob of Node.
      const { headers } = this;
      const answer = await fetch(this.url + path, { method, headers, body, signal });
      return { statusCode: answer.status, body: answer };
    }
    return request(this.url + path, {
      method,
      signal,
      dispatcher: agent,
      headersTimeout: TIMEOUT_MS,
      headers: { ...this.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  }
}
