import { Badge } from '@mantine/core';
import { approvalWaiting } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';

const ASK_AGAIN_MS = 15_000;

/** How many approvals wait for this user, in the menu; nothing while there are none. */
export function ApprovalCount({ small }: { readonly small: boolean }) {
  const { t } = useTranslation('harness');
  const { data } = useQuery({
    queryKey: ['approvals'],
    queryFn: ({ signal }) => approvalWaiting({ signal }),
    refetchInterval: ASK_AGAIN_MS,
  });
  const waiting = data?.length ?? 0;
  if (waiting === 0) return null;
  return (
    <Badge
      size="sm"
      circle={small}
      color="red"
      aria-label={t('approvalsWaiting', { count: waiting })}
    >
      {waiting > 99 ? '99+' : waiting}
    </Badge>
  );
}
