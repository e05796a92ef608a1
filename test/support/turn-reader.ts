import { request } from 'undici';
import { canary } from './canary.js';
import { ChatReply } from './chat.js';
import type { Session } from './session.js';

/** A client of a detached turn that loses its connection and reads on after the last whole frame that it has. */
export class TurnReader {
  turnId: string | undefined;
  /** The numbers of all frames, in the order in which they came. */
  readonly numbers: number[] = [];
  private received = '';

  constructor(
    private session: Session,
    turnId?: string,
  ) {
    this.turnId = turnId;
  }

  /** Sends the message, and reads at most so many bytes of its answer. */
  static async send(
    session: Session,
    body: object,
    { bytes = Infinity, headers = {} }: { readonly bytes?: number; readonly headers?: object } = {},
  ): Promise<TurnReader> {
    const reader = new TurnReader(session);
    const sent = { ...body, detach: true };
    await reader.read({ method: 'POST', path: '/chat/send', body: sent, headers }, bytes);
    return reader;
  }

  /** What all frames say. */
  get reply(): ChatReply {
    return new ChatReply(this.received, 'text/event-stream');
  }

  get isOver(): boolean {
    return this.reply.done || this.reply.error !== undefined;
  }

  /** Reads on, at another process where one is given, until the stream ends or so many bytes have come. */
  async readOn(bytes = Infinity, session = this.session): Promise<this> {
    this.session = session;
    const last = this.numbers.at(-1);
    const headers = last === undefined ? {} : { 'last-event-id': String(last) };
    await this.read({ method: 'GET', path: `/chat/turns/${this.turnId}/stream`, headers }, bytes);
    return this;
  }

  private async read(
    {
      method,
      path,
      body,
      headers,
    }: {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly body?: object;
      readonly headers: object;
    },
    bytes: number,
  ): Promise<void> {
    const controller = new AbortController();
    const response = await request(this.session.url + path, {
      method,
      headers: {
        ...this.session.headers,
        accept: 'text/event-stream',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: controller.signal,
    });
    let raw = Buffer.alloc(0);
    for await (const piece of response.body as AsyncIterable<Buffer>) {
      raw = Buffer.concat([raw, piece]);
      if (raw.length >= bytes) break;
    }
    controller.abort();
    // The connection breaks at a byte, in the middle of a frame or character: only whole frames count.
    const text = raw.subarray(0, Math.min(bytes, raw.length)).toString();
    canary.check(path, text);
    if (text.startsWith('{')) throw new Error(text);
    this.take(text.slice(0, text.lastIndexOf('\n\n') + 2));
  }

  private take(frames: string): void {
    this.received += frames;
    for (const [, number] of frames.matchAll(/^id: (\d+)$/gm)) this.numbers.push(Number(number));
    this.turnId ??= /"event":"turn","turnId":"([^"]+)"/.exec(frames)?.[1];
  }
}
