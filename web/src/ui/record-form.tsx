import { Alert, Button, Group, Radio, Stack, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { ApiError } from '@plinth/client';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** A field of a form beside those that people see: the revision that it was made from, which a save sends. */
export interface Revised {
  readonly revision?: number | undefined;
}

/** Compares the form with `stored` from now on, and shows `values` in it. */
export function startFrom<Values>(
  form: UseFormReturnType<Values>,
  stored: Values,
  values: Values = stored,
): void {
  form.setInitialValues(stored);
  form.resetDirty(stored);
  form.setValues(values);
}

/** A form of a stored record: while nothing is changed in it, it follows the record. */
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

/** What the service says of a save whose record has changed since; undefined for other errors. */
export function conflictOf(error: unknown): Conflict | undefined {
  if (!(error instanceof ApiError) || error.code !== 409) return undefined;
  const data = error.data as (Conflict & { readonly errorCode?: string }) | null;
  return data?.errorCode === 'REVISION_CONFLICT' ? data : undefined;
}

interface Props<Values> {
  readonly form: UseFormReturnType<Values>;
  readonly conflict: Conflict;
  /** The values of the form for the record as it is now. */
  readonly valuesOf: (record: never) => Values;
  readonly onDone: () => void;
}

type Side = 'mine' | 'theirs';

/**
 * Another person has saved the record meanwhile. Their changes of other fields are taken; for fields that both have changed one
 * of the values is chosen. The form then goes on from the record as it is now.
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
  const goOn = (): void => {
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
                <b>{labelOf(form, field)}</b>: <del>{shown(read(opened, field), t)}</del>{' '}
                {shown(read(now, field), t)}
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
                description={shown(read(form.values, field), t)}
              />
              <Radio
                value="theirs"
                label={t('conflict.theirs')}
                description={shown(read(now, field), t)}
              />
            </Stack>
          </Radio.Group>
        ))}
        <Group justify="flex-end">
          <Button size="xs" onClick={goOn}>
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

/** What the page calls the field. */
function labelOf<Values>(form: UseFormReturnType<Values>, field: string): string {
  const input = form.getInputNode(field) as HTMLInputElement | null;
  const label = input?.labels?.[0]?.textContent ?? input?.getAttribute('aria-label') ?? field;
  return label.replace(/\s*\*$/, '');
}

const MAX_SHOWN_CHARS = 300;

function shown(
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
