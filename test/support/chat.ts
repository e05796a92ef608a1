import { request } from 'undici';
import type { Simulator } from '../../simulator/index.js';
import { canary } from './canary.js';
import type { Session } from './session.js';

export interface Frame {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** An answer of /chat/send as an existing client reads it (client contract, section 5). */
export class ChatReply {
  constructor(
    readonly raw: string,
    readonly contentType: string,
  ) {}

  get frames(): Frame[] {
    return this.raw
      .split('\n\n')
      .filter((block) => block.includes('data:'))
      .map(readFrame);
  }

  get events(): string[] {
    return this.frames.map((frame) => frame.event);
  }

  /** The content frames put together. */
  get text(): string {
    return this.joined('content');
  }

  get reasoning(): string {
    return this.joined('reasoning_content');
  }

  get done(): boolean {
    return this.frames.some((frame) => frame.event === 'done' && frame.data['done'] === true);
  }

  /** What the one error form says that existing clients show. */
  get error(): string | undefined {
    const frame = this.frames.find(({ event }) => event === '[ERROR]');
    return frame && String(frame.data['msg']);
  }

  /** What the envelope of the same error would have. */
  get failure(): { readonly code: unknown; readonly data: unknown } | undefined {
    const frame = this.frames.find(({ event }) => event === 'error');
    return frame && { code: frame.data['code'], data: frame.data['data'] };
  }

  private joined(field: string): string {
    return this.frames
      .filter((frame) => frame.event === 'content')
      .map((frame) => (frame.data[field] as string | undefined) ?? '')
      .join('');
  }
}

/** Sends a message and reads the whole answer. */
export async function sendChat(
  session: Session,
  body: object,
  headers: Record<string, string> = {},
): Promise<ChatReply> {
  const { text, headers: answered } = await session.raw('POST', '/chat/send', body, headers);
  return new ChatReply(text, String(answered['content-type']));
}

/** The messages of the last call of a chat model. Throws where there was none. */
export function messagesAsked({
  requests,
}: Pick<Simulator, 'requests'>): { role: string; content: string }[] {
  const call = requests.findLast(({ path }) => path.endsWith('/chat/completions'));
  if (!call) throw new Error('No chat model was asked.');
  return (call.body as { messages: { role: string; content: string }[] }).messages;
}

/** A stream that the test reads piece by piece. */
export class OpenChat {
  private received = '';

  private constructor(
    private readonly body: AsyncIterator<Buffer, undefined>,
    private readonly controller: AbortController,
  ) {}

  static async send(session: Session, body: object, path = '/chat/send'): Promise<OpenChat> {
    const controller = new AbortController();
    const response = await request(session.url + path, {
      method: 'POST',
      headers: {
        ...session.headers,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    const iterator = response.body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    return new OpenChat(iterator, controller);
  }

  /** Reads until the text has arrived; throws when the stream ends without it. */
  async until(text: string): Promise<void> {
    while (!this.received.includes(text)) {
      const { done, value } = await this.body.next();
      if (done) throw new Error(`The stream ended without ${text}: ${this.received}`);
      this.received += value.toString();
      canary.check('/chat/send', this.received);
    }
  }

  /** Reads to the end. */
  async rest(): Promise<ChatReply> {
    for (;;) {
      const { done, value } = await this.body.next();
      if (done) return new ChatReply(this.received, 'text/event-stream');
      this.received += value.toString();
      canary.check('/chat/send', this.received);
    }
  }

  /** Closes the connection as a browser does that leaves. */
  leave(): void {
    this.controller.abort();
  }
}

function readFrame(block: string): Frame {
  const lines = block.split('\n');
  const event =
    lines
      .find((line) => line.startsWith('event:'))
      ?.slice(6)
      .trim() ?? '';
  const data = lines.filter((line) => line.startsWith('data:'));
  if (data.length !== 1) throw new Error(`An event must have one data line: ${block}`);
  return { event, data: JSON.parse(data[0]?.slice(5) ?? '') as Record<string, unknown> };
}
