import { ApiError } from '@plinth/client';
import type { HarnessNews, Plinth } from '@plinth/client';
import type { ConnectionState, Followed, FromHub, ToHub } from './messages';

/** Maximum number of runs in one stream of the service. */
const MAX_RUNS = 20;
/** Messages within this time are batched into one restart of the stream. */
const BATCH_MS = 20;
const UNREFUSED_AFTER_MS = 5_000;

interface WatchedRun extends Followed {
  after: number;
  /** Order of subscription. If there are too many runs, the newest are followed. */
  readonly since: number;
}

/** One tab of the browser. */
export interface Tab {
  readonly post: (message: FromHub) => void;
}

/** A sign-in and its current tenant. A stream stays in the tenant in which it was opened. */
type CallerId = string | undefined;

/** Holds one stream with the runs of all tabs and forwards to each tab the events that it has not received. */
export class Hub {
  private readonly tabs = new Map<Tab, Map<string, WatchedRun>>();
  private callerId: CallerId;
  private current: AbortController | undefined;

  constructor(private readonly plinth: Pick<Plinth, 'streamHarness'>) {}
  private timer: ReturnType<typeof setTimeout> | undefined;
  private count: number | undefined;
  private state: ConnectionState = 'connected';
  /** Runs of the last request, in order. */
  private requestedRuns: readonly Followed[] = [];
  private steps = 0;

  receive(tab: Tab, message: ToHub): void {
    switch (message.kind) {
      case 'session':
        this.join(tab, message.token && `${message.token} ${message.tenantId}`);
        break;
      case 'follow':
        this.runsOf(tab).set(message.run.runId, { ...message.run, since: (this.steps += 1) });
        this.restart();
        break;
      case 'unfollow':
        if (this.tabs.get(tab)?.delete(message.runId)) this.restart();
        break;
      case 'leave':
        this.leave(tab);
    }
  }

  leave(tab: Tab): void {
    const runs = this.tabs.get(tab);
    if (!runs) return;
    this.tabs.delete(tab);
    if (runs.size > 0 || this.tabs.size === 0) this.restart();
  }

  private join(tab: Tab, who: CallerId): void {
    this.runsOf(tab);
    if (who === this.callerId && this.current) {
      if (this.count !== undefined) tab.post({ kind: 'count', count: this.count });
      tab.post({ kind: 'connection', state: this.state });
      return;
    }
    if (who !== this.callerId) this.count = undefined;
    this.callerId = who;
    this.restart();
  }

  private runsOf(tab: Tab): Map<string, WatchedRun> {
    const runs = this.tabs.get(tab) ?? new Map<string, WatchedRun>();
    this.tabs.set(tab, runs);
    return runs;
  }

  private restart(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.stream(), BATCH_MS);
  }

  private async stream(): Promise<void> {
    this.current?.abort();
    this.current = undefined;
    if (this.callerId === undefined || this.tabs.size === 0) return;
    const leaving = new AbortController();
    this.current = leaving;
    const { signal } = leaving;
    const onConnection = (state: ConnectionState): void => {
      if (signal.aborted) return;
      this.state = state;
      this.broadcast({ kind: 'connection', state });
    };
    try {
      for await (const news of this.plinth.streamHarness(() => this.runsToFollow(), {
        signal,
        onConnection,
      })) {
        if (!signal.aborted) this.forward(news);
      }
    } catch (error) {
      if (!signal.aborted) this.handleFailure(error);
    }
  }

  /** Returns the runs to follow, each after the lowest sequence that any tab has received. */
  private runsToFollow(): readonly Followed[] {
    const runs = new Map<string, WatchedRun>();
    for (const watched of this.tabs.values()) {
      for (const run of watched.values()) {
        const other = runs.get(run.runId) ?? run;
        runs.set(run.runId, {
          ...run,
          after: Math.min(run.after, other.after),
          since: Math.max(run.since, other.since),
        });
      }
    }
    this.requestedRuns = [...runs.values()]
      .sort((one, other) => other.since - one.since)
      .slice(0, MAX_RUNS)
      .map(({ sessionId, runId, after }) => ({ sessionId, runId, after }));
    return this.requestedRuns;
  }

  private forward(news: HarnessNews): void {
    if (news.kind === 'count') {
      this.count = news.count;
      this.broadcast(news);
      return;
    }
    const { runId } = news.kind === 'event' ? news.event : news;
    for (const [tab, runs] of this.tabs) {
      const run = runs.get(runId);
      if (!run) continue;
      if (news.kind === 'event') {
        if (news.event.sequence <= run.after) continue;
        run.after = news.event.sequence;
      }
      if (news.kind === 'over') runs.delete(runId);
      tab.post(news);
    }
  }

  private handleFailure(error: unknown): void {
    this.current = undefined;
    const missingRun = this.missingRunOf(error);
    if (missingRun && error instanceof ApiError) {
      for (const [tab, runs] of this.tabs) {
        if (!runs.delete(missingRun.runId)) continue;
        tab.post({ kind: 'gone', runId: missingRun.runId, message: error.message });
      }
      this.restart();
      return;
    }
    this.broadcast({ kind: 'refused' });
    // A permission may be granted again, so the stream is retried. The tabs report a sign-in that has ended.
    if (error instanceof ApiError && error.code !== 401) {
      this.timer = setTimeout(() => void this.stream(), UNREFUSED_AFTER_MS);
    }
  }

  private missingRunOf(error: unknown): Followed | undefined {
    if (!(error instanceof ApiError) || error.code !== 404) return undefined;
    const { field = '' } = (error.data ?? {}) as { readonly field?: string };
    const place = /^runs\.(\d+)$/.exec(field)?.[1];
    return place === undefined ? undefined : this.requestedRuns[Number(place)];
  }

  private broadcast(message: FromHub): void {
    for (const tab of this.tabs.keys()) tab.post(message);
  }
}
