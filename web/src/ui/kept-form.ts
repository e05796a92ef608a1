import type { UseFormReturnType } from '@mantine/form';
import { useEffect, useEffectEvent, useState } from 'react';
import { queryClient } from '../app/query-client';
import { meQuery } from '../app/me';
import { session } from '../app/session';

const PREFIX = 'plinth.form.';

/** Fields whose values are not written to the browser's storage. */
const SECRET = /password|secret|token|apikey|captcha/i;

interface KeptForm {
  /** Whether the form began with what was typed earlier. */
  readonly isRestored: boolean;
  /** Back to what the record has. */
  readonly discard: () => void;
}

/**
 * Keeps what was typed in a form and not saved, for this tab and user: it is there again after a reload and after another
 * sign-in. A form that is closed, discarded or saved is forgotten. `name` tells apart the forms of a page.
 */
export function useKeptForm<Values>(form: UseFormReturnType<Values>, name: string): KeptForm {
  const [key] = useState(() => keyOf(name));
  const [isRestored, setRestored] = useState(false);
  const restore = useEffectEvent((): void => {
    const kept = read(key);
    if (kept === undefined) return;
    form.setValues((before) => ({ ...before, ...(kept as Partial<Values>) }));
    setRestored(true);
  });
  useEffect(() => {
    restore();
    // The page of a sign-in that has ended goes away, too.
    return () => {
      if (session.current) sessionStorage.removeItem(key);
    };
  }, [key]);
  const { values } = form;
  const keep = useEffectEvent((): void => {
    const initial = form.getInitialValues() as Readonly<Record<string, unknown>>;
    const changed = Object.entries(values as object).filter(
      ([field, value]) => JSON.stringify(value) !== JSON.stringify(initial[field]),
    );
    // The revision of the record that it was typed for: the service compares it with the one at the save.
    const revision = 'revision' in initial ? { revision: initial['revision'] } : {};
    const isKept = form.isDirty() && changed.length > 0;
    write(key, isKept ? { ...revision, ...Object.fromEntries(changed) } : {});
  });
  const isDirty = form.isDirty();
  useEffect(() => keep(), [values, isDirty]);
  return {
    isRestored: isRestored && isDirty,
    discard: () => {
      form.reset();
      setRestored(false);
    },
  };
}

function keyOf(name: string): string {
  const user = queryClient.getQueryData(meQuery.queryKey)?.user;
  return `${PREFIX}${user?.tenantId ?? ''}.${user?.userId ?? ''}.${location.pathname}.${name}`;
}

function read(key: string): object | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(key) ?? 'null') as object | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, values: object): void {
  try {
    const text = JSON.stringify(values, (field, value: unknown) =>
      SECRET.test(field) && typeof value === 'string' ? '' : value,
    );
    if (text === '{}') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // The storage of the browser is full: the text stays in the page.
  }
}

session.beforeSignOut(() => {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  }
  return Promise.resolve();
});
