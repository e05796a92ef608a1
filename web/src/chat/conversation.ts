import type { MessageView } from '@plinth/client';
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import type { Conversation } from './data';

/** Updates a loaded message after a change that the service does not return. */
export function changeMessage(
  queries: QueryClient,
  queryKey: QueryKey,
  id: string,
  change: Partial<MessageView>,
): void {
  queries.setQueriesData<Conversation>(
    { queryKey },
    (conversation) =>
      conversation && {
        ...conversation,
        messages: conversation.messages.map((message) =>
          message.id === id ? { ...message, ...change } : message,
        ),
      },
  );
}
