import { useEffect, useState } from 'react';
import { browserStream } from './stream/browser-stream';
import { EMPTY, TimelineBuilder } from './timeline';
import type { Timeline } from './timeline';

/** Interval in which events are batched into one render. */
const FLUSH_MS = 40;

export interface RunFeed {
  readonly timeline: Timeline;
  /** `replaying` until all stored events have arrived, `gone` if the run does not exist. */
  readonly state: 'replaying' | 'live' | 'over' | 'gone';
  readonly message: string | undefined;
}

const NONE: RunFeed = { timeline: EMPTY, state: 'replaying', message: undefined };

/** Returns the live timeline of a run. */
export function useTimeline(sessionId: string, runId: string | undefined): RunFeed {
  const [feed, setFeed] = useState<RunFeed>(NONE);
  useEffect(() => {
    setFeed(NONE);
    if (runId === undefined) return;
    const builder = new TimelineBuilder();
    let { state, message } = NONE as { state: RunFeed['state']; message: string | undefined };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      setFeed({ timeline: builder.snapshot, state, message });
    };
    const leave = browserStream.follow({ sessionId, runId, after: 0 }, (news) => {
      if (news.kind === 'event') builder.add(news.event);
      else if (news.kind === 'gone') {
        state = 'gone';
        message = news.message;
      } else state = news.kind === 'over' ? 'over' : 'live';
      timer ??= setTimeout(flush, FLUSH_MS);
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [sessionId, runId]);
  return feed;
}
