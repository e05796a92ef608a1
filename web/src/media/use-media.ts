import { useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { begin, lookUp, mediumOf, progressOf } from './task';
import type { Kind, MediaRequest, Medium, TaskReference } from './task';

/** Between two queries of a task, counted from the end of the one before. */
const PAUSE_MS = 4_000;
/** A task is not asked for any longer than this. */
const LONGEST_MS = 600_000;
const MOST_RECORDS = 10;

export interface MediaRecord {
  readonly key: number;
  readonly kind: Kind;
  readonly model: string;
  readonly prompt: string;
  /** The provider's task, which stays known when a query fails or the time is over. */
  readonly task: TaskReference | undefined;
  readonly status: string | null;
  readonly state: 'submitting' | 'polling' | 'paused' | 'done' | 'failed' | 'expired' | 'cancelled';
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly medium?: Medium | undefined;
  readonly error?: unknown;
  /** The provider's answer, where it failed. */
  readonly detail?: string | null;
}

interface Media {
  /** Newest first. */
  readonly records: readonly MediaRecord[];
  readonly current: MediaRecord | undefined;
  readonly submit: (request: MediaRequest, providerCode: string) => void;
  readonly follow: (task: TaskReference, prompt: string) => void;
  readonly pause: () => void;
  readonly resume: (record: MediaRecord) => void;
}

/** One task at a time: it is submitted, then asked for every four seconds until it ends, is paused or ten minutes are over. */
export function useMedia(): Media {
  const queries = useQueryClient();
  const [records, setRecords] = useState<readonly MediaRecord[]>([]);
  const running = useRef<AbortController>(undefined);
  const keys = useRef(0);

  useEffect(() => () => running.current?.abort(), []);

  const change = (key: number, changes: Partial<MediaRecord>): void =>
    setRecords((before) =>
      before.map((record) => (record.key === key ? { ...record, ...changes } : record)),
    );

  const add = (record: Omit<MediaRecord, 'key'>): number => {
    keys.current += 1;
    const key = keys.current;
    setRecords((before) => {
      const kept = [{ ...record, key }, ...before];
      for (const { medium } of kept.slice(MOST_RECORDS)) {
        if (medium?.isLocal) URL.revokeObjectURL(medium.url);
      }
      return kept.slice(0, MOST_RECORDS);
    });
    return key;
  };

  /** Runs `work` as the one task; what was running before is no longer asked for. */
  const alone = async (
    key: number,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    try {
      await work(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      change(key, { state: 'failed', error, endedAt: Date.now() });
    } finally {
      if (running.current === controller) running.current = undefined;
      void queries.invalidateQueries({ queryKey: ['media', 'tasks'] });
    }
  };

  const poll = async (key: number, task: TaskReference, signal: AbortSignal): Promise<void> => {
    const until = Date.now() + LONGEST_MS;
    // One that is continued begins without what ended it.
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

  const current = records.find(({ state }) => state === 'submitting' || state === 'polling');
  return {
    records,
    current,
    submit,
    follow,
    pause: () => {
      running.current?.abort();
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
