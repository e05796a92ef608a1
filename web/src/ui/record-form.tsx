import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { ApiError } from '@plinth/client';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';

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

interface Props<Values> {
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
export function ConflictChoice<Values>({ form, conflict, valuesOf, onDone }: Props<Values>) {
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
    const taken = theirs.filter((field) => !both.includes(field) || chosen[field] === 'theirs');
    const values = { ...form.values, revision: conflict.revision };
    const merged = { ...values, ...Object.fromEntries(taken.map((one) => [one, read(now, one)])) };
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
                <b>{labelOf(form, field)}</b>: <del>{valueText(read(opened, field), t)}</del>{' '}
                {valueText(read(now, field), t)}
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
                description={valueText(read(form.values, field), t)}
              />
              <Radio
                value="theirs"
                label={t('conflict.theirs')}
                description={valueText(read(now, field), t)}
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

function read(values: unknown, field: string): unknown {
  return (values as Readonly<Record<string, unknown>>)[field];
}

function isSame(one: unknown, other: unknown, field: string): boolean {
  return JSON.stringify(read(one, field)) === JSON.stringify(read(other, field));
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
