import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useBrowserStream } from './stream/browser-stream';

/** How many decisions wait for this user, in the menu; nothing while there are none. */
export function ApprovalCount({ small }: { readonly small: boolean }) {
  const { t } = useTranslation('harness');
  const { count: waiting = 0 } = useBrowserStream();
  if (waiting === 0) return null;
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
