import { ActionIcon, Group, Indicator, Select, TextInput, Tooltip } from '@mantine/core';
import type { SelectProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconFilter, IconSearch } from '@tabler/icons-react';
import type { TimeRange } from '@plinth/client';
import { Fragment, useId, useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import styles from './filters.module.css';

const PAUSE_MS = 250;
/** On phones, two fields share a row. */
const PHONE_SHARE = { base: '1 1 40%', xs: '0 0 auto' };

/** A filter of a list. Its value is a search parameter of the page, so that reloads and links show the same list. */
export interface Filter {
  /** Name of the search parameter. */
  readonly name: string;
  readonly label: string;
  /** Values to choose from. Without choices the filter is a search field. */
  readonly choices?: NonNullable<SelectProps['data']>;
  /** A date such as `2026-01-31`. */
  readonly isDay?: boolean;
  /** An input of its own kind. */
  readonly input?: ReactNode;
}

/** The filter of records that can be disabled. */
export function useStatusFilter(): Filter {
  const { t } = useTranslation('ui');
  const choices = [
    { value: '0', label: t('status.enabled') },
    { value: '1', label: t('status.disabled') },
  ];
  return { name: 'status', label: t('status.any'), choices };
}

/** Choices of a filter or field: each value with its text. */
export function choicesOf<const Value extends string>(
  values: readonly Value[],
  label: (value: Value) => string,
): { value: Value; label: string }[] {
  return values.map((value) => ({ value, label: label(value) }));
}

/** Date range from the URL for lists and exports; both ends are included. */
export function daysOf({ from, to }: SearchParams): { params?: TimeRange } {
  if (!from && !to) return {};
  return { params: { ...(from && { beginTime: from }), ...(to && { endTime: to }) } };
}

interface BarProps {
  readonly filters: readonly Filter[];
  /** Other actions on the list, shown on the right. */
  readonly tools?: ReactNode;
}

/** Filters above a list. On phones, a button expands those after the first. */
export function FilterBar({ filters, tools }: BarProps) {
  const { t } = useTranslation('ui');
  const [address] = useSearchParams();
  const [open, setOpen] = useState(false);
  const id = useId();
  const [, ...folded] = filters;
  const count = folded.filter(({ name }) => address[name]).length;
  const label = count === 0 ? t('filters') : t('filtersSet', { count });
  return (
    <Group justify="space-between" align="flex-start" mb="sm" gap="xs" mih={36}>
      {filters.length > 0 && (
        <Group
          id={id}
          gap="xs"
          className={styles['inputs']}
          mod={{ folded: !open }}
          role="search"
          aria-label={t('filters')}
        >
          {filters.map((filter) => (
            <FilterInput key={filter.name} filter={filter} />
          ))}
        </Group>
      )}
      <Group gap={4} className={styles['tools']}>
        {folded.length > 0 && (
          <Tooltip label={label}>
            <Indicator label={count} size={16} disabled={count === 0} hiddenFrom="xs" inline>
              <ActionIcon
                size="lg"
                aria-label={label}
                aria-expanded={open}
                aria-controls={id}
                onClick={() => setOpen(!open)}
              >
                <IconFilter size={18} stroke={1.5} />
              </ActionIcon>
            </Indicator>
          </Tooltip>
        )}
        {tools}
      </Group>
    </Group>
  );
}

function FilterInput({ filter: { name, label, choices, isDay, input } }: { filter: Filter }) {
  const [address, change] = useSearchParams();
  const keep = (value: string | null): void =>
    change({ [name]: value || undefined, page: undefined });
  if (input !== undefined) return <Fragment>{input}</Fragment>;
  if (choices) {
    return (
      <Select
        aria-label={label}
        placeholder={label}
        data={choices}
        value={address[name] ?? null}
        clearable
        w={{ base: 'auto', xs: 180 }}
        flex={PHONE_SHARE}
        onChange={keep}
      />
    );
  }
  if (!isDay) return <AddressSearch name={name} label={label} />;
  return (
    <TextInput
      type="date"
      aria-label={label}
      leftSection={<span className={styles['label']}>{label}</span>}
      leftSectionWidth={56}
      w={{ base: 'auto', xs: 196 }}
      flex={PHONE_SHARE}
      value={address[name] ?? ''}
      onChange={({ currentTarget }) => keep(currentTarget.value)}
    />
  );
}

/** A search field whose text is stored in a search parameter shortly after typing. */
export function AddressSearch({ name, label }: { readonly name: string; readonly label: string }) {
  const [address, change] = useSearchParams();
  const [text, setText] = useState(address[name] ?? '');
  const keep = useDebouncedCallback(
    (value: string) => change({ [name]: value || undefined, page: undefined }),
    PAUSE_MS,
  );
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={16} stroke={1.5} />}
      w={{ base: '100%', xs: 240 }}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value);
        keep(currentTarget.value);
      }}
    />
  );
}
