import { Group, Stack, Text } from '@mantine/core';
import { IconInbox } from '@tabler/icons-react';
import type { InboxEntryView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { TextLink } from '../ui/buttons';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { Page } from '../ui/page';
import { DecisionCard } from './decision-card';
import { approvalOf, commandIn } from './event-data';
import styles from './harness.module.css';
import { useBrowserStream } from './stream/browser-stream';
import type { Pending } from './timeline';

/** The page of all decisions pending for this user, oldest first. */
export default function ApprovalsPage() {
  const { t } = useTranslation('harness');
  const { count } = useBrowserStream();
  const { data, error, refetch } = useQuery({
    queryKey: ['approvals', count ?? 0],
    queryFn: ({ signal }) => plinth.approvalWaiting({ signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  const { data: sessions = [] } = useQuery({
    queryKey: ['harness', 'sessions', 'titles'],
    queryFn: ({ signal }) => plinth.harnessSessionList({ query: { pageSize: 1_000 }, signal }),
  });
  const sessionOf = ({ sessionId }: InboxEntryView) =>
    sessions.find((one) => one.sessionId === sessionId);
  return (
    <Page
      title={t('inbox.title')}
      description={t('inbox.description')}
      width="reading"
      above={[{ title: t('title'), path: '/harness' }]}
    >
      {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={3} height={140} />}
      {data?.length === 0 && (
        <Empty icon={IconInbox} title={t('inbox.empty')}>
          {t('inbox.emptyHint')}
        </Empty>
      )}
      <Stack gap="lg" component="ul" className={styles['inbox'] ?? ''}>
        {data?.map((entry) => (
          <li key={keyOf(entry)}>
            <Group gap={6} mb={6}>
              <TextLink
                size="sm"
                to="/harness/$sessionId/$runId"
                params={{ sessionId: entry.sessionId, runId: entry.runId }}
              >
                {sessionOf(entry)?.title ?? t('inbox.openRun')}
              </TextLink>
              <Text size="xs" c="dimmed">
                {sessionOf(entry)?.workspace}
              </Text>
            </Group>
            <Entry entry={entry} model={sessionOf(entry)?.model} onDecided={() => void refetch()} />
          </li>
        ))}
      </Stack>
    </Page>
  );
}

function keyOf({ runId, approvalId, toolCallId, kind }: InboxEntryView): string {
  return `${kind} ${approvalId ?? toolCallId ?? runId}`;
}

interface Props {
  readonly entry: InboxEntryView;
  readonly model: string | undefined;
  readonly onDecided: () => void;
}

function Entry({ entry, model, onDecided }: Props) {
  const { sessionId, runId } = entry;
  const path = { sessionId, runId };
  // Details of plans and uncertain calls that the inbox omits.
  const plan = useQuery({
    queryKey: ['harness', 'plan', runId, entry.canonicalHash],
    queryFn: ({ signal }) => plinth.planGet({ path, signal }),
    enabled: entry.kind === 'PLAN',
  });
  const effects = useQuery({
    queryKey: ['harness', 'effects', runId, 'UNCERTAIN'],
    queryFn: ({ signal }) => plinth.effectList({ path, query: { state: 'UNCERTAIN' }, signal }),
    enabled: entry.kind === 'EFFECT',
  });
  const failed = [plan, effects].find(({ error, data }) => error && !data);
  if (failed) return <Failure error={failed.error} onRetry={() => void failed.refetch()} />;
  const operations = effects.data?.data.find(
    (one) => one.toolCallId === entry.toolCallId,
  )?.operations;
  const item = itemOf(entry, plan.data, operations);
  if (!item) return <RowsSkeleton rows={1} height={140} />;
  return (
    <DecisionCard
      item={item}
      sessionId={sessionId}
      runId={runId}
      model={model}
      options={entry.options ?? []}
      onDecided={onDecided}
    />
  );
}

function itemOf(
  entry: InboxEntryView,
  plan: Awaited<ReturnType<typeof plinth.planGet>> | undefined,
  operations: readonly { readonly path: string; readonly op: string }[] | null | undefined,
): Pending | undefined {
  const { waitingSince: at, toolName = '', argumentsJson = '' } = entry;
  const key = keyOf(entry);
  switch (entry.kind) {
    case 'TOOL':
      return {
        kind: 'approval',
        key,
        at,
        approval: approvalOf(entry, at),
      };
    case 'PLAN':
      if (!plan) return undefined;
      return {
        kind: 'plan',
        key,
        at,
        plan: { ...plan, state: plan.reviewState, hash: plan.canonicalHash, feedback: undefined },
      };
    case 'QUESTION':
      return { kind: 'question', key, at, question: entry.question ?? '', answered: false };
    case 'EFFECT':
      return {
        kind: 'uncertain',
        key,
        at,
        uncertain: {
          toolCallId: entry.toolCallId ?? '',
          toolName,
          reason: '',
          title: commandIn(argumentsJson) || argumentsJson || toolName,
          argumentsJson,
          startedAt: entry.startedAt ?? undefined,
          fileCount: operations?.length,
          files: operations ?? [],
          artifactId: entry.artifactId ?? undefined,
          resolution: undefined,
          note: undefined,
        },
      };
    case 'PROVIDER':
      return {
        kind: 'provider',
        key,
        at,
        resolved: false,
        ...(entry.error ?? { code: '', message: '' }),
      };
  }
}
