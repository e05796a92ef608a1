import { request } from 'undici';
import { canary } from './canary.js';
import type { Session } from './session.js';

/** One event of a run as clients read it (harness design, part A). */
export interface RunEvent {
  readonly schemaVersion: number;
  readonly eventId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly sequence: number;
  readonly timestamp: number;
  readonly type: string;
  readonly stepId: string | null;
  readonly toolCallId: string | null;
  readonly approvalId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One block of the stream: a comment, or an event with its frame's own fields. */
export interface RunFrame {
  readonly id?: string;
  readonly event?: string;
  readonly comment?: string;
  readonly data?: RunEvent;
}

/** A run's event stream that the test reads piece by piece. */
export class RunStream {
  /** Everything that has arrived so far, as it was written. */
  raw = '';

  private constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, unknown>>,
    private readonly path: string,
    private readonly body: AsyncIterator<Buffer, undefined>,
    private readonly controller: AbortController,
  ) {}

  /** Opens the stream at the path, which may have a query; `headers` may hold Last-Event-ID. */
  static async open(
    session: Session,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<RunStream> {
    const controller = new AbortController();
    const response = await request(session.url + path, {
      headers: { ...session.headers, ...headers },
      signal: controller.signal,
    });
    const body = response.body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    return new RunStream(response.statusCode, response.headers, path, body, controller);
  }

  get frames(): RunFrame[] {
    return this.raw.split('\n\n').slice(0, -1).map(frameOf);
  }

  get events(): RunEvent[] {
    return this.frames.flatMap(({ data }) => (data ? [data] : []));
  }

  get comments(): string[] {
    return this.frames.flatMap(({ comment }) => (comment === undefined ? [] : [comment]));
  }

  /** Reads until the frames are as hoped; throws when the stream ends before. */
  async until(hoped: (frames: readonly RunFrame[]) => boolean): Promise<void> {
    while (!hoped(this.frames)) {
      if (!(await this.more())) throw new Error(`The stream ended too early: ${this.raw}`);
    }
  }

  /** Reads until an event of the type has arrived, and answers it. */
  async event(type: string): Promise<RunEvent> {
    await this.until((frames) => frames.some(({ event }) => event === type));
    const found = this.events.find((event) => event.type === type);
    if (!found) throw new Error(`The frame of ${type} has no event.`);
    return found;
  }

  /** Reads until the server ends the stream; answers all its events. */
  async rest(): Promise<RunEvent[]> {
    while (await this.more());
    return this.events;
  }

  /** Closes the connection as a browser does that leaves. */
  leave(): void {
    this.controller.abort();
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.body.next();
    if (done) return false;
    this.raw += value.toString();
    canary.check(this.path, this.raw);
    return true;
  }
}

function frameOf(block: string): RunFrame {
  const fields = block.split('\n').map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
  });
  const field = (name: string): string | undefined => fields.find(([start]) => start === name)?.[1];
  const [id, event, comment, data] = [field('id'), field('event'), field(''), field('data')];
  return {
    ...(id !== undefined && { id }),
    ...(event !== undefined && { event }),
    ...(comment !== undefined && { comment }),
    ...(data !== undefined && { data: JSON.parse(data) as RunEvent }),
  };
}
