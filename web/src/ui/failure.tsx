import { Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { IconAlertCircle, IconLock, IconPlugConnectedX, IconRefresh } from '@tabler/icons-react';
import { ApiError, ConnectionError } from '@plinth/client';
import i18next from 'i18next';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy-button';
import styles from './state.module.css';

interface Props {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** What happened, the request id to copy, and a way to try again. For the whole page or a part of it. */
export function Failure({ error, onRetry }: Props) {
  const { t } = useTranslation('ui');
  if (error instanceof ApiError && error.code === 403) return <Forbidden message={error.message} />;
  if (isMissingPart(error)) return <PartMissing />;
  const lost = error instanceof ConnectionError;
  const Icon = lost ? IconPlugConnectedX : IconAlertCircle;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Stack className={styles['state']} role="alert">
      <Icon size={28} stroke={1.5} className={styles['bad']} />
      <Title order={2}>{t(lost ? 'connectionLost' : 'failed')}</Title>
      <Text>{lost ? t('connectionLostHint') : messageOf(error)}</Text>
      {requestId && <RequestId id={requestId} />}
      {onRetry && (
        <Button variant="default" onClick={onRetry}>
          {t('retry')}
        </Button>
      )}
    </Stack>
  );
}

/** A part of the page could not be loaded: mostly because the service was updated since the page was opened. */
function PartMissing() {
  const { t } = useTranslation('ui');
  return (
    <Stack className={styles['state']} role="alert">
      <IconRefresh size={28} stroke={1.5} className={styles['icon']} />
      <Title order={2}>{t('partMissing')}</Title>
      <Text c="dimmed">{t('partMissingHint')}</Text>
      <Button onClick={() => location.reload()}>{t('reload')}</Button>
    </Stack>
  );
}

/** How Chromium, Firefox and Safari say that a script which is loaded on demand is not there. */
function isMissingPart(error: unknown): boolean {
  return (
    error instanceof TypeError &&
    /dynamically imported module|module script failed/i.test(error.message)
  );
}

export function RequestId({ id }: { readonly id: string }) {
  const { t } = useTranslation('ui');
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="xs" c="dimmed">
        {t('request')}
      </Text>
      <Code className={styles['request']}>{id}</Code>
      <CopyButton value={id} label={t('copyRequestId')} />
    </Group>
  );
}

interface ForbiddenProps {
  /** The answer of the service, if it refused. */
  readonly message?: string;
  /** One of these would be enough. */
  readonly permissions?: readonly string[];
}

/** Which permission is missing, and who can give it. */
export function Forbidden({ message, permissions = [] }: ForbiddenProps) {
  const { t } = useTranslation('ui');
  return (
    <Stack className={styles['state']} role="alert">
      <IconLock size={28} stroke={1.5} />
      <Title order={2}>{t('forbidden')}</Title>
      <Text>{message ?? t('forbiddenHint')}</Text>
      {permissions.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('neededPermission')} <Code>{permissions.join(', ')}</Code>
        </Text>
      )}
    </Stack>
  );
}

/** The words of an error for people. Errors of the service are already written for them, in their language. */
export function messageOf(error: unknown): string {
  if (error instanceof ConnectionError) return i18next.t('ui:connectionFailed');
  return error instanceof Error ? error.message : String(error);
}
