import { ApiError } from '@plinth/client';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session } from '../app/session';
import { messageOf } from '../ui/failure';
import { baseKey } from './base';

/** One file on its way into a knowledge base. */
export interface Upload {
  readonly id: number;
  readonly knowledgeId: number;
  readonly name: string;
  readonly size: number;
  readonly state: 'waiting' | 'sending' | 'stored' | 'failed' | 'cancelled';
  /** Bytes sent, of `size`. */
  readonly sent: number;
  /** Why it was not stored. */
  readonly reason?: string;
}

interface Waiting {
  readonly file: File;
  readonly autoParse: boolean;
  readonly abort: AbortController;
}

/** Requests at the same time; each has one file, so that a failure and the progress are those of a file. */
const AT_ONCE = 3;

/** Outlives the page: uploads go on while the user looks at another one. */
let uploads: readonly Upload[] = [];
const files = new Map<number, Waiting>();
const listeners = new Set<() => void>();
let next = 1;

function publish(changed: readonly Upload[]): void {
  uploads = changed;
  for (const listener of listeners) listener();
}

function change(id: number, changes: Partial<Upload>): void {
  publish(uploads.map((one) => (one.id === id ? { ...one, ...changes } : one)));
}

export function addUploads(
  knowledgeId: number,
  added: readonly File[],
  { autoParse }: { readonly autoParse: boolean },
): void {
  const rows = added.map((file): Upload => {
    const id = next;
    next += 1;
    files.set(id, { file, autoParse, abort: new AbortController() });
    return { id, knowledgeId, name: file.name, size: file.size, state: 'waiting', sent: 0 };
  });
  publish([...uploads, ...rows]);
  proceed();
}

/** Rows for files that are not even sent, with the reason. */
export function addRefused(
  knowledgeId: number,
  refused: readonly { readonly file: File; readonly reason: string }[],
): void {
  const rows = refused.map(({ file: { name, size }, reason }): Upload => {
    const id = next;
    next += 1;
    return { id, knowledgeId, name, size, state: 'failed', sent: 0, reason };
  });
  publish([...uploads, ...rows]);
}

function proceed(): void {
  const free = AT_ONCE - uploads.filter(({ state }) => state === 'sending').length;
  for (const upload of uploads.filter(({ state }) => state === 'waiting').slice(0, free)) {
    void send(upload);
  }
}

async function send({ id, knowledgeId }: Upload): Promise<void> {
  const given = files.get(id);
  if (!given) return;
  const { file, autoParse, abort } = given;
  change(id, { state: 'sending' });
  try {
    await plinth.uploadDocuments({
      knowledgeId,
      file,
      autoParse,
      signal: abort.signal,
      onProgress: ({ sent }) => change(id, { sent: Math.min(sent, file.size) }),
    });
    change(id, { state: 'stored', sent: file.size });
    files.delete(id);
  } catch (error) {
    if (abort.signal.aborted) change(id, { state: 'cancelled' });
    else change(id, { state: 'failed', reason: reasonOf(error) });
  }
  proceed();
  refresh(knowledgeId);
}

const refreshing = new Set<number>();
const REFRESH_MS = 400;

/** Loads the list again; once for all files that arrive within a moment. */
function refresh(knowledgeId: number): void {
  if (refreshing.has(knowledgeId)) return;
  refreshing.add(knowledgeId);
  setTimeout(() => {
    refreshing.delete(knowledgeId);
    void queryClient.invalidateQueries({ queryKey: baseKey(knowledgeId) });
    void queryClient.invalidateQueries({ queryKey: ['documents'] });
  }, REFRESH_MS);
}

/** What the service says about the file itself, where it does. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiError && Array.isArray(error.data)) {
    const [outcome] = error.data as { readonly error?: string }[];
    if (outcome?.error) return outcome.error;
  }
  return messageOf(error);
}

/** Stops an upload, or takes it out of the row of those that wait. */
export function cancelUpload(id: number): void {
  const upload = uploads.find((one) => one.id === id);
  if (upload?.state === 'waiting') change(id, { state: 'cancelled' });
  files.get(id)?.abort.abort(new Error('The upload was cancelled.'));
}

export function retryUpload(id: number): void {
  const given = files.get(id);
  if (!given) return;
  files.set(id, { ...given, abort: new AbortController() });
  change(id, { state: 'waiting', sent: 0 });
  proceed();
}

/** Whether the file is still at hand. */
export function canRetry(id: number): boolean {
  return files.has(id);
}

/** Forgets what has ended in the base. */
export function clearEnded(knowledgeId: number): void {
  const ended = uploads.filter((one) => one.knowledgeId === knowledgeId && !isActive(one));
  for (const { id } of ended) files.delete(id);
  publish(uploads.filter((one) => !ended.includes(one)));
}

export function isActive({ state }: Upload): boolean {
  return state === 'waiting' || state === 'sending';
}

export function useUploads(knowledgeId: number): readonly Upload[] {
  const all = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => uploads,
  );
  return all.filter((one) => one.knowledgeId === knowledgeId);
}

// Nothing of a user stays after the sign-out.
session.subscribe(() => {
  if (session.current) return;
  for (const { abort } of files.values()) abort.abort();
  files.clear();
  publish([]);
});

// A reload would lose what is on its way.
addEventListener('beforeunload', (event) => {
  if (uploads.some(isActive)) event.preventDefault();
});
