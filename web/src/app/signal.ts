/** Tells components that state outside of React has changed; `subscribe` is what useSyncExternalStore takes. */
export interface Signal {
  readonly emit: () => void;
  readonly subscribe: (listener: () => void) => () => void;
}

export function signal(): Signal {
  const listeners = new Set<() => void>();
  return {
    emit: () => {
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
