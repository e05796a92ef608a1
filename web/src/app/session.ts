import { useSyncExternalStore } from 'react';

/** What a signed-in browser keeps, in localStorage, for every tab of this origin. */
export interface Session {
  readonly token: string;
  readonly clientId: string;
  /** Of the user, or the one that a super administrator has entered. */
  readonly tenantId: string;
}

const KEY = 'plinth.session';
const listeners = new Set<() => void>();
const lastTasks = new Set<() => Promise<void>>();
let current = stored();

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
  current = stored();
  changed();
});

export const session = {
  get current(): Session | undefined {
    return current;
  },

  begin(begun: Session): void {
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
