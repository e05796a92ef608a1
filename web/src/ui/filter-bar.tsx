import { ActionIcon, Group, Indicator, Tooltip } from '@mantine/core';
import { IconDownload, IconFilter } from '@tabler/icons-react';
import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import styles from './filter-bar.module.css';

interface Props {
  /** Search parameters of the filters, in the order of their inputs. */
  readonly names: readonly string[];
  /** Filter inputs. */
  readonly children?: ReactNode;
  /** Other actions on the list, shown on the right. */
  readonly tools?: ReactNode;
}

/** Filters above a list. On phones, a button expands those after the first. */
export function FilterBar({ names, children, tools }: Props) {
  const { t } = useTranslation('ui');
  const [address] = useSearchParams();
  const [open, setOpen] = useState(false);
  const id = useId();
  const [, ...folded] = names;
  const count = folded.filter((name) => address[name]).length;
  const label = count === 0 ? t('filters') : t('filtersSet', { count });
  return (
    <Group justify="space-between" align="flex-start" mb="sm" gap="xs" mih={36}>
      {children && (
        <Group
          id={id}
          gap="xs"
          className={styles['inputs']}
          mod={{ folded: !open }}
          role="search"
          aria-label={t('filters')}
        >
          {children}
        </Group>
      )}
      <Group gap={4} className={styles['tools']}>
        {children && folded.length > 0 && (
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

interface ExportProps {
  readonly label: string;
  readonly loading: boolean;
  readonly onClick: () => void;
}

export function ExportButton({ label, loading, onClick }: ExportProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon size="lg" aria-label={label} loading={loading} onClick={onClick}>
        <IconDownload size={18} stroke={1.5} />
      </ActionIcon>
    </Tooltip>
  );
}
