import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { canary } from './canary.js';
import type { RunEvent } from './harness-stream.js';
import type { Session } from './session.js';
import { eventually } from './wait.js';

/**
 * Reads a run's stream as fast as it comes, or not at all while it is paused, and checks every frame as strict clients do.
 * Made for many events: each is looked at once.
 */
export class EventReader {
  readonly events: RunEvent[] = [];
  /** Ids of the frames. */
  readonly positions: number[] = [];
  readonly comments: string[] = [];
  /** The connection is over, whoever ended it. */
  closed = false;
  private rest = '';

  private constructor(
    readonly status: number,
    private readonly response: IncomingMessage,
    path: string,
    private readonly of: 'run' | 'user',
  ) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      canary.check(path, text);
      this.take(text);
    });
    response.on('error', () => undefined);
    response.once('close', () => (this.closed = true));
  }

  static async open(
    session: Session,
    path: string,
    headers: Record<string, string> = {},
    of: 'run' | 'user' = 'run',
  ): Promise<EventReader> {
    const request = get(session.url + path, {
      headers: { ...session.headers, ...headers },
      agent: false,
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new EventReader(response.statusCode ?? 0, response, path, of);
  }

  get sequences(): number[] {
    return this.events.map(({ sequence }) => sequence);
  }

  get last(): number {
    return this.positions.at(-1) ?? 0;
  }

  /** The deltas put together. */
  get text(): string {
    return this.events.map(({ data }) => (data['delta'] as string | undefined) ?? '').join('');
  }

  /** Takes nothing more off the connection. */
  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  leave(): void {
    this.response.destroy();
  }

  /** Resolves once the event of the number, or a later one, has come. */
  async reaches(sequence: number, limitMs = 90_000): Promise<void> {
    await eventually(
      () => this.last,
      (last) => last >= sequence,
      limitMs,
    );
  }

  async said(comment: string, limitMs = 90_000): Promise<void> {
    await eventually(
      () => this.comments,
      (comments) => comments.includes(comment),
      limitMs,
    );
  }

  /** The number up to which what was stored has come. */
  async synced(limitMs = 90_000): Promise<number> {
    const comment = await eventually(
      () => this.comments.find((one) => one.startsWith('sync ')),
      (found) => found !== undefined,
      limitMs,
    );
    return Number(comment?.slice(5));
  }

  async end(limitMs = 90_000): Promise<void> {
    await eventually(
      () => this.closed,
      (closed) => closed,
      limitMs,
    );
  }

  private take(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(': ')) this.comments.push(block.slice(2));
      else this.add(block);
    }
  }

  /** The id is the event's number in its run, or among all of its user. */
  private add(block: string): void {
    const found = /^id: (\d+)\nevent: ([\w.]+)\ndata: ([^\n]+)$/.exec(block);
    const event = found && (JSON.parse(found[3] ?? '') as RunEvent);
    const position = Number(found?.[1]);
    const isNumbered = this.of === 'user' || event?.sequence === position;
    if (!event || !isNumbered || event.type !== found?.[2]) {
      throw new Error(`No frame of an event: ${block.slice(0, 300)}`);
    }
    this.events.push(event);
    this.positions.push(position);
  }
}
