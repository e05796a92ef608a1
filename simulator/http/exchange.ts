import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { isForm, parseForm } from './form.js';
import { type JsonObject, objectOf, parseJson } from './json.js';
import type { Recording, RequestEnding } from './recorder.js';

const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Time for written bytes to reach the client, because a reset discards what is still in transit. */
const SETTLE_BEFORE_RESET_MS = 10;

/**
 * One request with its response. Writing waits for a slow reader; every wait ends as soon as the
 * connection closes, and after that `closed` is true and writes do nothing.
 */
export class Exchange {
  /** The request body as a JSON object, also of a form; empty when it is none. */
  body: JsonObject = {};
  private readonly ending = new AbortController();

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    readonly recording: Recording,
  ) {
    response.once('close', () =>
      this.settle(response.writableFinished ? 'completed' : 'client-closed'),
    );
    response.on('error', () => this.settle('client-closed'));
  }

  get method(): string {
    return this.recording.method;
  }

  get path(): string {
    return this.recording.path;
  }

  get closed(): boolean {
    return this.ending.signal.aborted;
  }

  onClosed(listener: () => void): void {
    this.ending.signal.addEventListener('abort', listener, { once: true });
  }

  /** Address under which the client reached the simulator. */
  get origin(): string {
    return `http://${this.header('host') || 'localhost'}`;
  }

  header(name: string): string {
    const value = this.request.headers[name];
    return (Array.isArray(value) ? value[0] : value) ?? '';
  }

  /** Reads the body; false when it is over the limit or the client left meanwhile. */
  async readBody(): Promise<boolean> {
    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of this.request as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > MAX_BODY_BYTES) return false;
        parts.push(part);
      }
    } catch {
      return false;
    }
    const bytes = Buffer.concat(parts);
    const type = this.header('content-type');
    if (isForm(type)) {
      this.body = parseForm(bytes, type);
      this.recording.body = this.body;
      return true;
    }
    const text = bytes.toString('utf8');
    const value = parseJson(text);
    this.recording.body = value ?? (text === '' ? null : text);
    this.body = objectOf(value);
    return true;
  }

  sendHead(status: number, headers: OutgoingHttpHeaders): void {
    if (this.closed) return;
    this.recording.status = status;
    this.response.writeHead(status, headers);
    this.response.flushHeaders();
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.closed) return;
    this.recording.bytesSent += bytes.length;
    const accepted = this.response.write(bytes);
    if (!accepted) await this.unlessClosed((signal) => once(this.response, 'drain', { signal }));
  }

  /** Lets the event loop turn, so that separate writes leave as separate packets. */
  async turn(): Promise<void> {
    await setImmediate();
  }

  /** Waits; an infinite time means until the connection closes. */
  async pause(milliseconds: number): Promise<void> {
    if (milliseconds <= 0) return;
    await this.unlessClosed((signal) =>
      milliseconds === Infinity
        ? once(this.response, 'close', { signal })
        : setTimeout(milliseconds, undefined, { signal }),
    );
  }

  end(): void {
    if (!this.closed) this.response.end();
  }

  /** Ends the connection with a TCP reset, after what was written has had time to arrive. */
  async reset(): Promise<void> {
    await this.pause(SETTLE_BEFORE_RESET_MS);
    // A client in this same process reads only when the event loop turns, however late that is.
    await this.turn();
    await this.turn();
    if (this.closed) return;
    // Settled beforehand, because the client may see the reset before this side does.
    this.settle('reset');
    this.response.socket?.resetAndDestroy();
  }

  private async unlessClosed(wait: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.closed) return;
    try {
      await wait(this.ending.signal);
    } catch (error) {
      if (!this.ending.signal.aborted) throw error;
    }
  }

  private settle(ending: RequestEnding): void {
    if (this.closed) return;
    this.recording.ended = ending;
    this.ending.abort();
  }
}
