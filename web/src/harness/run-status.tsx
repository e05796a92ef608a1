import { Badge } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconHandStop,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { RunStatus } from './timeline';
import styles from './harness.module.css';

const LOOKS: Readonly<Record<RunStatus, { readonly icon: Icon; readonly tone: string }>> = {
  QUEUED: { icon: IconClock, tone: 'quiet' },
  RUNNING: { icon: IconPlayerPlay, tone: 'busy' },
  WAITING_FOR_APPROVAL: { icon: IconHandStop, tone: 'warn' },
  WAITING_FOR_INPUT: { icon: IconHandStop, tone: 'warn' },
  SUSPENDED: { icon: IconPlayerPause, tone: 'warn' },
  COMPLETED: { icon: IconCircleCheck, tone: 'good' },
  FAILED: { icon: IconCircleX, tone: 'bad' },
  CANCELLED: { icon: IconPlayerStop, tone: 'quiet' },
};

export function StatusIcon({ status }: { readonly status: RunStatus }) {
  const { icon: Icon, tone } = LOOKS[status];
  return <Icon size={16} stroke={1.5} className={styles[tone]} aria-hidden />;
}

/** Badge with the status of a run and its icon. */
export function RunStatusBadge({ status }: { readonly status: RunStatus }) {
  const { t } = useTranslation('harness');
  const { tone } = LOOKS[status];
  return (
    <Badge
      variant="default"
      size="lg"
      className={styles['status']}
      leftSection={<StatusIcon status={status} />}
      data-status={status}
    >
      <span className={styles[tone]}>{t(`status.${status}`)}</span>
    </Badge>
  );
}
