import { Alert, Group, Loader, Stack, Text } from '@mantine/core';
import { IconArrowDown, IconCode, IconPlugConnectedX } from '@tabler/icons-react';
import type { HarnessSessionView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { Empty, RowsSkeleton } from '../ui/states';
import { DecisionCard, isFree } from './decision-card';
import styles from './harness.module.css';
import { useBrowserStream } from './stream/browser-stream';
import { isEnded, pendingOf } from './timeline';
import type { Pending, RunStatus } from './timeline';
import { TimelineItem } from './timeline-item';
import type { RunFeed } from './use-timeline';

interface Props {
  readonly session: HarnessSessionView;
  readonly runId: string | undefined;
  readonly feed: RunFeed;
  readonly status: RunStatus | undefined;
}

/** The timeline of a run with its pending decisions below. */
export function RunView({ session, runId, feed, status }: Props) {
  const { t } = useTranslation('harness');
  const { timeline, state } = feed;
  const { connection } = useBrowserStream();
  const list = useRef<HTMLDivElement>(null);
  const pending = pendingOf(timeline);
  const working = status === 'RUNNING' || status === 'QUEUED';
  useStepKeys(list);
  const { atEnd, toEnd } = useFollowedEnd(list, state !== 'replaying', isEnded(status));

  if (runId === undefined) {
    return (
      <Empty icon={IconCode} title={t('run.none')}>
        {t('run.noneHint')}
      </Empty>
    );
  }
  if (state === 'gone') {
    return (
      <Alert color="yellow" mb="md">
        {feed.message ?? t('run.gone')}
      </Alert>
    );
  }
  return (
    <>
      <p className="only-for-readers">{t('keys.hint')}</p>
      {connection === 'reconnecting' && (
        <Alert
          color="yellow"
          mb="sm"
          role="status"
          icon={<IconPlugConnectedX size={18} stroke={1.5} />}
        >
          {t('connection.reconnecting')}
        </Alert>
      )}
      {timeline.items.length === 0 && <RowsSkeleton rows={6} height={44} />}
      <div ref={list} className={styles['timeline']} role="list" aria-label={t('timeline')}>
        {timeline.items.map((item) => (
          <div
            key={item.key}
            role="listitem"
            tabIndex={-1}
            data-step
            data-kind={item.kind}
            className={styles['entry']}
          >
            <TimelineItem item={item} sessionId={session.sessionId} runId={runId} />
          </div>
        ))}
      </div>
      {working && timeline.items.length > 0 && (
        <Group gap={8} py="xs" role="status">
          <Loader size={14} type="dots" />
          <Text size="sm" c="dimmed">
            {t(
              timeline.cancelRequested
                ? 'run.cancelling'
                : status === 'QUEUED'
                  ? 'run.queued'
                  : timeline.phase === 'PLAN'
                    ? 'run.planning'
                    : 'run.working',
            )}
          </Text>
        </Group>
      )}
      <div className={styles['dock']} id="decision">
        {!atEnd && !isEnded(status) && (
          <ActionButton
            size="xs"
            variant="default"
            className={styles['toEnd'] ?? ''}
            icon={IconArrowDown}
            onClick={toEnd}
          >
            {t('toLatest')}
          </ActionButton>
        )}
        <Decisions session={session} runId={runId} model={timeline.model} pending={pending} />
      </div>
      <div aria-live="polite" className="only-for-readers">
        {pending.length > 0 ? t('waiting', { count: pending.length }) : ''}
      </div>
    </>
  );
}

interface DecisionsProps {
  readonly session: HarnessSessionView;
  readonly runId: string;
  readonly model: string;
  readonly pending: readonly Pending[];
}

/** Shows the first pending decision and the number of further ones. */
function Decisions({ session: { sessionId }, runId, model, pending }: DecisionsProps) {
  const { t } = useTranslation('harness');
  const [first] = pending;
  const { data: run } = useQuery({
    queryKey: ['harness', 'run', runId, first?.key],
    queryFn: ({ signal }) => plinth.runGet({ path: { sessionId, runId }, signal }),
    // The record of the run has details that are not in the events of these two.
    enabled: first?.kind === 'question' || first?.kind === 'provider',
  });
  if (!first) return null;
  return (
    <Stack gap={6}>
      <DecisionCard
        key={first.key}
        item={first}
        sessionId={sessionId}
        runId={runId}
        model={model}
        options={run?.question?.options ?? []}
        reason={run?.error?.message}
        keys
      />
      {pending.length > 1 && (
        <Text size="xs" c="dimmed" ta="center">
          {t('moreWaiting', { count: pending.length - 1 })}
        </Text>
      )}
    </Stack>
  );
}

/** The keys j and k move between the steps. */
function useStepKeys(list: React.RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const by = { j: 1, k: -1 }[event.key];
      if (by === undefined || !list.current || !isFree(event)) return;
      const steps = [...list.current.querySelectorAll<HTMLElement>('[data-step]')];
      const now = steps.findIndex((step) => step.contains(document.activeElement));
      const next = steps[now < 0 ? (by > 0 ? 0 : steps.length - 1) : now + by];
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: 'center' });
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [list]);
}

/** Within this distance from the end, the reader counts as being at the end. */
const FOLLOW_DISTANCE_PX = 160;

/** Input that cancels following after a run has ended. */
const READING = ['wheel', 'pointerdown', 'keydown', 'touchstart'] as const;

/**
 * Keeps the end in view while the timeline grows, unless the reader has scrolled up. If a run ends while it is open, its
 * last message and summary are followed, too. A run that had already ended is shown from its beginning.
 */
function useFollowedEnd(
  list: React.RefObject<HTMLDivElement | null>,
  isLive: boolean,
  hasEnded: boolean,
): { atEnd: boolean; toEnd: () => void } {
  const wasFollowed = useRef(false);
  if (isLive && !hasEnded) wasFollowed.current = true;
  const follows = isLive && wasFollowed.current;
  const [atEnd, setAtEnd] = useState(true);
  const isFollowing = useRef(true);
  const toEnd = useCallback(() => {
    isFollowing.current = true;
    setAtEnd(true);
    scrollTo({ top: document.documentElement.scrollHeight });
  }, []);
  useEffect(() => {
    const updatePosition = (): void => {
      const { scrollHeight, clientHeight } = document.documentElement;
      isFollowing.current = scrollHeight - clientHeight - scrollY < FOLLOW_DISTANCE_PX;
      setAtEnd(isFollowing.current);
    };
    addEventListener('scroll', updatePosition, { passive: true });
    return () => removeEventListener('scroll', updatePosition);
  }, []);
  useEffect(() => {
    const grown = list.current;
    if (!follows || !grown) return;
    const follow = (): void => {
      if (isFollowing.current) scrollTo({ top: document.documentElement.scrollHeight });
    };
    // Diffs render later than their step and change its height.
    const observer = new ResizeObserver(follow);
    observer.observe(grown);
    follow();
    const stop = (): void => {
      observer.disconnect();
      for (const name of READING) removeEventListener(name, stop);
    };
    if (hasEnded) for (const name of READING) addEventListener(name, stop, { passive: true });
    return stop;
  }, [list, follows, hasEnded]);
  return { atEnd, toEnd };
}
