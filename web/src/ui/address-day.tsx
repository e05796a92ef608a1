import { TextInput } from '@mantine/core';
import type { TimeRange } from '@plinth/client';
import { useSearchParams } from '../app/search-params';
import { PHONE_SHARE } from './address-fields';
import styles from './address-day.module.css';

interface Props {
  /** Name of the search parameter. */
  readonly name: string;
  readonly label: string;
}

/** A date field stored in a search parameter, such as `2026-01-31`. */
export function AddressDay({ name, label }: Props) {
  const [address, change] = useSearchParams();
  return (
    <TextInput
      type="date"
      aria-label={label}
      leftSection={<span className={styles['label']}>{label}</span>}
      leftSectionWidth={56}
      w={{ base: 'auto', xs: 196 }}
      flex={PHONE_SHARE}
      value={address[name] ?? ''}
      onChange={({ currentTarget }) =>
        change({ [name]: currentTarget.value || undefined, page: undefined })
      }
    />
  );
}

/** Date range from the URL for lists and exports; both ends are included. */
export function daysOf({ from, to }: Readonly<Record<string, string | undefined>>): {
  params?: TimeRange;
} {
  if (!from && !to) return {};
  return { params: { ...(from && { beginTime: from }), ...(to && { endTime: to }) } };
}
