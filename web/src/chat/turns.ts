import { ApiError } from '@plinth/client';
import type { ChatSendBody, MessageView } from '@plinth/client';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session as signIn } from '../app/session';
import { failed } from '../ui/notify';
import { conversationKey, conversationQuery, sessionQuery, sessionsKey } from './data';
import type { Conversation } from './data';
import { draftOf } from './draft';
import type { Draft, Kept } from './draft';
import { isInProgress, newKey, pause, Turn } from './turn';
import type { AttachedFile, TurnOutline, TurnView } from './turn';

/** Where a message goes. */
export type Place =
  | { readonly kind: 'end' }
  | { readonly kind: 'edit'; readonly message: MessageView }
  | { readonly kind: 'again'; readonly questionId: string };

export interface Message {
  readonly sessionId: string;
  readonly place: Place;
  readonly content: string;
  readonly files: readonly AttachedFile[];
  /** The session has no messages yet. */
  readonly isFirst?: boolean;
  readonly choice: Pick<ChatSendBody, 'model' | 'agentId' | 'knowledgeId' | 'enableThinking'>;
}

/** A message that the service has not taken: it is in the composer again. */
export interface Refusal {
  readonly error: unknown;
}

const ASK_AGAIN_MS = 700;
const SHARE_MS = 250;

const turns = new Map<string, Turn>();
const refusals = new Map<string, Refusal>();
const listeners = new Set<() => void>();
/** The keys under which the page has shown messages while they were written, by their ids. */
const shownAs = new Map<string, string>();
const thinkingTimes = new Map<string, number>();
/** Texts of sources, which the service sends once, by the ids of the fragments. */
const sourceTexts = new Map<string, string>();
const MOST_TEXTS = 500;

function changed(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The answer that is being written in the session, if there is one. */
export function useTurn(sessionId: string | undefined): Turn | undefined {
  return useSyncExternalStore(subscribe, () => (sessionId ? turns.get(sessionId) : undefined));
}

export function useTurnView(turn: Turn): TurnView {
  return useSyncExternalStore(turn.subscribe, turn.current);
}

export function useRefusal(sessionId: string | undefined): Refusal | undefined {
  return useSyncExternalStore(subscribe, () => refusals.get(sessionId ?? 'new'));
}

export function forgetRefusal(sessionId: string | undefined): void {
  if (refusals.delete(sessionId ?? 'new')) changed();
}

export function keyOf(messageId: string): string {
  return shownAs.get(messageId) ?? messageId;
}

export function thinkingTimeOf(messageId: string): number | undefined {
  return thinkingTimes.get(messageId);
}

export function sourceTextOf(fid: string): string | undefined {
  return sourceTexts.get(fid);
}

/** Sends a message; its answer is in the store until the service has stored it and it is loaded. */
export async function send(message: Message): Promise<void> {
  const { sessionId, place, content, files, choice } = message;
  const id = Number(sessionId);
  const draft = draftOf(sessionId);
  const isAgain = place.kind === 'again';
  const body: ChatSendBody = {
    ...choice,
    sessionId: id,
    inline: false,
    ...(!isAgain && { content }),
    ...(!isAgain && files.length > 0 && { files: files.map((file) => Number(file.id)) }),
    ...(place.kind === 'again' && { regenerate: Number(place.questionId) }),
    ...(place.kind === 'edit' && { editOf: Number(place.message.id) }),
  };
  const before = loaded(sessionId)?.messages;
  const newest = message.isFirst ? '0' : before && (before.at(-1)?.id ?? '0');
  const turn = new Turn({
    key: newKey(),
    sessionId,
    after:
      place.kind === 'again'
        ? place.questionId
        : place.kind === 'edit'
          ? place.message.parentId
          : undefined,
    ...(newest !== undefined && { newest }),
    ...(!isAgain && { question: { content, files } }),
  });
  forgetRefusal(sessionId);
  const known = new Set(before?.map((one) => one.id));
  turns.set(sessionId, turn);
  changed();
  const stopSharing = share(turn);
  await turn.run(body);
  stopSharing();
  keepSources(turn);
  const { end } = turn.view;
  // The sign-in has ended: what was typed waits for the next one.
  if (end?.kind === 'failed' && isSignedOut(end.error)) {
    refuse(turn, end.error, draft);
    drop(turn);
  } else await settle(turn, known, draft);
}

/** Loads what the service has stored of an answer that has ended, and lets it take the place of the live one. */
async function settle(turn: Turn, known: ReadonlySet<string>, draft: Kept<Draft>): Promise<void> {
  const { sessionId } = turn.outline;
  const { end } = turn.view;
  const isRefused = end?.kind === 'failed' && !isInProgress(end.error);
  while (turns.get(sessionId) === turn && signIn.current) {
    const stored = await storedMessages(sessionId, isRefused);
    if (stored !== 'later') {
      if (turns.get(sessionId) !== turn) return;
      const messages = stored === 'gone' ? [] : stored;
      if (end?.kind === 'failed' && !messages.some((one) => isOf(turn, one, known)))
        refuse(turn, end.error, draft);
      else remember(turn, messages);
      break;
    }
    await pause(ASK_AGAIN_MS);
  }
  drop(turn);
  void queryClient.invalidateQueries({ queryKey: sessionsKey });
}

/**
 * The messages of the session once no answer is being written, or at once after a refusal. `later`: they are to be asked for
 * again. `gone`: there is no such session, or the sign-in has ended.
 */
async function storedMessages(
  sessionId: string,
  isRefused: boolean,
): Promise<readonly MessageView[] | 'later' | 'gone'> {
  const once = { staleTime: 0, retry: false };
  try {
    const { answering } = await queryClient.query({ ...sessionQuery(sessionId), ...once });
    if (answering && !isRefused) return 'later';
    const { messages } = await queryClient.query({ ...conversationQuery(sessionId), ...once });
    return messages;
  } catch (error) {
    // Without the session there is nothing to show; a lost connection comes back.
    return isGone(error) ? 'gone' : 'later';
  }
}

function isGone(error: unknown): boolean {
  return isSignedOut(error) || (error instanceof ApiError && error.code === 404);
}

function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 401;
}

/** Whether the message was stored with the turn. */
function isOf(turn: Turn, message: MessageView, known: ReadonlySet<string>): boolean {
  return !known.has(message.id) && (turn.outline.question === undefined || message.role === 'user');
}

/** What was typed goes back to the composer, beside the reason. */
function refuse(turn: Turn, error: unknown, draft: Kept<Draft>): void {
  const { sessionId, question } = turn.outline;
  if (!question) {
    failed(error);
    return;
  }
  if (draft.read().text.trim() === '')
    draft.write({ text: question.content, files: question.files });
  refusals.set(sessionId, { error });
}

/** The messages keep their places in the page when they come from the service. */
function remember(turn: Turn, messages: readonly MessageView[]): void {
  const { key, question } = turn.outline;
  const answer = messages.at(-1);
  if (answer?.role !== 'assistant') return;
  shownAs.set(answer.id, answerKey(key));
  const asked = messages.at(-2);
  if (question && asked?.role === 'user') shownAs.set(asked.id, questionKey(key));
  const { thinkingMs } = turn.view;
  if (thinkingMs !== undefined) thinkingTimes.set(answer.id, thinkingMs);
}

export function answerKey(key: string): string {
  return `answer ${key}`;
}

export function questionKey(key: string): string {
  return `question ${key}`;
}

function drop(turn: Turn): void {
  const { sessionId } = turn.outline;
  if (turns.get(sessionId) === turn) turns.delete(sessionId);
  changed();
  channel.postMessage({ kind: 'ended', sessionId } satisfies Shared);
}

function keepSources({ view }: Turn): void {
  for (const { fid, content } of view.sources) {
    if (content !== undefined) sourceTexts.set(fid, content);
    const [oldest] = sourceTexts.keys();
    if (sourceTexts.size > MOST_TEXTS && oldest !== undefined) sourceTexts.delete(oldest);
  }
}

function loaded(sessionId: string): Conversation | undefined {
  const [found] = queryClient.getQueriesData<Conversation>({
    queryKey: conversationKey(sessionId),
  });
  return found?.[1];
}

/** Stops the answer with the text so far, wherever it is written. */
export async function stop(sessionId: string): Promise<void> {
  const turn = turns.get(sessionId);
  try {
    const { stopped } = await plinth.chatStop({ path: { sessionId: Number(sessionId) } });
    // It may not have begun yet.
    if (!stopped) turn?.close();
  } catch (error) {
    turn?.close();
    if (!turn || turn.isRemote) failed(error);
  }
}

/** What tabs of this browser tell each other. */
type Shared =
  | { readonly kind: 'live'; readonly outline: TurnOutline; readonly view: TurnView }
  | { readonly kind: 'ended'; readonly sessionId: string }
  | { readonly kind: 'changed'; readonly sessionId: string };

const channel = new BroadcastChannel('plinth.chat');

/** Shows the answer in the other tabs while it is written. */
function share(turn: Turn): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const post = (): void => {
    timer = undefined;
    const { end: _end, ...view } = turn.view;
    channel.postMessage({
      kind: 'live',
      outline: turn.outline,
      view: { ...view, end: undefined },
    } satisfies Shared);
  };
  post();
  const unsubscribe = turn.subscribe(() => (timer ??= setTimeout(post, SHARE_MS)));
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}

/** Tells the other tabs that the messages of a session have changed, such as by another branch. */
export function tellOthers(sessionId: string): void {
  channel.postMessage({ kind: 'changed', sessionId } satisfies Shared);
}

channel.onmessage = ({ data }: MessageEvent<Shared>) => {
  if (data.kind === 'live') showRemote(data.outline, data.view);
  else void reload(data.sessionId);
};

function showRemote(outline: TurnOutline, view: TurnView): void {
  const turn = turns.get(outline.sessionId);
  if (turn && !turn.isRemote) return;
  if (turn?.outline.key === outline.key) {
    turn.show(view);
    return;
  }
  const begun = new Turn(outline, true);
  begun.show(view);
  turns.set(outline.sessionId, begun);
  changed();
}

async function reload(sessionId: string): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: sessionsKey });
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: conversationKey(sessionId) }),
    queryClient.invalidateQueries({ queryKey: ['chat', 'session', sessionId] }),
  ]);
  endRemote(sessionId);
}

/** The other tab has ended or is gone. */
export function endRemote(sessionId: string): void {
  if (turns.get(sessionId)?.isRemote) {
    turns.delete(sessionId);
    changed();
  }
}

// Nothing of a user stays after the sign-out.
signIn.subscribe(() => {
  if (signIn.current) return;
  for (const turn of turns.values()) turn.close();
  turns.clear();
  refusals.clear();
  sourceTexts.clear();
  changed();
});
