import { Highlight, Text } from '@mantine/core';
import type { MessageView } from '@plinth/client';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { sessionQuery, sessionsKey } from './data';
import { useDeleted } from './deletions';
import styles from './sessions.module.css';

/** Fewer characters are in nearly every message. */
const MIN_SEARCH_CHARS = 2;
const MAX_HITS = 20;
/** Characters that are shown before and after a hit. */
const AROUND_CHARS = 40;

interface Props {
  readonly text: string;
  readonly onOpen: (() => void) | undefined;
}

/** The newest messages of the user that have the text. Each leads to its place in its session. */
export function Hits({ text, onOpen }: Props) {
  const { t } = useTranslation('chat');
  const deleted = useDeleted();
  const { data } = useQuery({
    queryKey: [...sessionsKey, 'hits', text],
    enabled: text.length >= MIN_SEARCH_CHARS,
    queryFn: async ({ signal }) => {
      const { rows, total } = await plinth.messageList({
        query: {
          content: text,
          inline: false,
          pageNum: 1,
          pageSize: MAX_HITS,
          orderByColumn: 'id',
          isAsc: 'desc',
        },
        signal,
      });
      return { hits: rows.flatMap((message) => hitOf(message, text)), total };
    },
  });
  const hits = data?.hits.filter(({ sessionId }) => !deleted.has(sessionId)) ?? [];
  const sessionIds = [...new Set(hits.map(({ sessionId }) => sessionId))];
  const titles = useQueries({
    queries: sessionIds.map((id) => sessionQuery(id)),
    combine: (results) =>
      new Map(results.map(({ data: session }) => [session?.id, session?.sessionTitle])),
  });
  if (!data || hits.length === 0) return null;
  return (
    <section aria-label={t('session.hits')}>
      <h2 className={styles['age']}>{t('session.hits')}</h2>
      <ul className={styles['rows']}>
        {hits.map(({ sessionId, messageId, excerpt }) => (
          <li key={messageId} className={styles['row']}>
            <Link
              to="/chat/$sessionId"
              params={{ sessionId }}
              search={{ message: messageId } as never}
              className={styles['hit'] ?? ''}
              onClick={onOpen}
            >
              <span className={styles['hitTitle']}>
                {titles.get(sessionId) || t('session.untitled')}
              </span>
              <Highlight component="span" size="xs" c="dimmed" highlight={text}>
                {excerpt}
              </Highlight>
            </Link>
          </li>
        ))}
      </ul>
      {data.total > MAX_HITS && (
        <Text size="xs" c="dimmed" className={styles['nothing']}>
          {t('session.moreHits', { shown: MAX_HITS, count: data.total })}
        </Text>
      )}
    </section>
  );
}

interface Hit {
  readonly sessionId: string;
  readonly messageId: string;
  readonly excerpt: string;
}

/** None for a message without a session, such as one of an API key. */
function hitOf({ id, sessionId, content }: MessageView, text: string): Hit[] {
  if (sessionId === null) return [];
  const at = Math.max(0, content.toLowerCase().indexOf(text.toLowerCase()));
  const begin = Math.max(0, at - AROUND_CHARS);
  const end = at + text.length + AROUND_CHARS;
  const middle = content.slice(begin, end).replaceAll(/\s+/g, ' ').trim();
  const excerpt = `${begin > 0 ? '…' : ''}${middle}${end < content.length ? '…' : ''}`;
  return [{ sessionId, messageId: id, excerpt }];
}
