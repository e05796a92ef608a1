import { notifications } from '@mantine/notifications';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session } from '../app/session';
import { failed } from '../ui/notify';
import { sessionsKey } from './data';
import { forgetSession } from './draft';

/** So long a deletion can be undone. */
export const UNDO_MS = 7_000;

/** Sessions that are hidden and deleted a moment later, with their timers. */
let pending: ReadonlyMap<string, ReturnType<typeof setTimeout>> = new Map();
const listeners = new Set<() => void>();

function change(next: ReadonlyMap<string, ReturnType<typeof setTimeout>>): void {
  pending = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The sessions that are as good as deleted. */
export function useDeleted(): ReadonlyMap<string, unknown> {
  return useSyncExternalStore(subscribe, () => pending);
}

export function deleteLater(id: string): void {
  if (pending.has(id)) return;
  change(new Map([...pending, [id, setTimeout(() => void deleteNow(id), UNDO_MS)]]));
}

/** The notification that offers to undo the deletion of the session. */
export function noticeOf(id: string): string {
  return `deleted-${id}`;
}

/** The session is not deleted any more, or it has been: there is nothing to undo. */
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
    failed(error);
  }
  clearDeletion(id);
}

session.beforeSignOut(async () => {
  await Promise.all([...pending.keys()].map((id) => deleteNow(id)));
});

// Where the sign-in has ended otherwise, no later one deletes what was left.
session.subscribe(() => {
  if (!session.current) for (const id of pending.keys()) clearDeletion(id);
});

// A page that is closed deletes at once what could still be undone.
addEventListener('pagehide', () => {
  for (const id of pending.keys()) void deleteNow(id, true);
});
