import { useSyncExternalStore } from 'react';
import { queryClient } from '../app/query-client';
import { session } from '../app/session';
import { signal } from '../app/signal';
import { begin, lookUp, mediumOf, progressOf } from './task';
import type { Kind, MediaRequest, Medium, TaskReference } from './task';

/** Pause between two polls of a task, counted from the end of the previous one. */
const PAUSE_MS = 4_000;
/** Maximum time for which a task is polled. */
const MAX_POLLING_MS = 600_000;
const MAX_RECORDS = 10;

export interface MediaRecord {
  readonly key: number;
  readonly kind: Kind;
  readonly model: string;
  readonly prompt: string;
  /** The provider's task. It is kept after a failed poll or a timeout. */
  readonly task: TaskReference | undefined;
  readonly status: string | null;
  readonly state: 'submitting' | 'polling' | 'paused' | 'done' | 'failed' | 'expired' | 'cancelled';
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly medium?: Medium | undefined;
  readonly error?: unknown;
  /** The provider's message if the task failed. */
  readonly detail?: string | null;
}

interface Media {
  /** Records, newest first. */
  readonly records: readonly MediaRecord[];
  readonly current: MediaRecord | undefined;
  readonly submit: (request: MediaRequest, providerCode: string) => void;
  readonly follow: (task: TaskReference, prompt: string) => void;
  readonly pause: () => void;
  readonly resume: (record: MediaRecord) => void;
}

/** Module state outlives the page: polling continues on other pages, and results are kept until a reload. */
let records: readonly MediaRecord[] = [];
let running: AbortController | undefined;
let lastKey = 0;
const changes = signal();

function publish(changed: readonly MediaRecord[]): void {
  records = changed;
  changes.emit();
}

// All state of the user is removed at sign-out.
session.subscribe(() => {
  if (session.current) return;
  running?.abort();
  free(records);
  publish([]);
});

function change(key: number, changes: Partial<MediaRecord>): void {
  publish(records.map((record) => (record.key === key ? { ...record, ...changes } : record)));
}

function add(record: Omit<MediaRecord, 'key'>): number {
  lastKey += 1;
  const all = [{ ...record, key: lastKey }, ...records];
  free(all.slice(MAX_RECORDS));
  publish(all.slice(0, MAX_RECORDS));
  return lastKey;
}

function free(gone: readonly MediaRecord[]): void {
  for (const { medium } of gone) if (medium?.isLocal) URL.revokeObjectURL(medium.url);
}

/** Runs `work` as the only task and stops polling the previous one. */
const alone = async (key: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  running?.abort();
  const controller = new AbortController();
  running = controller;
  try {
    await work(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return;
    change(key, { state: 'failed', error, endedAt: Date.now() });
  } finally {
    if (running === controller) running = undefined;
    void queryClient.invalidateQueries({ queryKey: ['media', 'tasks'] });
  }
};

const poll = async (key: number, task: TaskReference, signal: AbortSignal): Promise<void> => {
  const until = Date.now() + MAX_POLLING_MS;
  // A resumed task starts without its previous error.
  change(key, { state: 'polling', task, error: undefined, endedAt: undefined, detail: null });
  while (Date.now() < until) {
    const result = await lookUp(task, signal);
    const progress = progressOf(result, task.providerCode);
    change(key, { status: result.status });
    if (progress === 'failed') {
      change(key, { state: 'failed', endedAt: Date.now(), detail: result.rawResponse });
      return;
    }
    if (progress === 'done') {
      const medium = await mediumOf(result, task, signal);
      change(key, { state: 'done', medium, endedAt: Date.now() });
      return;
    }
    await pause(PAUSE_MS, signal);
  }
  change(key, { state: 'expired', endedAt: Date.now() });
};

const submit = (request: MediaRequest, providerCode: string): void => {
  const { kind, body } = request;
  const prompt = request.kind === 'audio' ? request.body.input : request.body.prompt;
  const base = { kind, model: body.model, prompt, startedAt: Date.now(), status: null };
  const key = add({ ...base, task: undefined, state: 'submitting' });
  void alone(key, async (signal) => {
    const result = await begin(request, signal);
    const task = result.id ? { kind, model: body.model, providerCode, id: result.id } : undefined;
    change(key, { task, status: result.status });
    const progress = progressOf(result, providerCode);
    if (progress === 'running' && task) {
      await poll(key, task, signal);
      return;
    }
    if (progress === 'failed') {
      change(key, { state: 'failed', endedAt: Date.now(), detail: result.rawResponse });
      return;
    }
    const medium = await mediumOf(result, task, signal);
    change(key, { state: 'done', medium, endedAt: Date.now() });
  });
};

const follow = (task: TaskReference, prompt: string): void => {
  const { kind, model } = task;
  const base = { kind, model, prompt, task, status: null, startedAt: Date.now() };
  const key = add({ ...base, state: 'polling' });
  void alone(key, (signal) => poll(key, task, signal));
};

function currentOf(all: readonly MediaRecord[]): MediaRecord | undefined {
  return all.find(({ state }) => state === 'submitting' || state === 'polling');
}

/** Runs one task at a time: submits it and polls every four seconds until it ends, is paused or ten minutes have passed. */
export function useMedia(): Media {
  const currentRecords = useSyncExternalStore(changes.subscribe, () => records);
  const current = currentOf(currentRecords);
  return {
    records: currentRecords,
    current,
    submit,
    follow,
    pause: () => {
      running?.abort();
      if (current) change(current.key, { state: current.task ? 'paused' : 'cancelled' });
    },
    resume: ({ key, task }) => {
      if (task) void alone(key, (signal) => poll(key, task, signal));
    },
  };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}
