import { Alert, Anchor, Button, Drawer, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { ApiError } from '@plinth/client';
import type { QueryKey } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';
import type { ReactNode, SyntheticEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { meQuery } from '../app/me';
import { queryClient } from '../app/query-client';
import type { SearchParams } from '../app/search-params';
import { session } from '../app/session';
import { useAction } from './action';
import { messageOf, RequestId } from './states';
import styles from './form.module.css';

interface DrawerProps<Values, Result> {
  readonly title: string;
  /** Default: lg. */
  readonly size?: 'lg' | 'xl';
  /** Id of the record if the title does not identify it; undefined for a new one. */
  readonly record?: number | string | undefined;
  readonly form: UseFormReturnType<Values>;
  /** Button label: a verb with its object, such as "Add user". */
  readonly action: string;
  readonly onSubmit: (values: Values) => Promise<Result>;
  /** Message shown on success; none if absent. */
  readonly done?: string | ((result: Result) => string) | undefined;
  /** Key prefixes of the queries to reload. */
  readonly changes?: readonly QueryKey[];
  readonly after?: (result: Result, values: Values) => void;
  readonly onClose: () => void;
  /** Values of the stored record, for records that several people can edit. */
  readonly valuesOf?: (record: never) => Values;
  /** Reason why the form is read-only. */
  readonly readOnly?: string | false;
  readonly children: ReactNode;
}

/**
 * Form of a small record in a drawer. Errors of the service are shown in the drawer and input is kept. Closing a changed
 * form asks for confirmation.
 */
export function FormDrawer<Values, Result>({
  title,
  size = 'lg',
  record,
  form,
  action,
  onSubmit,
  done,
  changes = [],
  after,
  onClose,
  valuesOf,
  readOnly = false,
  children,
}: DrawerProps<Values, Result>) {
  const { t } = useTranslation('ui');
  const [failure, setFailure] = useState<unknown>();
  const [leaving, setLeaving] = useState(false);
  const { isRestored, discard } = usePersistedForm(form, `${title}.${record ?? ''}`);
  const save = useAction(onSubmit, { done, changes, after, onFailure: setFailure });
  const submit = form.onSubmit(async (values) => {
    setFailure(undefined);
    await save.mutateAsync(values).then(onClose, () => undefined);
  }, focusFirstInvalid);
  const close = (): void => {
    if (form.isDirty() && !leaving) setLeaving(true);
    else onClose();
  };
  return (
    <Drawer opened onClose={close} title={title} size={size}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {readOnly && <Alert color="gray">{readOnly}</Alert>}
          {isRestored && <RestoredNote onDiscard={discard} />}
          <fieldset className={styles['fields']} disabled={readOnly !== false}>
            <Stack>{children}</Stack>
          </fieldset>
          {failure !== undefined && (
            <FormFailure
              error={failure}
              {...(valuesOf && {
                edited: { form, valuesOf, onDone: () => setFailure(undefined) },
              })}
            />
          )}
          {leaving && (
            <Alert color="yellow" role="alert">
              {t('unsaved')}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(leaving ? 'discard' : readOnly ? 'close' : 'cancel')}
            </Button>
            {!readOnly && (
              <Button type="submit" loading={save.isPending}>
                {action}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Drawer>
  );
}

interface FailureProps<Values> {
  readonly error: unknown;
  /** Form of a record that several people can edit. */
  readonly edited?: {
    readonly form: UseFormReturnType<Values>;
    readonly valuesOf: (record: never) => Values;
    readonly onDone: () => void;
  };
}

/** Shows why the service refused the input. If someone else saved the record meanwhile, the user resolves the conflict. */
export function FormFailure<Values>({ error, edited }: FailureProps<Values>) {
  const conflict = conflictOf(error);
  if (conflict && edited) return <ConflictChoice conflict={conflict} {...edited} />;
  return (
    <Alert color="red" role="alert">
      <Stack gap={4}>
        {messageOf(error)}
        {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
      </Stack>
    </Alert>
  );
}

/** Hidden form field with the revision that the form started from; it is sent on save. */
export interface Revised {
  readonly revision?: number | undefined;
}

/** Resets the form to `values` and compares it with `stored` from now on. */
export function startFrom<Values>(
  form: UseFormReturnType<Values>,
  stored: Values,
  values: Values = stored,
): void {
  form.setInitialValues(stored);
  form.resetDirty(stored);
  form.setValues(values);
}

/** Keeps the form in sync with its stored record while the form is unchanged. */
export function useRecordForm<Values extends Revised>(
  form: UseFormReturnType<Values>,
  values: Values,
): void {
  const follow = useEffectEvent((): void => {
    if (form.isDirty() || values.revision === form.values.revision) return;
    startFrom(form, values);
  });
  const isDirty = form.isDirty();
  useEffect(() => follow(), [values.revision, isDirty]);
}

interface Conflict {
  readonly revision: number;
  readonly current: unknown;
}

/** The error of a save whose record has changed meanwhile; undefined for other errors. */
export function conflictOf(error: unknown): Conflict | undefined {
  if (!(error instanceof ApiError) || error.code !== 409) return undefined;
  const data = error.data as (Conflict & { readonly errorCode?: string }) | null;
  return data?.errorCode === 'REVISION_CONFLICT' ? data : undefined;
}

interface ConflictProps<Values> {
  readonly form: UseFormReturnType<Values>;
  readonly conflict: Conflict;
  /** Form values of the current record. */
  readonly valuesOf: (record: never) => Values;
  readonly onDone: () => void;
}

type Side = 'mine' | 'theirs';

/**
 * Resolves a conflict with someone else's save. Their changes to other fields are accepted; for fields that both changed, the
 * user chooses a value. The form then continues from the current record.
 */
export function ConflictChoice<Values>({
  form,
  conflict,
  valuesOf,
  onDone,
}: ConflictProps<Values>) {
  const { t } = useTranslation('ui');
  const [chosen, setChosen] = useState<Readonly<Record<string, Side>>>({});
  const [opened] = useState(() => form.getInitialValues());
  const now: Values = { ...valuesOf(conflict.current as never), revision: conflict.revision };
  const theirs = Object.keys(now as object).filter(
    (field) => field !== 'revision' && !isSame(now, opened, field),
  );
  const both = theirs.filter(
    (field) => !isSame(form.values, opened, field) && !isSame(form.values, now, field),
  );
  const others = theirs.filter((field) => isSame(form.values, opened, field));
  const proceed = (): void => {
    const replacedFields = theirs.filter(
      (field) => !both.includes(field) || chosen[field] === 'theirs',
    );
    const values = { ...form.values, revision: conflict.revision };
    const merged = {
      ...values,
      ...Object.fromEntries(replacedFields.map((one) => [one, fieldOf(now, one)])),
    };
    startFrom(form, now, merged);
    onDone();
  };
  return (
    <Alert variant="default" role="alert" title={t('conflict.title')}>
      <Stack gap="sm">
        {others.length > 0 && (
          <div>
            <Text size="sm">{t('conflict.others')}</Text>
            {others.map((field) => (
              <Text key={field} size="sm">
                <b>{labelOf(form, field)}</b>: <del>{valueText(fieldOf(opened, field), t)}</del>{' '}
                {valueText(fieldOf(now, field), t)}
              </Text>
            ))}
          </div>
        )}
        {both.map((field) => (
          <Radio.Group
            key={field}
            label={labelOf(form, field)}
            value={chosen[field] ?? 'mine'}
            onChange={(side) => setChosen({ ...chosen, [field]: side })}
          >
            <Stack gap={4} mt={4}>
              <Radio
                value="mine"
                label={t('conflict.mine')}
                description={valueText(fieldOf(form.values, field), t)}
              />
              <Radio
                value="theirs"
                label={t('conflict.theirs')}
                description={valueText(fieldOf(now, field), t)}
              />
            </Stack>
          </Radio.Group>
        ))}
        <Group justify="flex-end">
          <Button size="xs" onClick={proceed}>
            {t('conflict.goOn')}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function fieldOf(values: unknown, field: string): unknown {
  return (values as Readonly<Record<string, unknown>>)[field];
}

function isSame(one: unknown, other: unknown, field: string): boolean {
  return JSON.stringify(fieldOf(one, field)) === JSON.stringify(fieldOf(other, field));
}

/** Label of the field in the page. */
function labelOf<Values>(form: UseFormReturnType<Values>, field: string): string {
  const input = form.getInputNode(field) as HTMLInputElement | null;
  const label = input?.labels?.[0]?.textContent ?? input?.getAttribute('aria-label') ?? field;
  return label.replace(/\s*\*$/, '');
}

const MAX_SHOWN_CHARS = 300;

function valueText(
  value: unknown,
  t: (key: 'conflict.nothing' | 'conflict.on' | 'conflict.off') => string,
) {
  if (typeof value === 'boolean') return t(value ? 'conflict.on' : 'conflict.off');
  const isEmpty = value === undefined || value === null || value === '';
  if (isEmpty || (Array.isArray(value) && value.length === 0)) return t('conflict.nothing');
  const text = Array.isArray(value) ? value.map(asText).join(', ') : asText(value);
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

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
function usePersistedForm<Values>(form: UseFormReturnType<Values>, name: string): PersistedForm {
  const [key] = useState(() => keyOf(name));
  // The values of the record as it is now, once a form has begun with those that were typed earlier.
  const [current, setCurrent] = useState<Values>();
  const restore = useEffectEvent((): void => {
    const storedForm = storedFormOf(key);
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
    storeForm(key, isStored ? { values: Object.fromEntries(changed), opened: initial } : undefined);
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

function storedFormOf(key: string): StoredForm | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(key) ?? 'null') as StoredForm | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function storeForm(key: string, storedForm: StoredForm | undefined): void {
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

interface GuardProps<Values> {
  readonly form: UseFormReturnType<Values>;
  readonly dirty: boolean;
}

/**
 * Guards the form of a page: asks before unsaved changes are left by a link, another tab of the page, the browser's buttons
 * or its tab. Input is kept across reloads and sign-ins.
 */
export function LeaveGuard<Values>({ form, dirty }: GuardProps<Values>) {
  const { t } = useTranslation('ui');
  const { isRestored, discard } = usePersistedForm(form, 'page');
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty &&
      // The sign-in has ended, so the input is kept for the next sign-in.
      session.current !== undefined &&
      (current.pathname !== next.pathname || tabOf(current) !== tabOf(next)),
    // Signing in with a provider leaves the page and returns to it.
    enableBeforeUnload: () => dirty && !session.isLapsed,
    withResolver: true,
  });
  if (status !== 'blocked') return isRestored && <RestoredNote onDiscard={discard} />;
  return (
    <Modal opened onClose={reset} title={t('leave.title')}>
      <Stack>
        <Text>{t('leave.body')}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={reset} data-autofocus>
            {t('leave.stay')}
          </Button>
          <Button color="red" onClick={proceed}>
            {t('discard')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Tabs of a page, selected by the search parameter `tab`. */
function tabOf({ search }: { readonly search: unknown }): string | undefined {
  return (search as SearchParams)['tab'];
}

/** Notes that a form contains input from before a reload or another sign-in. */
function RestoredNote({ onDiscard }: { readonly onDiscard: () => void }) {
  const { t } = useTranslation('ui');
  return (
    <Alert color="gray" role="status" mb="md">
      {t('kept')}{' '}
      <Anchor component="button" type="button" size="sm" onClick={onDiscard}>
        {t('keptDiscard')}
      </Anchor>
    </Alert>
  );
}

/** After a failed validation, scrolls to the first invalid field and focuses it. */
export function focusFirstInvalid(
  _errors: unknown,
  _values: unknown,
  event: SyntheticEvent | undefined,
): void {
  const form = event?.currentTarget.closest('form') ?? document;
  // The errors are rendered in the next frame.
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
