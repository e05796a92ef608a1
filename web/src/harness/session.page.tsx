import { ActionIcon, Box, Drawer, Menu, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import {
  IconDotsVertical,
  IconLayoutSidebarRight,
  IconPin,
  IconPinnedOff,
  IconPlayerStop,
  IconRestore,
  IconTrash,
} from '@tabler/icons-react';
import type { HarnessSessionView, RunView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton, IconButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { Failure, PageSkeleton } from '../ui/states';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Composer } from './composer';
import styles from './harness.module.css';
import { RunStatusBadge } from './run-status';
import { RunView as Run } from './run-view';
import { Side } from './side';
import { isEnded } from './timeline';
import type { RunStatus } from './timeline';
import { useTimeline } from './use-timeline';

/** The page of a session: its runs and the live timeline of the selected one. */
export default function SessionPage() {
  const { t } = useTranslation('harness');
  const { sessionId = '', runId } = useParams({ strict: false });
  const session = useQuery({
    queryKey: ['harness', 'session', sessionId],
    queryFn: ({ signal }) => plinth.harnessSessionGet({ path: { sessionId }, signal }),
  });
  const runs = useQuery({
    queryKey: ['harness', 'runs', sessionId],
    queryFn: ({ signal }) =>
      plinth.runList({ path: { sessionId }, query: { pageSize: 100 }, signal }),
  });
  const error = session.error ?? runs.error;
  if (error && (!session.data || !runs.data)) {
    return (
      <Page title={t('title')} above={[{ title: t('title'), path: '/harness' }]}>
        <Failure
          error={error}
          onRetry={() => {
            void session.refetch();
            void runs.refetch();
          }}
        />
      </Page>
    );
  }
  if (!session.data || !runs.data) return <PageSkeleton />;
  const chosen = runId ?? runs.data[0]?.runId;
  return (
    <SessionView key={chosen ?? 'none'} session={session.data} runs={runs.data} runId={chosen} />
  );
}

interface Props {
  readonly session: HarnessSessionView;
  readonly runs: readonly RunView[];
  readonly runId: string | undefined;
}

function SessionView({ session, runs, runId }: Props) {
  const { t } = useTranslation('harness');
  const { sessionId } = session;
  const feed = useTimeline(sessionId, runId);
  const { timeline } = feed;
  const stored = runs.find((one) => one.runId === runId);
  const status = timeline.status ?? stored?.status;
  const isNarrow = useMediaQuery('(max-width: 68em)', false, { getInitialValueInEffect: false });
  const [showing, setShowing] = useState(false);
  const ended = isEnded(status);
  const changes = [
    ['harness', 'session', sessionId],
    ['harness', 'runs', sessionId],
    ['harness', 'sessions'],
  ];
  const cancel = useAction(() => plinth.runCancel({ path: { sessionId, runId: runId ?? '' } }), {
    done: t('run.cancelled'),
    changes,
  });
  useRefreshed(status, sessionId);
  const active =
    runId !== undefined && status && !ended
      ? runId
      : runs.find((one) => one.runId !== runId && !isEnded(one.status))?.runId;
  const side = (
    <Side
      session={session}
      runs={runs}
      runId={runId}
      status={status}
      timeline={timeline}
      onOpen={() => setShowing(false)}
    />
  );
  return (
    <Page
      title={session.title}
      width="full"
      above={[{ title: t('title'), path: '/harness' }]}
      description={
        <span className={styles['facts']}>
          <span>{session.workspace}</span> · <span>{session.model}</span> ·{' '}
          <span>{t(`mode.${session.permissionMode}`)}</span>
        </span>
      }
      actions={
        <>
          {status && <RunStatusBadge status={status} />}
          {runId !== undefined && status && !ended && (
            <ActionButton
              variant="default"
              icon={IconPlayerStop}
              loading={cancel.isPending}
              disabled={timeline.cancelRequested}
              onClick={() => cancel.mutate()}
            >
              {t('run.cancel')}
            </ActionButton>
          )}
          {isNarrow && (
            <IconButton
              icon={IconLayoutSidebarRight}
              label={t('side.show')}
              size="lg"
              onClick={() => setShowing(true)}
            />
          )}
          <SessionMenu session={session} />
        </>
      }
    >
      <div className={styles['columns']}>
        <Box className={styles['main'] ?? ''}>
          <Run key={runId} session={session} runId={runId} feed={feed} status={status} />
          <Composer session={session} activeRunId={active} />
        </Box>
        {!isNarrow && (
          <aside className={styles['side']} aria-label={t('side.label')}>
            {side}
          </aside>
        )}
      </div>
      {isNarrow && (
        <Drawer
          opened={showing}
          onClose={() => setShowing(false)}
          title={t('side.label')}
          size="sm"
        >
          {side}
        </Drawer>
      )}
    </Page>
  );
}

/** Reloads the lists of runs and sessions whenever the run's state changes. */
function useRefreshed(status: RunStatus | undefined, sessionId: string): void {
  const { refetch: session } = useQuery({
    queryKey: ['harness', 'session', sessionId],
    queryFn: ({ signal }) => plinth.harnessSessionGet({ path: { sessionId }, signal }),
    enabled: false,
  });
  const { refetch: runs } = useQuery({
    queryKey: ['harness', 'runs', sessionId],
    queryFn: ({ signal }) =>
      plinth.runList({ path: { sessionId }, query: { pageSize: 100 }, signal }),
    enabled: false,
  });
  useEffect(() => {
    if (status === undefined) return;
    void session();
    void runs();
  }, [status, session, runs]);
}

function SessionMenu({ session }: { readonly session: HarnessSessionView }) {
  const { t } = useTranslation('harness');
  const { sessionId, pinnedAt, deletedAt } = session;
  const navigate = useNavigate();
  const path = { sessionId };
  const changes = [
    ['harness', 'session', sessionId],
    ['harness', 'sessions'],
  ];
  const pin = useAction(
    () => plinth.harnessSessionPin({ path, body: { pinned: pinnedAt === null } }),
    {
      changes,
    },
  );
  const restore = useAction(() => plinth.harnessSessionRestore({ path }), {
    done: t('session.restored'),
    changes,
  });
  const remove = useAction(() => plinth.harnessSessionRemove({ path }), {
    done: t('session.removed'),
    changes,
    after: () => void navigate({ to: '/harness' }),
  });
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon size="lg" aria-label={t('session.menu')}>
          <IconDotsVertical size={18} stroke={1.5} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <MenuItem icon={pinnedAt === null ? IconPin : IconPinnedOff} onClick={() => pin.mutate()}>
          {t(pinnedAt === null ? 'session.pin' : 'session.unpin')}
        </MenuItem>
        {deletedAt === null ? (
          <MenuItem
            color="red"
            icon={IconTrash}
            onClick={() => confirmRemoval(t, session, () => remove.mutateAsync())}
          >
            {t('session.remove')}
          </MenuItem>
        ) : (
          <MenuItem icon={IconRestore} onClick={() => restore.mutate()}>
            {t('session.restore')}
          </MenuItem>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

type Translate = ReturnType<typeof useTranslation<'harness'>>['t'];

/** Deleting a session cancels only its unfinished run; the session itself can be restored. */
export function confirmRemoval(
  t: Translate,
  { title, activeRunId }: Pick<HarnessSessionView, 'title' | 'activeRunId'>,
  run: () => Promise<unknown>,
): void {
  if (activeRunId === null) {
    void run().catch(() => undefined);
    return;
  }
  confirmDestruction({
    title: t('session.removeTitle', { title }),
    body: <Text>{t('session.removeActive')}</Text>,
    action: t('session.remove'),
    run,
  });
}
