import type { IncomingHttpHeaders } from 'node:http';
import type { JsonValue } from './json.js';

/**
 * How a response ended: `completed` (sent in full, also when a fault shortened it), `reset` (the
 * simulator reset the connection on purpose), `client-closed` (the client left first), or `open`.
 */
export type RequestEnding = 'open' | 'completed' | 'client-closed' | 'reset';

/** Tokens of an answer as the simulator reports them. */
export interface ReportedTokens {
  readonly input: number;
  readonly output: number;
}

/** Totals of requests answered in full since the last reset. */
export interface Answered {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** One received request and its outcome. */
export interface RecordedRequest {
  readonly method: string;
  /** Path without the query string. */
  readonly path: string;
  /** Query string without the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed when it is JSON or a form, otherwise the text; null when there is none. */
  readonly body: JsonValue;
  readonly model: string | undefined;
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  /** Status answered; 0 until the head of the response is sent. */
  readonly status: number;
  readonly ended: RequestEnding;
  /** Bytes of response body written so far. */
  readonly bytesSent: number;
  /** Token usage that the answer reports at its end; undefined without a report. */
  readonly tokens?: ReportedTokens | undefined;
}

export interface Recording extends RecordedRequest {
  body: JsonValue;
  model: string | undefined;
  status: number;
  ended: RequestEnding;
  bytesSent: number;
  tokens?: ReportedTokens | undefined;
}

/** A simulator may run for days under a demo, so that only the newest requests are kept. */
const KEPT_REQUESTS = 2000;

/** Keeps the newest requests in order of arrival, and counts all of them. */
export class Recorder {
  readonly requests: Recording[] = [];
  total = 0;
  answered: Answered = { calls: 0, inputTokens: 0, outputTokens: 0 };

  /** Counts a request that is over, if it was answered in full with its tokens. */
  end({ ended, status, tokens }: Recording): void {
    if (ended !== 'completed' || status !== 200 || !tokens) return;
    const { calls, inputTokens, outputTokens } = this.answered;
    this.answered = {
      calls: calls + 1,
      inputTokens: inputTokens + tokens.input,
      outputTokens: outputTokens + tokens.output,
    };
  }

  add(recording: Recording): void {
    this.total += 1;
    this.requests.push(recording);
    if (this.requests.length > KEPT_REQUESTS) this.requests.shift();
  }

  toJson(): JsonValue {
    return this.requests.map(({ tokens, ...request }) => ({
      ...request,
      headers: { ...request.headers },
      ...(tokens && { tokens: { ...tokens } }),
    }));
  }

  clear(): void {
    this.requests.length = 0;
    this.total = 0;
    this.answered = { calls: 0, inputTokens: 0, outputTokens: 0 };
  }
}
