import { ActionIcon, Button, Menu, ScrollArea, Skeleton, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import type { SessionView } from '@plinth/client';
import { IconDots, IconPencil, IconPlus, IconSearch, IconTrash } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Failure } from '../ui/states';
import { MenuItem } from '../ui/menu-item';
import { momentOf } from '../ui/time';
import { sessionsKey, sessionsQuery } from './data';
import { clearDeletion, deleteLater, noticeOf, UNDO_MS, useDeleted } from './deletions';
import { Hits } from './hits';
import styles from './sessions.module.css';

const SEARCH_MS = 250;
const DAY_MS = 86_400_000;
const AGES = ['today', 'week', 'older'] as const;
type Age = (typeof AGES)[number];

interface Props {
  readonly current: string | undefined;
  /** Runs when a session is opened, for example to close the surrounding drawer. */
  readonly onOpen?: () => void;
}

/** The sessions of the user, newest first. */
export function Sessions({ current, onOpen }: Props) {
  const { t } = useTranslation('chat');
  const [search, setSearch] = useState('');
  const [searchText] = useDebouncedValue(search.trim(), SEARCH_MS);
  const deleted = useDeleted();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    {
      ...sessionsQuery(searchText),
      placeholderData: keepPreviousData,
    },
  );
  const sessions = useMemo(() => {
    const rows = (data?.pages ?? []).flatMap((page) => page.rows);
    // A session that was used between two requests appears on two pages.
    const unique = new Map(rows.map((row) => [row.id, row]));
    return [...unique.values()].filter(({ id }) => !deleted.has(id));
  }, [data, deleted]);
  const groups = Map.groupBy(sessions, ageOf);
  return (
    <nav className={styles['panel']} aria-label={t('session.title')}>
      <div className={styles['head']}>
        <LinkButton fullWidth variant="default" icon={IconPlus} to="/chat" onClick={onOpen}>
          {t('session.new')}
        </LinkButton>
        <TextInput
          type="search"
          aria-label={t('session.search')}
          placeholder={t('session.search')}
          leftSection={<IconSearch size={16} stroke={1.5} />}
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </div>
      <ScrollArea className={styles['list']} scrollbarSize={6} type="hover">
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {!data && !error && <SessionsSkeleton />}
        {data && sessions.length === 0 && (
          <Text size="sm" c="dimmed" className={styles['nothing']}>
            {t(searchText ? 'session.noMatch' : 'session.none')}
          </Text>
        )}
        {AGES.map((age) => {
          const group = groups.get(age);
          return (
            group && (
              <section key={age} aria-label={t(`session.${age}`)}>
                <h2 className={styles['age']}>{t(`session.${age}`)}</h2>
                <ul className={styles['rows']}>
                  {group.map((session) => (
                    <SessionRow
                      key={session.id}
                      session={session}
                      isCurrent={session.id === current}
                      onOpen={onOpen}
                    />
                  ))}
                </ul>
              </section>
            )
          );
        })}
        <Hits text={searchText} onOpen={onOpen} />
        {hasNextPage && (
          <Button
            fullWidth
            variant="subtle"
            color="gray"
            size="xs"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            {t('session.more')}
          </Button>
        )}
      </ScrollArea>
    </nav>
  );
}

function ageOf({ updateTime }: SessionView): Age {
  const moment = momentOf(updateTime);
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  if (moment >= midnight) return 'today';
  return moment.getTime() >= midnight.getTime() - 6 * DAY_MS ? 'week' : 'older';
}

interface RowProps {
  readonly session: SessionView;
  readonly isCurrent: boolean;
  readonly onOpen: (() => void) | undefined;
}

function SessionRow({ session, isCurrent, onOpen }: RowProps) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const navigate = useNavigate();
  const [renaming, setRenaming] = useState(false);
  const title = session.sessionTitle || t('session.untitled');
  const mayRename = may('system:session:edit');
  const mayDelete = may('system:session:remove');
  const remove = (): void => {
    deleteLater(session.id);
    if (isCurrent) void navigate({ to: '/chat' });
    notifications.show({
      id: noticeOf(session.id),
      autoClose: UNDO_MS,
      withBorder: true,
      message: (
        <span className={styles['undo']}>
          <span>{t('session.deleted', { title })}</span>
          <Button size="compact-sm" variant="light" onClick={() => clearDeletion(session.id)}>
            {t('session.undo')}
          </Button>
        </span>
      ),
    });
  };
  if (renaming) {
    return (
      <li className={styles['row']}>
        <RenameField session={session} onClose={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li className={isCurrent ? styles['current'] : styles['row']}>
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: session.id }}
        className={styles['link'] ?? ''}
        aria-current={isCurrent ? 'page' : undefined}
        title={title}
        onClick={onOpen}
        onDoubleClick={() => mayRename && setRenaming(true)}
      >
        {title}
      </Link>
      {(mayRename || mayDelete) && (
        <Menu width={180}>
          <Menu.Target>
            <ActionIcon
              size="sm"
              className={styles['menu'] ?? ''}
              aria-label={t('session.actions', { title })}
            >
              <IconDots size={16} stroke={1.5} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {mayRename && (
              <MenuItem icon={IconPencil} onClick={() => setRenaming(true)}>
                {t('session.rename')}
              </MenuItem>
            )}
            {mayDelete && (
              <MenuItem color="red" icon={IconTrash} onClick={remove}>
                {t('session.delete')}
              </MenuItem>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
    </li>
  );
}

/** Renames a session. Enter or leaving the field saves the name; Escape restores the old one. */
function RenameField({
  session,
  onClose,
}: {
  readonly session: SessionView;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation('chat');
  const field = useRef<HTMLInputElement>(null);
  const [title, setTitle] = useState(session.sessionTitle);
  const isOver = useRef(false);
  const rename = useAction(
    (sessionTitle: string) =>
      plinth.sessionUpdate({ body: { id: Number(session.id), sessionTitle } }),
    { changes: [sessionsKey, ['chat', 'session', session.id]], after: onClose },
  );
  // Waits until the menu has returned the focus to its button.
  useEffect(() => {
    const timer = setTimeout(() => field.current?.select());
    return () => clearTimeout(timer);
  }, []);
  const keep = (): void => {
    if (isOver.current) return;
    isOver.current = true;
    const newTitle = title.trim();
    if (newTitle === '' || newTitle === session.sessionTitle) onClose();
    else rename.mutate(newTitle, { onError: onClose });
  };
  return (
    <TextInput
      ref={field}
      size="xs"
      className={styles['rename'] ?? ''}
      aria-label={t('session.name')}
      maxLength={255}
      value={title}
      disabled={rename.isPending}
      onChange={({ currentTarget }) => setTitle(currentTarget.value)}
      onBlur={keep}
      onKeyDown={({ key, nativeEvent }) => {
        if (key === 'Enter' && !nativeEvent.isComposing) keep();
        if (key === 'Escape') {
          isOver.current = true;
          onClose();
        }
      }}
    />
  );
}

function SessionsSkeleton() {
  return (
    <div aria-hidden className={styles['skeleton']}>
      {[70, 90, 55, 80, 65, 85].map((width) => (
        <Skeleton key={width} height={16} width={`${width}%`} />
      ))}
    </div>
  );
}
