import { Box, Button, Code, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import {
  IconAlertCircle,
  IconLock,
  IconMapPinOff,
  IconPlugConnectedX,
  IconRefresh,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { ApiError, ConnectionError } from '@plinth/client';
import i18next from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LinkButton } from './buttons';
import { CopyButton } from './copy-button';
import pageStyles from './page.module.css';
import styles from './states.module.css';

interface EmptyProps {
  readonly icon: Icon;
  readonly title: string;
  /** Explanation in one or two sentences. */
  readonly children?: ReactNode;
  /** The main action that adds the first record. */
  readonly action?: ReactNode;
}

/** Placeholder of a page or list without records. */
export function Empty({ icon: Icon, title, children, action }: EmptyProps) {
  return (
    <Stack className={`${styles['state']} ${styles['inline']}`}>
      <Icon size={28} stroke={1.5} className={styles['icon']} />
      <Title order={2}>{title}</Title>
      {children && <Text c="dimmed">{children}</Text>}
      {action}
    </Stack>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** Shows an error with its request id and a retry button, for a page or a part of it. */
export function Failure({ error, onRetry }: FailureProps) {
  const { t } = useTranslation('ui');
  if (error instanceof ApiError && error.code === 403) return <Forbidden message={error.message} />;
  if (isMissingPart(error)) return <PartMissing />;
  const isConnectionError = error instanceof ConnectionError;
  const Icon = isConnectionError ? IconPlugConnectedX : IconAlertCircle;
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Stack className={styles['state']} role="alert">
      <Icon size={28} stroke={1.5} className={styles['bad']} />
      <Title order={2}>{t(isConnectionError ? 'connectionLost' : 'failed')}</Title>
      <Text>{isConnectionError ? t('connectionLostHint') : messageOf(error)}</Text>
      {requestId && <RequestId id={requestId} />}
      {onRetry && (
        <Button variant="default" onClick={onRetry}>
          {t('retry')}
        </Button>
      )}
    </Stack>
  );
}

/** A part of the page failed to load, usually because the service was updated after the page was opened. */
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

/** Messages of Chromium, Firefox and Safari for a missing dynamic import. */
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

const SHOWN_TRACE_CHARS = 8;

/** The beginning of a trace id; the whole id is copied. */
export function TraceId({ id }: { readonly id: string }) {
  const { t } = useTranslation('ui');
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="xs" c="dimmed" title={id}>
        {t('trace')} {id.slice(0, SHOWN_TRACE_CHARS)}
      </Text>
      <CopyButton value={id} label={t('copyTraceId')} />
    </Group>
  );
}

interface ForbiddenProps {
  /** The error from the service, if it refused the request. */
  readonly message?: string;
  /** Permissions of which one is sufficient. */
  readonly permissions?: readonly string[];
}

/** Names the missing permission and who can grant it. */
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

/** User-facing message of an error. Errors of the service are already localised. */
export function messageOf(error: unknown): string {
  if (error instanceof ConnectionError) return i18next.t('ui:connectionFailed');
  return error instanceof Error ? error.message : String(error);
}

export function NotFound() {
  const { t } = useTranslation('ui');
  return (
    <Empty
      icon={IconMapPinOff}
      title={t('notFound')}
      action={
        <LinkButton variant="default" to="/">
          {t('toHome')}
        </LinkButton>
      }
    >
      {t('notFoundHint')}
    </Empty>
  );
}

/** Placeholder of a table page while its code or first data is loading. */
export function PageSkeleton() {
  const { t } = useTranslation('ui');
  return (
    <Box className={pageStyles['table']} role="status" aria-label={t('loading')}>
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
