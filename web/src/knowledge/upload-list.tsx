import { ActionIcon, Button, Group, Progress, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconRefresh, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { bytes, number } from '../ui/format';
import { cancelUpload, canRetry, clearEnded, isActive, retryUpload, useUploads } from './uploads';
import type { Upload } from './uploads';
import styles from './knowledge.module.css';

/** Uploads to the base, failed ones first. */
export function UploadList({ knowledgeId }: { readonly knowledgeId: number }) {
  const { t } = useTranslation('knowledge');
  const uploads = useUploads(knowledgeId);
  if (uploads.length === 0) return null;
  const ended = uploads.filter((one) => !isActive(one));
  const stored = ended.filter(({ state }) => state === 'stored').length;
  const failed = ended.filter(({ state }) => state === 'failed').length;
  const total = uploads.reduce((sum, { size }) => sum + size, 0);
  const sentBytes = uploads.reduce((sum, one) => sum + (isActive(one) ? one.sent : one.size), 0);
  const rows = [...uploads].sort((a, b) => placeOf(a) - placeOf(b) || a.id - b.id);
  return (
    <section className={styles['uploads']} aria-label={t('upload.list')}>
      <Group justify="space-between" gap="xs" px="sm" py={8}>
        <Text fw={600} size="sm" role="status">
          {ended.length < uploads.length
            ? t('upload.progress', { done: number(stored), all: number(uploads.length) })
            : t('upload.done', { count: stored, shown: number(stored) })}
          {failed > 0 && ` · ${t('upload.failed', { count: failed })}`}
        </Text>
        {ended.length > 0 && (
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            onClick={() => clearEnded(knowledgeId)}
          >
            {t('upload.clear')}
          </Button>
        )}
      </Group>
      {ended.length < uploads.length && (
        <Progress
          value={total === 0 ? 0 : (sentBytes / total) * 100}
          size={3}
          radius={0}
          aria-label={t('upload.all')}
        />
      )}
      <ul className={styles['uploadRows']}>
        {rows.map((upload) => (
          <UploadRow key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  );
}

const PLACES = { failed: 0, sending: 1, waiting: 2, cancelled: 3, stored: 4 } as const;

function placeOf({ state }: Upload): number {
  return PLACES[state];
}

function UploadRow({ upload }: { readonly upload: Upload }) {
  const { t } = useTranslation('knowledge');
  const { id, name, size, state, sent, reason } = upload;
  return (
    <li className={styles['uploadRow']}>
      <div className={styles['uploadName']}>
        <Text size="sm" truncate title={name}>
          {name}
        </Text>
        {reason && (
          <Text size="xs" className={styles['bad']}>
            {reason}
          </Text>
        )}
      </div>
      <Text size="xs" c="dimmed" className={styles['uploadSize']}>
        {bytes(size)}
      </Text>
      <div className={styles['uploadState']}>
        {state === 'sending' ? (
          <Progress
            value={size === 0 ? 100 : (sent / size) * 100}
            aria-label={t('upload.of', { name })}
            flex={1}
            size="sm"
          />
        ) : (
          <Text size="xs" c={state === 'failed' ? undefined : 'dimmed'}>
            {t(`upload.state.${state}`)}
          </Text>
        )}
      </div>
      {isActive(upload) && (
        <Tooltip label={t('upload.cancel')}>
          <ActionIcon
            size="sm"
            aria-label={`${t('upload.cancel')}: ${name}`}
            onClick={() => cancelUpload(id)}
          >
            <IconX size={14} stroke={1.5} />
          </ActionIcon>
        </Tooltip>
      )}
      {(state === 'failed' || state === 'cancelled') && canRetry(id) && (
        <Tooltip label={t('upload.retry')}>
          <ActionIcon
            size="sm"
            aria-label={`${t('upload.retry')}: ${name}`}
            onClick={() => retryUpload(id)}
          >
            <IconRefresh size={14} stroke={1.5} />
          </ActionIcon>
        </Tooltip>
      )}
      {state === 'stored' && (
        <IconCheck size={16} stroke={1.5} className={styles['good']} aria-hidden />
      )}
    </li>
  );
}
