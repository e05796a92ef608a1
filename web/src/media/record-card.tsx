import { Alert, Button, Code, Group, Loader, Stack, Text } from '@mantine/core';
import { IconDownload, IconExternalLink } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../ui/copy-button';
import { messageOf } from '../ui/states';
import { duration } from '../ui/format';
import styles from './media.module.css';
import type { MediaRecord } from './use-media';

interface Props {
  readonly record: MediaRecord;
  /** Whether another task is running, so that this one cannot continue now. */
  readonly busy: boolean;
  readonly onPause: () => void;
  readonly onResume: () => void;
}

/** Card of a generated medium: its state, its id and its content. */
export function RecordCard({ record, busy, onPause, onResume }: Props) {
  const { t } = useTranslation('media');
  const { kind, model, prompt, state, status, task, error, detail } = record;
  const isRunning = state === 'submitting' || state === 'polling';
  const canResume = task && (state === 'paused' || state === 'expired' || state === 'failed');
  return (
    <article className={styles['record']}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={0} className={styles['recordText']}>
          <Text fw={600} lineClamp={2}>
            {prompt}
          </Text>
          <Text size="sm" c="dimmed">
            {t(`kinds.${kind}`)} · {model}
          </Text>
        </Stack>
        <Group gap="xs" wrap="nowrap" role="status">
          {isRunning && <Loader size={16} />}
          <Text size="sm">
            {t(`state.${state}`)}
            {isRunning && status ? ` (${status})` : ''}
          </Text>
          <Elapsed record={record} />
        </Group>
      </Group>
      {record.medium && <Shown record={record} />}
      {state === 'done' && !record.medium && <Text c="dimmed">{t('nothingToShow')}</Text>}
      {error !== undefined && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {state === 'failed' && detail && (
        <Code block className={styles['detail']}>
          {detail}
        </Code>
      )}
      {state === 'expired' && <Text c="dimmed">{t('expiredHint')}</Text>}
      {state === 'paused' && <Text c="dimmed">{t('pausedHint')}</Text>}
      <Group justify="space-between">
        {task ? (
          <Group gap={6} wrap="nowrap" className={styles['id']}>
            <Text size="xs" c="dimmed">
              {t('taskId')}
            </Text>
            <Code>{task.id}</Code>
            <CopyButton value={task.id} />
          </Group>
        ) : (
          <span />
        )}
        <Group gap="xs">
          {isRunning && (
            <Button variant="default" size="xs" onClick={onPause}>
              {t(task ? 'pause' : 'cancel')}
            </Button>
          )}
          {canResume && (
            <Button variant="default" size="xs" disabled={busy} onClick={onResume}>
              {t('resume')}
            </Button>
          )}
          {record.medium && (
            <Button
              component="a"
              variant="default"
              size="xs"
              href={record.medium.url}
              download={`plinth-${kind}-${record.key}`}
              leftSection={<IconDownload size={14} stroke={1.5} />}
            >
              {t('download')}
            </Button>
          )}
        </Group>
      </Group>
    </article>
  );
}

/** The medium itself. If the page may not load from its host, it opens in a new tab. */
function Shown({ record: { kind, medium, prompt } }: { readonly record: MediaRecord }) {
  const { t } = useTranslation('media');
  const [blocked, setBlocked] = useState(false);
  if (!medium) return null;
  if (blocked) {
    return (
      <Alert color="gray">
        <Stack gap="xs" align="flex-start">
          {t('elsewhere')}
          <Button
            component="a"
            variant="default"
            size="xs"
            href={medium.url}
            target="_blank"
            rel="noopener noreferrer"
            leftSection={<IconExternalLink size={14} stroke={1.5} />}
          >
            {t('openElsewhere')}
          </Button>
        </Stack>
      </Alert>
    );
  }
  const onError = (): void => setBlocked(true);
  if (kind === 'image') {
    return <img src={medium.url} alt={prompt} className={styles['picture']} onError={onError} />;
  }
  if (kind === 'audio') {
    return <audio controls src={medium.url} className={styles['sound']} onError={onError} />;
  }
  return (
    <video controls playsInline src={medium.url} className={styles['picture']} onError={onError} />
  );
}

const SECOND_MS = 1_000;

function Elapsed({ record: { startedAt, endedAt, state } }: { readonly record: MediaRecord }) {
  const isRunning = state === 'submitting' || state === 'polling';
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  if (!isRunning && endedAt === undefined) return null;
  const seconds = Math.max(0, Math.round(((endedAt ?? now) - startedAt) / SECOND_MS));
  return (
    <Text size="sm" c="dimmed">
      {duration(seconds * SECOND_MS)}
    </Text>
  );
}
