import { useSyncExternalStore } from 'react';
import { signal } from './signal';

/** The sign-in of a browser, stored in localStorage and shared by all tabs of this origin. */
export interface Session {
  readonly token: string;
  readonly clientId: string;
  /** The user's own tenant, or the tenant that a super administrator has switched to. */
  readonly tenantId: string;
}

const KEY = 'plinth.session';
const CLAIMS = /^[^.]*\.([^.]*)\./;
const changes = signal();
const lastTasks = new Set<() => Promise<void>>();
let current = stored();
let isLapsed = false;

function stored(): Session | undefined {
  try {
    const session = JSON.parse(localStorage.getItem(KEY) ?? 'null') as Session | null;
    return session?.token ? session : undefined;
  } catch {
    return undefined;
  }
}

// Another tab has signed in or out.
addEventListener('storage', (event) => {
  if (event.key !== KEY && event.key !== null) return;
  const next = stored();
  // The forms of this page belong to the previous user.
  if (isLapsed && next && current && !isSameUser(next, current)) {
    location.reload();
    return;
  }
  current = next;
  isLapsed = false;
  changes.emit();
});

/** The claims of a token: the tenant and the user. */
export function claimsOf(token: string): { readonly tenantId: string; readonly userId: unknown } {
  const claims = CLAIMS.exec(token)?.[1] ?? '';
  const text = atob(claims.replaceAll('-', '+').replaceAll('_', '/'));
  return JSON.parse(text) as { tenantId: string; userId: unknown };
}

function isSameUser(one: Session, other: Session): boolean {
  const [a, b] = [claimsOf(one.token), claimsOf(other.token)];
  return a.userId === b.userId && a.tenantId === b.tenantId;
}

export const session = {
  get current(): Session | undefined {
    return current;
  },

  /** Whether the sign-in has expired and the page waits for the same user to sign in again. */
  get isLapsed(): boolean {
    return isLapsed;
  },

  /** Keeps the page as it is until the user has signed in again. */
  lapse(): void {
    if (isLapsed || !current) return;
    isLapsed = true;
    changes.emit();
  },

  begin(newSession: Session): void {
    isLapsed = false;
    localStorage.setItem(KEY, JSON.stringify(newSession));
    current = newSession;
    changes.emit();
  },

  /** Records that the service has switched the sign-in to the tenant. All tabs follow. */
  enter(tenantId: string): void {
    if (current) session.begin({ ...current, tenantId });
  },

  /** Runs the task before sign-out, while requests are still authorised. The task must never reject. */
  beforeSignOut(task: () => Promise<void>): void {
    lastTasks.add(task);
  },

  /** Runs the tasks; await it before the service ends the sign-in of this browser. */
  async prepareSignOut(): Promise<void> {
    await Promise.all([...lastTasks].map((task) => task()));
  },

  end(): void {
    isLapsed = false;
    localStorage.removeItem(KEY);
    current = undefined;
    changes.emit();
  },

  subscribe: changes.subscribe,
};

export function useSession(): Session | undefined {
  return useSyncExternalStore(session.subscribe, () => session.current);
}

export function useIsLapsed(): boolean {
  return useSyncExternalStore(session.subscribe, () => session.isLapsed);
}
