import { Alert } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { ConnectionError } from '@plinth/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';

const POLL_MS = 2_000;

/** Shown while the service is unreachable. When it recovers, the banner disappears and failed queries are reloaded. */
export function OfflineBanner() {
  const { t } = useTranslation('ui');
  const queries = useQueryClient();
  const isOffline = useSyncExternalStore(
    (changed) => queries.getQueryCache().subscribe(changed),
    () =>
      queries
        .getQueryCache()
        .getAll()
        .some(({ state }) => (state.error ?? state.fetchFailureReason) instanceof ConnectionError),
  );
  const { data: back } = useQuery({
    queryKey: ['reachable'],
    queryFn: async ({ signal }) => (await fetch('/health/live', { signal })).ok,
    enabled: isOffline,
    retry: false,
    refetchInterval: POLL_MS,
    gcTime: 0,
  });
  useEffect(() => {
    if (!isOffline || !back) return;
    void queries.refetchQueries({
      predicate: ({ state }) => state.error instanceof ConnectionError,
    });
  }, [isOffline, back, queries]);
  if (!isOffline) return null;
  return (
    <Alert
      role="status"
      color="yellow"
      radius={0}
      icon={<IconPlugConnectedX size={18} stroke={1.5} />}
      title={t('offline')}
    >
      {t('offlineHint')}
    </Alert>
  );
}
