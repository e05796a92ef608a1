import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sseFrame } from '../../../platform/http/index.js';
import { RETRY_MS } from './event.feed.js';
import type { EventPage, Follower, StreamTarget } from './event.feed.js';

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

interface State extends FollowedRun {
  more: boolean;
  synced: boolean;
}

/**
 * Writes the events of all runs, a page of each in turn, so that a long replay neither delays the others nor needs more
 * memory than one page. `run.synced` says that the stored events of a run are written, `run.over` that no more will come of
 * it, `inbox.count` how much waits for a decision. Ends with the signal; never throws.
 */
export async function writeFollowed(
  target: StreamTarget,
  { followed, inbox, woken }: Sources,
): Promise<void> {
  const { signal, writer } = target;
  const runs = new Set<State>(followed.map((run) => ({ ...run, more: true, synced: false })));
  const isAborted = (): boolean => signal.aborted;
  let counted: number | undefined;

  const news = (): State[] => [...runs].filter(({ more, follower }) => more || follower.isStale);

  while (!isAborted()) {
    let failed = false;
    const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work();
      } catch (error) {
        target.onFailure(error);
        failed = true;
        return undefined;
      }
    };
    if (inbox.isStale()) {
      const count = (await attempt(() => inbox.count())) ?? counted;
      if (count !== undefined && count !== counted)
        writer.write(sseFrame('inbox.count', { count }));
      counted = count;
    }
    for (const run of news()) {
      if (isAborted()) return;
      const wasOver = run.follower.isOver;
      const page = await attempt(() => run.follower.read());
      if (!page) continue;
      await writeChunks(target, page);
      run.more = page.more;
      if (page.more) continue;
      const { sessionId, runId } = run;
      if (!run.synced) {
        writer.write(sseFrame('run.synced', { sessionId, runId, sequence: page.last }));
        run.synced = true;
      }
      if (!wasOver && !page.ended) continue;
      writer.write(sseFrame('run.over', { sessionId, runId, sequence: page.last }));
      run.follower.leave();
      runs.delete(run);
    }
    if (failed) await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    else if (!inbox.isStale() && news().length === 0 && !isAborted()) {
      await once(woken, 'wake', { signal }).catch(() => undefined);
    }
  }
}

async function writeChunks({ writer, signal }: StreamTarget, page: EventPage): Promise<void> {
  for (const chunk of page.chunks) {
    if (signal.aborted) return;
    if (!writer.write(chunk)) await writer.drained(signal);
  }
}
