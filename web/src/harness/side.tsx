import { Button, Progress, Stack, Text } from '@mantine/core';
import type { HarnessSessionView, RunView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { number, shortNumber } from '../ui/format';
import { TraceId } from '../ui/states';
import { Time } from '../ui/time';
import type { Usage } from './event-data';
import { FileTree } from './file-tree';
import styles from './harness.module.css';
import { timeOf } from './key';
import { StatusIcon } from './run-status';
import type { RunStatus, Timeline } from './timeline';

interface Props {
  readonly session: HarnessSessionView;
  readonly runs: readonly RunView[];
  readonly runId: string | undefined;
  readonly status: RunStatus | undefined;
  readonly timeline: Timeline;
  readonly onOpen: () => void;
}

/** Side panel of the timeline: changed files, usage, the session's runs and its permissions. */
export function Side({ session, runs, runId, status, timeline, onOpen }: Props) {
  const { t } = useTranslation('harness');
  const { sessionId } = session;
  const traceId = runs.find((run) => run.runId === runId)?.traceId;
  return (
    <Stack gap="lg">
      {runId !== undefined && (
        <section aria-labelledby="side-files">
          <h2 className={styles['sideTitle']} id="side-files">
            {t('files.title')}
          </h2>
          <FileTree sessionId={sessionId} runId={runId} changes={timeline.fileChanges} />
        </section>
      )}
      {timeline.usage && <UsageFigures usage={timeline.usage} />}
      {traceId && <TraceId id={traceId} />}
      <section aria-labelledby="side-runs">
        <h2 className={styles['sideTitle']} id="side-runs">
          {t('runs.title')}
        </h2>
        {runs.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('runs.none')}
          </Text>
        )}
        <ul className={styles['runs']}>
          {runs.map((run) => (
            <li key={run.runId}>
              <Link
                to="/harness/$sessionId/$runId"
                params={{ sessionId, runId: run.runId }}
                className={styles['run']}
                aria-current={run.runId === runId ? 'page' : undefined}
                onClick={onOpen}
              >
                <StatusIcon status={(run.runId === runId && status) || run.status} />
                <span className={styles['runTitle']}>{run.originalRequirement}</span>
                <Time value={timeOf(run.createdAt)} size="xs" />
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <Grants sessionId={sessionId} />
    </Stack>
  );
}

function UsageFigures({ usage }: { readonly usage: Usage }) {
  const { t } = useTranslation('harness');
  const { inputTokens, outputTokens, cost, contextUsed, contextLimit } = usage;
  const share = contextUsed && contextLimit ? (100 * contextUsed) / contextLimit : undefined;
  return (
    <section aria-labelledby="side-usage">
      <h2 className={styles['sideTitle']} id="side-usage">
        {t('usage.title')}
      </h2>
      <dl className={styles['usage']}>
        <dt>{t('usage.input')}</dt>
        <dd>{number(inputTokens)}</dd>
        <dt>{t('usage.output')}</dt>
        <dd>{number(outputTokens)}</dd>
        {cost !== undefined && (
          <>
            <dt>{t('summary.cost')}</dt>
            <dd>{number(cost, 4)}</dd>
          </>
        )}
      </dl>
      {share !== undefined && (
        <>
          <Progress
            value={share}
            size="sm"
            mt={6}
            color={share > 75 ? 'yellow' : 'indigo'}
            aria-label={t('usage.window')}
          />
          <Text size="xs" c="dimmed" mt={4}>
            {t('usage.windowOf', {
              used: shortNumber(contextUsed ?? 0),
              all: shortNumber(contextLimit ?? 0),
            })}
          </Text>
        </>
      )}
    </section>
  );
}

/** Lists approvals that apply to the whole session until revoked. */
function Grants({ sessionId }: { readonly sessionId: string }) {
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const key = ['harness', 'grants', sessionId];
  const { data = [] } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => plinth.grantList({ path: { sessionId }, signal }),
    refetchInterval: 15_000,
  });
  const revoke = useAction(
    (grantId: string) => plinth.grantRevoke({ path: { sessionId, grantId } }),
    {
      done: t('grants.revoked'),
      changes: [key],
    },
  );
  if (data.length === 0) return null;
  return (
    <section aria-labelledby="side-grants">
      <h2 className={styles['sideTitle']} id="side-grants">
        {t('grants.title')}
      </h2>
      <ul className={styles['grants']}>
        {data.map(({ grantId, kind, subject, createdAt }) => (
          <li key={grantId}>
            <div className={styles['grow']}>
              <Text size="xs" c="dimmed">
                {t(`grants.${kind}`)} · <Time value={timeOf(createdAt)} size="xs" />
              </Text>
              <code className={styles['mono']}>{subject}</code>
            </div>
            {may('coding:harness:approve') && (
              <Button
                size="compact-xs"
                variant="default"
                aria-label={t('grants.revokeThis', { subject })}
                loading={revoke.isPending && revoke.variables === grantId}
                onClick={() => revoke.mutate(grantId)}
              >
                {t('grants.revoke')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
