import type { QueryClient } from '@tanstack/react-query';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { CLIENT_ID } from '../../app/client-id';
import { session } from '../../app/session';
import { language } from '../../i18n';
import { plinth } from '../../app/plinth';
import type { ConnectionState, Followed, FromHub, ToHub } from './messages';

type RunMessage = Exclude<FromHub, { kind: 'count' | 'connection' | 'refused' }>;
export type RunListener = (message: RunMessage) => void;

interface Subscription {
  run: Followed;
  readonly listeners: Set<RunListener>;
}

interface StreamStatus {
  readonly count: number | undefined;
  readonly connection: ConnectionState;
}

/**
 * This tab's side of the browser's single stream. A shared worker holds the connection, or one of the tabs if shared
 * workers are not available. Without locks, which exist only in secure contexts, each tab has its own connection.
 */
class BrowserStream {
  private send: ((message: ToHub) => void) | undefined;
  private readonly runs = new Map<string, Subscription>();
  private readonly watchers = new Set<() => void>();
  private status: StreamStatus = { count: undefined, connection: 'connected' };
  private onRefused: () => void = () => undefined;
  private readonly lock = `plinth.tab.${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
  private locked = Promise.resolve();

  /** Opens the stream on first use. */
  start(queries: QueryClient): void {
    this.onRefused = () => void queries.invalidateQueries({ queryKey: ['me'] });
    if (this.send) return;
    this.locked = this.takeLock();
    const waiting: ToHub[] = [];
    this.send = (message) => waiting.push(message);
    void this.connect().then((send) => {
      this.send = send;
      for (const message of waiting) send(message);
    });
    void this.locked.then(() => this.sendSession());
    session.subscribe(() => void this.locked.then(() => this.sendSession()));
    addEventListener('pagehide', () => this.send?.({ kind: 'leave' }));
    // A tab restored from the back/forward cache joins again with its state.
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) this.resendState();
    });
  }

  /** Follows a run after its sequence `after`. Returns a function that stops following. */
  follow(run: Followed, listener: RunListener): () => void {
    const listening = this.runs.get(run.runId) ?? { run, listeners: new Set() };
    listening.run = run;
    listening.listeners.add(listener);
    this.runs.set(run.runId, listening);
    this.send?.({ kind: 'follow', run });
    return () => {
      listening.listeners.delete(listener);
      if (listening.listeners.size > 0 || this.runs.get(run.runId) !== listening) return;
      this.runs.delete(run.runId);
      this.send?.({ kind: 'unfollow', runId: run.runId });
    };
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  readonly snapshot = (): StreamStatus => this.status;

  /** Resolves when the tab holds its lock. If the worker learned of the lock earlier, it would treat the tab as closed. */
  private async takeLock(): Promise<void> {
    if (!('locks' in navigator)) return;
    await new Promise<void>((resolve) => {
      const untilClosed = new Promise<never>(() => undefined);
      void navigator.locks.request(this.lock, () => {
        resolve();
        return untilClosed;
      });
    });
  }

  private sendSession(): void {
    const { token, clientId = CLIENT_ID, tenantId } = session.current ?? {};
    if (token === undefined) this.updateStatus({ count: undefined });
    const who = { token, clientId, tenantId };
    this.send?.({ kind: 'session', ...who, language: language(), lock: this.lock });
  }

  private resendState(): void {
    this.sendSession();
    for (const { run } of this.runs.values()) this.send?.({ kind: 'follow', run });
  }

  private async connect(): Promise<(message: ToHub) => void> {
    const take = (message: FromHub): void => this.receive(message);
    if ('SharedWorker' in globalThis) {
      const worker = new SharedWorker(new URL('./hub.worker.ts', import.meta.url), {
        type: 'module',
        name: 'plinth-stream',
      });
      worker.port.onmessage = ({ data }: MessageEvent<FromHub>) => take(data);
      return (message) => worker.port.postMessage(message);
    }
    if ('locks' in navigator) {
      const { ElectedHub } = await import('./elected-hub');
      const hub = new ElectedHub(
        this.lock,
        take,
        () => void this.locked.then(() => this.resendState()),
      );
      return (message) => hub.send(message);
    }
    const { Hub } = await import('./hub');
    const hub = new Hub(plinth);
    const tab = { post: take };
    return (message) => hub.receive(tab, message);
  }

  private receive(message: FromHub): void {
    if (message.kind === 'count') this.updateStatus({ count: message.count });
    else if (message.kind === 'connection') this.updateStatus({ connection: message.state });
    else if (message.kind === 'refused') this.onRefused();
    else {
      const { runId } = message.kind === 'event' ? message.event : message;
      const listening = this.runs.get(runId);
      if (!listening) return;
      if (message.kind === 'event') {
        listening.run = { ...listening.run, after: message.event.sequence };
      }
      for (const listener of listening.listeners) listener(message);
    }
  }

  private updateStatus(news: Partial<StreamStatus>): void {
    this.status = { ...this.status, ...news };
    for (const watcher of this.watchers) watcher();
  }
}

export const browserStream = new BrowserStream();

/** Returns the number of pending decisions and the state of the connection. */
export function useBrowserStream(): StreamStatus {
  const queries = useQueryClient();
  useEffect(() => browserStream.start(queries), [queries]);
  return useSyncExternalStore(browserStream.subscribe, browserStream.snapshot);
}
