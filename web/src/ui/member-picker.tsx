import { MultiSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import { useState } from 'react';

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface Props {
  readonly label: string;
  readonly description: string;
  readonly nothingFound: string;
  readonly queryKey: QueryKey;
  /** Reads some choices that match the text; all match an empty one. */
  readonly load: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>;
  /** The labels of the chosen values. */
  readonly chosen: ReadonlyMap<string, string>;
  readonly onChange: (chosen: ReadonlyMap<string, string>) => void;
  readonly autoFocus?: boolean;
}

const SEARCH_PAUSE_MS = 250;

/** Selects several of many records, which the service searches. */
export function MemberPicker({
  label,
  description,
  nothingFound,
  queryKey,
  load,
  chosen,
  onChange,
  autoFocus,
}: Props) {
  const [search, setSearch] = useState('');
  const [searchText] = useDebouncedValue(search, SEARCH_PAUSE_MS);
  const options = useQuery({
    queryKey: [...queryKey, searchText],
    queryFn: ({ signal }) => load(searchText, signal),
    placeholderData: keepPreviousData,
  });
  const choices = [
    ...[...chosen].map(([value, name]) => ({ value, label: name })),
    ...(options.data ?? []).filter(({ value }) => !chosen.has(value)),
  ];
  const labelOf = (value: string): string =>
    choices.find((one) => one.value === value)?.label ?? value;
  return (
    <MultiSelect
      label={label}
      description={description}
      data={choices}
      searchable
      searchValue={search}
      onSearchChange={setSearch}
      nothingFoundMessage={nothingFound}
      value={[...chosen.keys()]}
      onChange={(values) => onChange(new Map(values.map((value) => [value, labelOf(value)])))}
      data-autofocus={autoFocus || undefined}
    />
  );
}
