import { setTimeout as sleep } from 'node:timers/promises';
import type { SseWriter } from '../../../platform/http/index.js';
import type { Follower } from './event.feed.js';
import type { EventPage } from './event.page.js';

/** How soon a page that could not be read is asked for again. */
const RETRY_MS = 2_000;

/**
 * One reader's stream: what is stored after its position, the comment `: sync N` once that is written, then what comes
 * until the run is over. Nothing is kept for a client that reads slowly, because what it has not taken is in the table.
 */
export class EventStream {
  private readonly ending = new AbortController();

  constructor(
    private readonly writer: SseWriter,
    private readonly follower: Follower,
    private readonly onFailure: (error: unknown) => void,
  ) {
    writer.onClose(() => this.end());
  }

  /** Ends the stream wherever it is. */
  end(): void {
    this.ending.abort();
  }

  /** Writes the page that has been read and whatever follows it; resolves when the stream is over. Never throws. */
  async write(first: EventPage, isLast: boolean): Promise<void> {
    let page: EventPage | undefined = first;
    let over = isLast;
    let synced = false;
    while (!this.ended) {
      if (page) await this.writePage(page);
      if (page && !page.more) {
        if (!synced) this.writer.write(`: sync ${page.last}\n\n`);
        synced = true;
        if (over || page.ended) return;
        await this.follower.changed(this.ending.signal);
      }
      over = this.follower.isOver;
      page = await this.read();
    }
  }

  private get ended(): boolean {
    return this.ending.signal.aborted;
  }

  private async writePage(page: EventPage): Promise<void> {
    for (const chunk of page.chunks) {
      if (this.ended) return;
      if (!this.writer.write(chunk)) await this.writer.drained(this.ending.signal);
    }
  }

  /** Undefined when the stream has ended, and, after a while, when the table could not be read. */
  private async read(): Promise<EventPage | undefined> {
    if (this.ended) return undefined;
    try {
      return await this.follower.read();
    } catch (error) {
      this.onFailure(error);
      await sleep(RETRY_MS, undefined, { signal: this.ending.signal }).catch(() => undefined);
      return undefined;
    }
  }
}
