import type { UseFormReturnType } from '@mantine/form';
import { useEffect, useEffectEvent, useState } from 'react';
import { queryClient } from '../app/query-client';
import { meQuery } from '../app/me';
import { session } from '../app/session';
import { startFrom } from './record-form';

const PREFIX = 'plinth.form.';

/** Fields whose values are not written to the browser's storage. */
const SECRET = /password|secret|token|apikey|captcha/i;

type Fields = Readonly<Record<string, unknown>>;

interface StoredForm {
  /** The values of the fields that were changed. */
  readonly values: Fields;
  /** The values that the form was opened with: with their revision a save is compared. */
  readonly opened: Fields;
}

interface PersistedForm {
  /** Whether the form began with what was typed earlier. */
  readonly isRestored: boolean;
  /** Back to what the record has. */
  readonly discard: () => void;
}

/**
 * Keeps what was typed in a form and not saved, for this tab, user and tenant: it is there again after a reload and after another
 * sign-in. A form that is closed, discarded or saved is forgotten. `name` tells apart the forms of a page.
 */
export function usePersistedForm<Values>(
  form: UseFormReturnType<Values>,
  name: string,
): PersistedForm {
  const [key] = useState(() => keyOf(name));
  // The values of the record as it is now, once a form has begun with those that were typed earlier.
  const [current, setCurrent] = useState<Values>();
  const restore = useEffectEvent((): void => {
    const storedForm = read(key);
    if (!storedForm) return;
    const { values: changed, opened } = storedForm;
    const before = form.getInitialValues();
    startFrom(form, { ...before, ...opened }, { ...before, ...opened, ...changed });
    setCurrent(before);
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
    const initial = form.getInitialValues() as Fields;
    const changed = Object.entries(values as object).filter(
      ([field, value]) => JSON.stringify(value) !== JSON.stringify(initial[field]),
    );
    const isStored = form.isDirty() && changed.length > 0;
    write(key, isStored ? { values: Object.fromEntries(changed), opened: initial } : undefined);
  });
  const isDirty = form.isDirty();
  useEffect(() => keep(), [values, isDirty]);
  return {
    isRestored: current !== undefined && isDirty,
    discard: () => {
      startFrom(form, current ?? form.getInitialValues());
      setCurrent(undefined);
    },
  };
}

function keyOf(name: string): string {
  const me = queryClient.getQueryData(meQuery.queryKey);
  return `${PREFIX}${me?.tenantId ?? ''}.${me?.user.userId ?? ''}.${location.pathname}.${name}`;
}

function read(key: string): StoredForm | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(key) ?? 'null') as StoredForm | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, storedForm: StoredForm | undefined): void {
  try {
    if (!storedForm) {
      sessionStorage.removeItem(key);
      return;
    }
    const { values, opened } = storedForm;
    const text = JSON.stringify(
      { values: withoutSecrets(values), opened: withoutSecrets(opened) },
      (field, value: unknown) => (SECRET.test(field) && typeof value === 'string' ? '' : value),
    );
    sessionStorage.setItem(key, text);
  } catch {
    // The storage of the browser is full: the text stays in the page.
  }
}

/** A secret of the form itself stays what the form begins with; one in a list becomes empty. */
function withoutSecrets(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([field, value]) => !SECRET.test(field) || typeof value !== 'string',
    ),
  );
}

session.beforeSignOut(() => {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  }
  return Promise.resolve();
});
