import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { canary } from './canary.js';
import type { Session } from './session.js';
import { eventually } from './wait.js';

const PATH = '/coding/harness/events/stream';

interface Frame {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads the stream that follows several runs. */
export class FollowReader {
  readonly frames: Frame[] = [];
  closed = false;
  private rest = '';

  private constructor(private readonly response: IncomingMessage) {
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      canary.check(PATH, text);
      this.take(text);
    });
    response.on('error', () => undefined);
    response.once('close', () => (this.closed = true));
  }

  static async open(session: Session, runs: readonly object[]): Promise<FollowReader> {
    const headers = { ...session.headers, 'content-type': 'application/json' };
    const sent = request(session.url + PATH, { method: 'POST', headers, agent: false });
    sent.end(JSON.stringify({ runs }));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new FollowReader(response);
  }

  /** The numbers of the events of the run that have come, in their order. */
  sequencesOf(runId: string): number[] {
    return this.frames
      .filter(({ data }) => data['runId'] === runId && data['eventId'] !== undefined)
      .map(({ data }) => data['sequence'] as number);
  }

  /** Resolves with the first frame of the name, of the run if one is given, that has come or comes. */
  async has(event: string, runId?: string): Promise<Frame['data']> {
    const frame = await eventually(
      () =>
        this.frames.find(
          (one) => one.event === event && (runId === undefined || one.data['runId'] === runId),
        ),
      (found) => found !== undefined,
      90_000,
    );
    return frame?.data ?? {};
  }

  /** The last count of what waits. */
  async counts(count: number): Promise<void> {
    await eventually(
      () => this.frames.findLast(({ event }) => event === 'inbox.count')?.data['count'],
      (last) => last === count,
      90_000,
    );
  }

  async end(): Promise<void> {
    await eventually(
      () => this.closed,
      (closed) => closed,
      90_000,
    );
  }

  leave(): void {
    this.response.destroy();
  }

  private take(text: string): void {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(': ')) continue;
      const found = /^(?:id: \d+\n)?event: ([\w.]+)\ndata: ([^\n]+)$/.exec(block);
      if (!found) throw new Error(`No frame: ${block.slice(0, 300)}`);
      this.frames.push({
        event: found[1] ?? '',
        data: JSON.parse(found[2] ?? '') as Frame['data'],
      });
    }
  }
}
