import { Select, TextInput } from '@mantine/core';
import type { SelectProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useSearchParams } from '../app/search-params';

const PAUSE_MS = 250;
/** On phones, two fields share a row. */
export const PHONE_SHARE = { base: '1 1 40%', xs: '0 0 auto' };

interface Props {
  /** Name of the search parameter. */
  readonly name: string;
  readonly label: string;
}

/** A search field whose text is stored in a search parameter shortly after typing. */
export function AddressSearch({ name, label }: Props) {
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

/** A select field stored in a search parameter. */
export function AddressSelect({
  name,
  label,
  data,
}: Props & { readonly data: NonNullable<SelectProps['data']> }) {
  const [address, change] = useSearchParams();
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={data}
      value={address[name] ?? null}
      clearable
      w={{ base: 'auto', xs: 180 }}
      flex={PHONE_SHARE}
      onChange={(value) => change({ [name]: value ?? undefined, page: undefined })}
    />
  );
}
