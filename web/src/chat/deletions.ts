import { notifications } from '@mantine/notifications';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session } from '../app/session';
import { signal } from '../app/signal';
import { notifyFailure } from '../ui/notify';
import { sessionsKey } from './data';
import { forgetSession } from './draft';

/** Time during which a deletion can be undone. */
export const UNDO_MS = 7_000;

/** Hidden sessions that will be deleted when their timers fire. */
let pending: ReadonlyMap<string, ReturnType<typeof setTimeout>> = new Map();
const changes = signal();

function change(next: ReadonlyMap<string, ReturnType<typeof setTimeout>>): void {
  pending = next;
  changes.emit();
}

/** Sessions that are hidden because their deletion is pending. */
export function useDeleted(): ReadonlyMap<string, unknown> {
  return useSyncExternalStore(changes.subscribe, () => pending);
}

export function deleteLater(id: string): void {
  if (pending.has(id)) return;
  change(new Map([...pending, [id, setTimeout(() => void deleteNow(id), UNDO_MS)]]));
}

/** Id of the notification that offers to undo the deletion of the session. */
export function noticeOf(id: string): string {
  return `deleted-${id}`;
}

/** Forgets a pending deletion after it was undone or carried out. */
export function clearDeletion(id: string): void {
  clearTimeout(pending.get(id));
  change(new Map([...pending].filter(([one]) => one !== id)));
  notifications.hide(noticeOf(id));
}

async function deleteNow(id: string, keepalive = false): Promise<void> {
  clearTimeout(pending.get(id));
  try {
    await plinth.sessionRemove({ path: { ids: [id] }, keepalive });
    forgetSession(id);
    await queryClient.invalidateQueries({ queryKey: sessionsKey });
  } catch (error) {
    notifyFailure(error);
  }
  clearDeletion(id);
}

session.beforeSignOut(async () => {
  await Promise.all([...pending.keys()].map((id) => deleteNow(id)));
});

// If the sign-in ends otherwise, pending deletions are dropped, so that no later sign-in carries them out.
session.subscribe(() => {
  if (!session.current) for (const id of pending.keys()) clearDeletion(id);
});

// Closing the page carries out pending deletions immediately.
addEventListener('pagehide', () => {
  for (const id of pending.keys()) void deleteNow(id, true);
});
