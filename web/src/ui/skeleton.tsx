import { Box, Group, Skeleton, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import styles from './page.module.css';

/** Placeholder of a table page while its code or first data is loading. */
export function PageSkeleton() {
  const { t } = useTranslation('ui');
  return (
    <Box className={styles['table']} role="status" aria-label={t('loading')}>
      <Group justify="space-between" mb="lg">
        <Skeleton height={28} width={180} />
        <Skeleton height={34} width={120} />
      </Group>
      <RowsSkeleton />
    </Box>
  );
}

export function RowsSkeleton({
  rows = 8,
  height = 40,
}: {
  readonly rows?: number;
  readonly height?: number;
}) {
  return (
    <Stack gap={8} aria-hidden>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={height} />
      ))}
    </Stack>
  );
}
