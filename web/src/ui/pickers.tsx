import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { messageOf } from './states';

interface PickerProps {
  readonly label: string;
  /** Help text below the field. */
  readonly description?: ReactNode;
  readonly error?: ReactNode;
  readonly disabled?: boolean;
  readonly required?: boolean;
  readonly placeholder?: string;
}

interface ModelPickerProps extends PickerProps {
  /** Category of models, such as chat, vector or image. */
  readonly category: string;
  /** The selected modelName; empty for none. */
  readonly value?: string;
  readonly onChange: (modelName: string) => void;
  /** Whether the field may be empty. */
  readonly clearable?: boolean;
}

/** Selects an available model of a category. A stored name that is no longer available stays visible. */
export function ModelPicker({
  category,
  value = '',
  onChange,
  clearable,
  ...rest
}: ModelPickerProps) {
  const { t } = useTranslation('ui');
  const { data, error, isPending } = useQuery({
    queryKey: ['models', 'choices', category],
    queryFn: ({ signal }) => plinth.modelOptions({ query: { category, pageSize: 1_000 }, signal }),
    staleTime: 30_000,
  });
  const choices = (data?.rows ?? []).map(({ modelName, modelDescribe, providerCode }) => ({
    value: modelName,
    label: modelDescribe === modelName ? modelName : `${modelDescribe} (${modelName})`,
    providerCode,
  }));
  // Several models may share a name; the service chooses among them.
  const unique = [...new Map(choices.map((choice) => [choice.value, choice])).values()];
  const isGone = data !== undefined && value !== '' && !unique.some((one) => one.value === value);
  const groups = Map.groupBy(unique, ({ providerCode }) => providerCode);
  return (
    <Select
      {...rest}
      data={[
        ...(isGone ? [{ group: t('picker.gone'), items: [{ value, label: value }] }] : []),
        ...[...groups].map(([group, items]) => ({ group, items })),
      ]}
      value={value === '' ? null : value}
      onChange={(chosen) => onChange(chosen ?? '')}
      error={rest.error ?? (error ? messageOf(error) : isGone && t('picker.goneHint'))}
      placeholder={isPending ? t('loading') : (rest.placeholder ?? t('picker.model'))}
      nothingFoundMessage={t('picker.noModel')}
      clearable={clearable ?? false}
      allowDeselect={clearable ?? false}
      clearButtonProps={{ 'aria-label': t('picker.clear') }}
      searchable
    />
  );
}
