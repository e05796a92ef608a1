import { Badge } from '@mantine/core';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useBrowserStream } from './stream/browser-stream';

/** How many decisions wait for this user, in the menu; nothing while there are none. */
export function ApprovalCount({ small }: { readonly small: boolean }) {
  const { count: waiting = 0 } = useBrowserStream();
  if (waiting === 0) return null;
  // The texts of the harness are loaded on demand: the menu must not wait for them.
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
