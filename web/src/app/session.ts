import { useSyncExternalStore } from 'react';

/** What a signed-in browser keeps, in localStorage, for every tab of this origin. */
export interface Session {
  readonly token: string;
  readonly clientId: string;
  /** Of the user, or the one that a super administrator has entered. */
  readonly tenantId: string;
}

const KEY = 'plinth.session';
const CLAIMS = /^[^.]*\.([^.]*)\./;
const listeners = new Set<() => void>();
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

function changed(): void {
  for (const listener of listeners) listener();
}

// Another tab has signed in or out.
addEventListener('storage', (event) => {
  if (event.key !== KEY && event.key !== null) return;
  const next = stored();
  // The forms of this page belong to the user before.
  if (isLapsed && next && current && !isSameUser(next, current)) {
    location.reload();
    return;
  }
  current = next;
  isLapsed = false;
  changed();
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

  /** The service no longer takes the sign-in, and the page waits for another one of the same user. */
  get isLapsed(): boolean {
    return isLapsed;
  },

  /** Keeps the page as it is until the user has signed in again. */
  lapse(): void {
    if (isLapsed || !current) return;
    isLapsed = true;
    changed();
  },

  begin(begun: Session): void {
    isLapsed = false;
    localStorage.setItem(KEY, JSON.stringify(begun));
    current = begun;
    changed();
  },

  /** The service has switched the sign-in to the tenant: every tab shows that one from now on. */
  enter(tenantId: string): void {
    if (current) session.begin({ ...current, tenantId });
  },

  /** Runs the task before the user signs out, while the service still takes requests of the sign-in. It never rejects. */
  beforeSignOut(task: () => Promise<void>): void {
    lastTasks.add(task);
  },

  /** To be awaited before the service ends the sign-in of this browser. */
  async prepareSignOut(): Promise<void> {
    await Promise.all([...lastTasks].map((task) => task()));
  },

  end(): void {
    isLapsed = false;
    localStorage.removeItem(KEY);
    current = undefined;
    changed();
  },

  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

export function useSession(): Session | undefined {
  return useSyncExternalStore(session.subscribe, () => session.current);
}

export function useIsLapsed(): boolean {
  return useSyncExternalStore(session.subscribe, () => session.isLapsed);
}
