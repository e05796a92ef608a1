import { Badge } from '@mantine/core';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useBrowserStream } from './stream/browser-stream';

/** Badge in the menu with the number of decisions pending for this user; hidden if there are none. */
export function ApprovalCount({ small }: { readonly small: boolean }) {
  const { count: waiting = 0 } = useBrowserStream();
  if (waiting === 0) return null;
  // The harness texts are loaded on demand, and the menu must not wait for them.
  return (
    <Suspense>
      <Count waiting={waiting} small={small} />
    </Suspense>
  );
}

function Count({ waiting, small }: { readonly waiting: number; readonly small: boolean }) {
  const { t } = useTranslation('harness');
  return (
    <Badge
      size="sm"
      circle={small}
      color="red.9"
      aria-label={t('approvalsWaiting', { count: waiting })}
    >
      {waiting > 99 ? '99+' : waiting}
    </Badge>
  );
}
