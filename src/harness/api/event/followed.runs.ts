import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sseFrame } from '../../../platform/http/index.js';
import { RETRY_MS } from './event.feed.js';
import type { Follower, StreamTarget } from './event.feed.js';

interface FollowedRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly follower: Pick<Follower, 'isStale' | 'isOver' | 'read' | 'leave'>;
}

/** How much waits for a decision of the reader. */
interface Inbox {
  /** It may have changed since it was counted. */
  readonly isStale: () => boolean;
  readonly count: () => Promise<number>;
}

interface Sources {
  readonly followed: readonly FollowedRun[];
  readonly inbox: Inbox;
  /** Has an event `wake` when a follower or the inbox may have something new. */
  readonly woken: EventTarget;
}

/** A run and how far the stream has come in it. */
interface Progress extends FollowedRun {
  more: boolean;
  synced: boolean;
}

/**
 * Writes the events of all runs, a page of each in turn, so that a long replay neither delays the others nor needs more
 * memory than one page. `run.synced` says that the stored events of a run are written, `run.over` that no more will come of
 * it, `inbox.count` how much waits for a decision. Ends with the signal; never throws.
 */
export async function writeFollowed(target: StreamTarget, sources: Sources): Promise<void> {
  await new FollowedRuns(target, sources).write();
}

class FollowedRuns {
  private readonly runs: Set<Progress>;
  private counted: number | undefined;

  constructor(
    private readonly target: StreamTarget,
    private readonly sources: Sources,
  ) {
    this.runs = new Set(sources.followed.map((run) => ({ ...run, more: true, synced: false })));
  }

  async write(): Promise<void> {
    const { signal, onFailure } = this.target;
    while (!this.isAborted()) {
      try {
        await this.writeNews();
        await this.news();
      } catch (error) {
        onFailure(error);
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private isAborted(): boolean {
    return this.target.signal.aborted;
  }

  private get unread(): Progress[] {
    return [...this.runs].filter(({ more, follower }) => more || follower.isStale);
  }

  /** Resolves when there may be something to write. */
  private async news(): Promise<void> {
    const { signal } = this.target;
    const { inbox, woken } = this.sources;
    if (this.unread.length > 0 || inbox.isStale() || signal.aborted) return;
    await once(woken, 'wake', { signal }).catch(() => undefined);
  }

  private async writeNews(): Promise<void> {
    const { inbox } = this.sources;
    if (inbox.isStale()) await this.writeCount(await inbox.count());
    for (const run of this.unread) {
      if (!this.isAborted()) await this.writePage(run);
    }
  }

  private async writeCount(count: number): Promise<void> {
    if (count === this.counted) return;
    this.counted = count;
    await this.put(sseFrame('inbox.count', { count }));
  }

  private async writePage(run: Progress): Promise<void> {
    const { sessionId, runId, follower } = run;
    const wasOver = follower.isOver;
    const page = await follower.read();
    for (const chunk of page.chunks) await this.put(chunk);
    run.more = page.more;
    if (page.more) return;
    const place = { sessionId, runId, sequence: page.last };
    if (!run.synced) await this.put(sseFrame('run.synced', place));
    run.synced = true;
    if (!wasOver && !page.ended) return;
    await this.put(sseFrame('run.over', place));
    follower.leave();
    this.runs.delete(run);
  }

  private async put(frames: string | Buffer): Promise<void> {
    const { writer, signal } = this.target;
    if (!signal.aborted && !writer.write(frames)) await writer.drained(signal);
  }
}
