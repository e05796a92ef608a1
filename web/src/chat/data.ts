import type { MessageView, SessionView } from '@plinth/client';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { plinth } from '../app/plinth';

const SESSIONS_PER_PAGE = 50;
const MAX_CHOICES = 200;
/** Maximum page size of messages at the service. */
export const MESSAGES_PER_PAGE = 1_000;

export const sessionsKey = ['chat', 'sessions'] as const;

export function sessionsQuery(search: string) {
  return infiniteQueryOptions({
    queryKey: [...sessionsKey, search],
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      plinth.sessionList({
        query: {
          pageNum: pageParam,
          pageSize: SESSIONS_PER_PAGE,
          orderByColumn: 'updateTime,id',
          isAsc: 'desc',
          ...(search && { sessionTitle: search }),
        },
        signal,
      }),
    getNextPageParam: ({ total }, pages) =>
      pages.length * SESSIONS_PER_PAGE < total ? pages.length + 1 : undefined,
  });
}

/** Whether the tenant lets chats be temporary. */
export const temporaryQuery = queryOptions({
  queryKey: ['retention', 'own'],
  queryFn: ({ signal }) => plinth.ownRetentionRules({ signal }),
  staleTime: 60_000,
});

export function sessionQuery(id: string) {
  return queryOptions({
    queryKey: ['chat', 'session', id],
    queryFn: ({ signal }): Promise<SessionView> =>
      plinth.sessionGet({ path: { id: Number(id) }, signal }),
  });
}

export interface Conversation {
  /** Messages of the current branch, oldest first. */
  readonly messages: readonly MessageView[];
  /** Number of earlier messages of the branch. */
  readonly earlier: number;
}

export function conversationKey(sessionId: string) {
  return ['chat', 'messages', sessionId] as const;
}

/** Query of the newest messages of the current branch. */
export function conversationQuery(sessionId: string, pages = 1) {
  return queryOptions({
    queryKey: [...conversationKey(sessionId), pages],
    queryFn: async ({ signal }): Promise<Conversation> => {
      const messages: MessageView[] = [];
      let all = 0;
      for (let pageNum = 1; pageNum <= pages; pageNum += 1) {
        const { rows, total } = await plinth.messageList({
          query: {
            sessionId: Number(sessionId),
            inline: false,
            pageNum,
            pageSize: MESSAGES_PER_PAGE,
            orderByColumn: 'id',
            isAsc: 'desc',
          },
          signal,
        });
        messages.unshift(...rows.toReversed());
        all = total;
      }
      return { messages, earlier: Math.max(0, all - messages.length) };
    },
    // Never stale: this tab's turns, other tabs and the session's state report changes.
    staleTime: 30_000,
  });
}

// The keys share a prefix with the records' own pages, so that changes there reload these queries.

export const modelsQuery = queryOptions({
  queryKey: ['models', 'options', 'chat'],
  queryFn: async ({ signal }) =>
    (await plinth.modelOptions({ query: { category: 'chat', pageSize: MAX_CHOICES }, signal }))
      .rows,
  staleTime: 60_000,
});

export const agentsQuery = queryOptions({
  queryKey: ['agents', 'options'],
  queryFn: ({ signal }) => plinth.agentOptions({ signal }),
  staleTime: 60_000,
});

export const basesQuery = queryOptions({
  queryKey: ['knowledge', 'list', 'chat'],
  queryFn: async ({ signal }) =>
    (await plinth.knowledgeList({ query: { pageNum: 1, pageSize: MAX_CHOICES }, signal })).rows,
  staleTime: 60_000,
});
