import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { IconArrowBackUp, IconArrowForwardUp, IconFileText } from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import type { RunReportView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { CopyButton } from '../ui/copy-button';
import { saveFile } from '../ui/download';
import { Failure } from '../ui/states';
import { duration, number } from '../ui/format';
import { notifyFailure } from '../ui/notify';
import styles from './harness.module.css';
import { Lines } from './lines';
import { Prose } from './prose';
import { StatusIcon } from './run-status';
import type { Item } from './timeline';

interface Props {
  readonly item: Extract<Item, { kind: 'end' }>;
  readonly sessionId: string;
  readonly runId: string;
}

/** Summary of a finished run: files, commands, tokens, cost and available actions. */
export function RunSummary({ item, sessionId, runId }: Props) {
  const { t, i18n } = useTranslation('harness');
  const [reading, setReading] = useState(false);
  const { data: report, error } = useQuery({
    queryKey: ['harness', 'report', runId],
    queryFn: async ({ signal }) => {
      const answer = await plinth.reportGet({ path: { sessionId, runId }, signal });
      return answer as RunReportView;
    },
    staleTime: Infinity,
  });
  const reason = `stop.${item.stopReason}`;
  return (
    <section className={styles['summary']} aria-label={t('summary.label')}>
      <Group gap={8} mb="xs">
        <StatusIcon status={item.status} />
        <Text fw={600}>
          {i18n.exists(reason, { ns: 'harness' }) ? t(reason as 'stop.END_TURN') : item.stopReason}
        </Text>
      </Group>
      {item.error && (
        <Text size="sm" mb="xs" className={styles['bad']}>
          {report?.error?.message || item.error.message}
        </Text>
      )}
      {report ? (
        <Figures report={report} />
      ) : error ? (
        <Failure error={error} />
      ) : (
        <Skeleton height={48} />
      )}
      <Group gap="xs" mt="sm">
        <UndoButtons sessionId={sessionId} runId={runId} />
        <ActionButton variant="default" icon={IconFileText} onClick={() => setReading(true)}>
          {t('summary.report')}
        </ActionButton>
      </Group>
      {reading && (
        <ReportDialog sessionId={sessionId} runId={runId} onClose={() => setReading(false)} />
      )}
    </section>
  );
}

function Figures({ report }: { readonly report: RunReportView }) {
  const { t } = useTranslation('harness');
  const { usage, fileCount, toolCalls } = report;
  const commands = toolCalls.filter(({ effectClass }) => effectClass === 'SHELL');
  const sum = (name: 'additions' | 'deletions'): number =>
    report.files.reduce((total, file) => total + (file[name] ?? 0), 0);
  return (
    <Stack gap="xs">
      <dl className={styles['figures']}>
        <div>
          <dt>{t('summary.files')}</dt>
          <dd>
            {number(fileCount)}{' '}
            {fileCount > 0 && !report.moreFiles && (
              <Lines additions={sum('additions')} deletions={sum('deletions')} />
            )}
          </dd>
        </div>
        <div>
          <dt>{t('summary.tokens')}</dt>
          <dd>{number(usage.totalTokens)}</dd>
        </div>
        <div>
          <dt>{t('summary.cost')}</dt>
          <dd>{usage.cost === null ? '–' : number(usage.cost, 4)}</dd>
        </div>
        <div>
          <dt>{t('summary.time')}</dt>
          <dd>{duration(usage.activeMillis)}</dd>
        </div>
        <div>
          <dt>{t('summary.steps')}</dt>
          <dd>{t('summary.turns', { count: usage.iterations, calls: usage.toolCalls })}</dd>
        </div>
      </dl>
      {commands.length > 0 && (
        <ul className={styles['lines']} aria-label={t('summary.commands')}>
          {commands.slice(-8).map((call) => (
            <li key={call.toolCallId}>
              <code className={styles['mono']}>{call.title ?? call.toolName}</code>
              <Text span size="xs" className={styles[call.exitCode === 0 ? 'good' : 'bad'] ?? ''}>
                {call.exitCode === null
                  ? t(`call.${call.state as 'TIMED_OUT'}`)
                  : t('command.exit', { code: call.exitCode })}
              </Text>
            </li>
          ))}
        </ul>
      )}
    </Stack>
  );
}

/** Buttons that undo or redo all changes of the run. */
function UndoButtons({ sessionId, runId }: Omit<Props, 'item'>) {
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const [blocked, setBlocked] = useState<readonly { path: string; message: string }[]>([]);
  const { data: files } = useQuery({
    queryKey: ['harness', 'files', runId],
    queryFn: ({ signal }) => plinth.changeFiles({ path: { sessionId, runId }, signal }),
  });
  const rows = files?.data ?? [];
  const canUndo = rows.some(({ changeIds }) => changeIds.length > 0);
  const canRedo = rows.some(({ undoneChangeIds }) => undoneChangeIds.length > 0);
  const path = { sessionId, runId };
  const changes = [['harness', 'files', runId]];
  const undo = useAction((force: boolean) => plinth.undoApply({ path, body: { force } }), {
    done: ({ files: done }) => t('undo.done', { count: done.length }),
    changes,
    after: () => setBlocked([]),
    onFailure: (error) => {
      const conflicts = error instanceof ApiError ? conflictsOf(error) : [];
      if (conflicts.length > 0) setBlocked(conflicts);
      else notifyFailure(error);
    },
  });
  const redo = useAction(() => plinth.undoRedo({ path, body: {} }), {
    done: ({ files: done }) => t('undo.redone', { count: done.length }),
    changes,
  });
  if (!may('coding:harness:write')) return null;
  return (
    <>
      {canUndo && (
        <ActionButton
          variant="default"
          icon={IconArrowBackUp}
          loading={undo.isPending}
          onClick={() => undo.mutate(false)}
        >
          {t('undo.all')}
        </ActionButton>
      )}
      {canRedo && (
        <ActionButton
          variant="default"
          icon={IconArrowForwardUp}
          loading={redo.isPending}
          onClick={() => redo.mutate()}
        >
          {t('undo.redo')}
        </ActionButton>
      )}
      {blocked.length > 0 && (
        <Modal opened onClose={() => setBlocked([])} title={t('undo.blocked')}>
          <Stack>
            <Text size="sm">{t('undo.blockedHint')}</Text>
            <ul className={styles['paths']}>
              {blocked.map((one) => (
                <li key={one.path}>
                  {one.path}: {one.message}
                </li>
              ))}
            </ul>
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setBlocked([])}>
                {t('undo.keep')}
              </Button>
              <Button loading={undo.isPending} onClick={() => undo.mutate(true)}>
                {t('undo.rest')}
              </Button>
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  );
}

function conflictsOf(error: ApiError): readonly { path: string; message: string }[] {
  const { conflicts = [] } = (error.data ?? {}) as {
    readonly conflicts?: readonly { path: string; message: string }[];
  };
  return conflicts;
}

function ReportDialog({
  sessionId,
  runId,
  onClose,
}: Omit<Props, 'item'> & { readonly onClose: () => void }) {
  const { t } = useTranslation('harness');
  const { data, error, refetch } = useQuery({
    queryKey: ['harness', 'report-text', runId],
    queryFn: async ({ signal }) => {
      const query = { format: 'markdown' } as const;
      const file = (await plinth.reportGet({ path: { sessionId, runId }, query, signal })) as File;
      return { file, text: await file.text() };
    },
  });
  return (
    <Modal opened onClose={onClose} size="xl" title={t('summary.reportTitle')}>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && !error && <Skeleton height={240} />}
      {data !== undefined && (
        <Stack>
          <Group gap="xs">
            <Button variant="default" onClick={() => saveFile(data.file)}>
              {t('summary.download')}
            </Button>
            <CopyButton value={data.text} label={t('summary.copy')} />
          </Group>
          <Prose text={data.text} />
        </Stack>
      )}
    </Modal>
  );
}
