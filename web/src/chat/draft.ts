import type { ChatSendBody } from '@plinth/client';
import { queryClient } from '../app/query-client';
import { meQuery } from '../app/me';
import type { AttachedFile } from './turn';

/** An unsent message, stored in the browser for each user and session. */
export interface Draft {
  readonly text: string;
  readonly files: readonly AttachedFile[];
}

/** The model or agent that answers and the knowledge base that it uses. */
export type Choice = Pick<ChatSendBody, 'model' | 'agentId' | 'knowledgeId' | 'enableThinking'>;

const EMPTY: Draft = { text: '', files: [] };
const listeners = new Set<(key: string, draft: Draft) => void>();

export interface StoredValue<Value> {
  readonly key: string;
  readonly read: () => Value;
  readonly write: (value: Value) => void;
}

export function draftOf(sessionId: string | undefined): StoredValue<Draft> {
  const key = keyFor('draft', sessionId);
  return {
    key,
    read: () => ({ ...EMPTY, ...(stored(key) as Partial<Draft> | undefined) }),
    write: (draft) => {
      const isEmpty = draft.text === '' && draft.files.length === 0;
      keep(key, isEmpty ? undefined : draft);
      for (const listener of listeners) listener(key, draft);
    },
  };
}

/** Calls the listener for every written draft, even if the browser's storage is full. */
export function onDraft(listener: (key: string, draft: Draft) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The choice of a session, undefined if none was made in this browser; without a session, that of the last message. */
export function choiceOf(sessionId: string | undefined): StoredValue<Choice | undefined> {
  const key = keyFor('choice', sessionId);
  return {
    key,
    read: () => stored(key) as Choice | undefined,
    write: (choice) => keep(key, choice),
  };
}

/** Removes everything stored for a deleted session. */
export function forgetSession(sessionId: string): void {
  keep(keyFor('draft', sessionId), undefined);
  keep(keyFor('choice', sessionId), undefined);
}

function keyFor(what: string, sessionId: string | undefined): string {
  const user = queryClient.getQueryData(meQuery.queryKey)?.user;
  return `plinth.chat.${what}.${user?.tenantId ?? ''}.${user?.userId ?? ''}.${sessionId ?? 'new'}`;
}

function stored(key: string): unknown {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? 'null') as unknown) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(key: string, value: object | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // The browser's storage is full. The text stays in the page.
  }
}
