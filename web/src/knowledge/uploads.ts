import { ApiError } from '@plinth/client';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session } from '../app/session';
import { signal } from '../app/signal';
import { messageOf } from '../ui/states';
import { baseKey } from './base';

/** Upload of a file to a knowledge base. */
export interface Upload {
  readonly id: number;
  readonly knowledgeId: number;
  readonly name: string;
  readonly size: number;
  readonly state: 'waiting' | 'sending' | 'stored' | 'failed' | 'cancelled';
  /** Bytes sent, of `size`. */
  readonly sent: number;
  /** Reason why the file was not stored. */
  readonly reason?: string;
}

interface Waiting {
  readonly file: File;
  readonly autoParse: boolean;
  readonly abort: AbortController;
}

/** Maximum number of concurrent requests. Each contains one file, so that failures and progress are per file. */
const MAX_CONCURRENT_COUNT = 3;

/** Module state outlives the page, so that uploads continue while the user visits other pages. */
let uploads: readonly Upload[] = [];
const files = new Map<number, Waiting>();
const changes = signal();
let next = 1;

function publish(changed: readonly Upload[]): void {
  uploads = changed;
  changes.emit();
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

/** Adds rows for files that were rejected before upload, with the reason. */
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
  const free = MAX_CONCURRENT_COUNT - uploads.filter(({ state }) => state === 'sending').length;
  for (const upload of uploads.filter(({ state }) => state === 'waiting').slice(0, free)) {
    void send(upload);
  }
}

async function send({ id, knowledgeId }: Upload): Promise<void> {
  const pendingFile = files.get(id);
  if (!pendingFile) return;
  const { file, autoParse, abort } = pendingFile;
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

/** Reloads the list once for all uploads that finish within a short time. */
function refresh(knowledgeId: number): void {
  if (refreshing.has(knowledgeId)) return;
  refreshing.add(knowledgeId);
  setTimeout(() => {
    refreshing.delete(knowledgeId);
    void queryClient.invalidateQueries({ queryKey: baseKey(knowledgeId) });
    void queryClient.invalidateQueries({ queryKey: ['documents'] });
  }, REFRESH_MS);
}

/** The service's message about the file, if any. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiError && Array.isArray(error.data)) {
    const [outcome] = error.data as { readonly error?: string }[];
    if (outcome?.error) return outcome.error;
  }
  return messageOf(error);
}

/** Cancels an active or waiting upload. */
export function cancelUpload(id: number): void {
  const upload = uploads.find((one) => one.id === id);
  if (upload?.state === 'waiting') change(id, { state: 'cancelled' });
  files.get(id)?.abort.abort(new Error('The upload was cancelled.'));
}

export function retryUpload(id: number): void {
  const pendingFile = files.get(id);
  if (!pendingFile) return;
  files.set(id, { ...pendingFile, abort: new AbortController() });
  change(id, { state: 'waiting', sent: 0 });
  proceed();
}

/** Whether the file is still available for a retry. */
export function canRetry(id: number): boolean {
  return files.has(id);
}

/** Removes finished uploads of the base. */
export function clearEnded(knowledgeId: number): void {
  const ended = uploads.filter((one) => one.knowledgeId === knowledgeId && !isActive(one));
  for (const { id } of ended) files.delete(id);
  publish(uploads.filter((one) => !ended.includes(one)));
}

export function isActive({ state }: Upload): boolean {
  return state === 'waiting' || state === 'sending';
}

export function useUploads(knowledgeId: number): readonly Upload[] {
  const all = useSyncExternalStore(changes.subscribe, () => uploads);
  return all.filter((one) => one.knowledgeId === knowledgeId);
}

// All state of the user is removed at sign-out.
session.subscribe(() => {
  if (session.current) return;
  for (const { abort } of files.values()) abort.abort();
  files.clear();
  publish([]);
});

// Warns before a reload, which would cancel active uploads.
addEventListener('beforeunload', (event) => {
  if (uploads.some(isActive)) event.preventDefault();
});
