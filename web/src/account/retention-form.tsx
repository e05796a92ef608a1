import { Button, Group, NumberInput, SimpleGrid, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { RetentionRuleView, RetentionView } from '@plinth/client';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../ui/action';
import { focusFirstInvalid, FormFailure, LeaveGuard } from '../ui/form';

type RecordClass = RetentionRuleView['recordClass'];
type Days = number | string;

export interface RuleInput {
  readonly recordClass: RecordClass;
  readonly days: number;
}

interface Props {
  readonly retention: RetentionView;
  readonly save: (rules: RuleInput[]) => Promise<unknown>;
  readonly readOnly?: boolean;
  /** Further fields, above the button. */
  readonly children?: ReactNode;
  /** Whether the further fields have changed. */
  readonly isChanged?: boolean;
}

export const retentionKey = ['retention'] as const;

/** How many days records of each class are kept. An empty field keeps them without a limit of its own. */
export function RetentionForm({ retention, save, readOnly = false, children, isChanged }: Props) {
  const { t } = useTranslation('account');
  const [failure, setFailure] = useState<unknown>();
  const form = useForm<Record<string, Days>>({
    initialValues: Object.fromEntries(
      retention.rules.map(({ recordClass, days }) => [recordClass, days ?? '']),
    ),
  });
  const store = useAction(
    (values: Readonly<Record<string, Days>>) =>
      save(
        retention.rules.flatMap(({ recordClass }) => {
          const days = values[recordClass];
          return typeof days === 'number' ? [{ recordClass, days }] : [];
        }),
      ),
    {
      done: t('retention.saved'),
      changes: [retentionKey],
      onFailure: setFailure,
      after: (_result, values) => {
        form.resetDirty({ ...values });
        setFailure(undefined);
      },
    },
  );
  return (
    <form noValidate onSubmit={form.onSubmit((values) => store.mutate(values), focusFirstInvalid)}>
      <LeaveGuard form={form} dirty={(form.isDirty() || isChanged === true) && !store.isPending} />
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {retention.rules.map(({ recordClass, minDays, maxDays }) => (
            <NumberInput
              key={recordClass}
              label={t(`retention.classes.${recordClass}`)}
              description={t(maxDays === null ? 'retention.from' : 'retention.between', {
                min: minDays,
                max: maxDays,
              })}
              placeholder={
                maxDays === null ? t('retention.kept') : t('retention.days', { count: maxDays })
              }
              suffix={t('retention.suffix')}
              min={minDays}
              max={maxDays ?? 36_500}
              allowDecimal={false}
              disabled={readOnly}
              {...form.getInputProps(recordClass)}
            />
          ))}
        </SimpleGrid>
        {children}
        {failure !== undefined && <FormFailure error={failure} />}
        {!readOnly && (
          <Group>
            <Button
              type="submit"
              loading={store.isPending}
              disabled={!form.isDirty() && isChanged !== true}
            >
              {t('retention.save')}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}
