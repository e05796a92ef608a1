import { ApiError } from '@plinth/client';
import type { ChatSendBody, MessageView } from '@plinth/client';
import { useSyncExternalStore } from 'react';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { session as signIn } from '../app/session';
import { signal } from '../app/signal';
import { notifyFailure } from '../ui/notify';
import { conversationKey, conversationQuery, sessionQuery, sessionsKey } from './data';
import type { Conversation } from './data';
import { draftOf } from './draft';
import { answerOf } from './stored-answer';
import type { Draft, StoredValue } from './draft';
import { isInProgress, newKey, pause, Turn } from './turn';
import type { AttachedFile, TurnOutline, TurnView } from './turn';

/** Position of a message in the conversation. */
export type Place =
  | { readonly kind: 'end' }
  | { readonly kind: 'edit'; readonly message: MessageView }
  | { readonly kind: 'again'; readonly questionId: string };

export interface Message {
  readonly sessionId: string;
  readonly place: Place;
  readonly content: string;
  readonly files: readonly AttachedFile[];
  /** Whether this is the first message of the session. */
  readonly isFirst?: boolean;
  readonly choice: Pick<ChatSendBody, 'model' | 'agentId' | 'knowledgeId' | 'enableThinking'>;
}

/** The reason why the service refused a message, whose text is back in the composer. */
export interface Refusal {
  readonly error: unknown;
}

const POLL_MS = 700;
const SHARE_MS = 250;

const turns = new Map<string, Turn>();
const refusals = new Map<string, Refusal>();
const changes = signal();
/** React keys that messages had while they were written, by message id. */
const shownKeys = new Map<string, string>();
const thinkingTimes = new Map<string, number>();
/** Texts of sources by fragment id. The service sends them only once. */
const sourceTexts = new Map<string, string>();
const MAX_SOURCE_TEXTS = 500;

/** The answer that is currently being written in the session, if any. */
export function useTurn(sessionId: string | undefined): Turn | undefined {
  return useSyncExternalStore(changes.subscribe, () =>
    sessionId ? turns.get(sessionId) : undefined,
  );
}

export function useTurnView(turn: Turn): TurnView {
  return useSyncExternalStore(turn.subscribe, turn.current);
}

export function useRefusal(sessionId: string | undefined): Refusal | undefined {
  return useSyncExternalStore(changes.subscribe, () => refusals.get(sessionId ?? 'new'));
}

export function forgetRefusal(sessionId: string | undefined): void {
  if (refusals.delete(sessionId ?? 'new')) changes.emit();
}

export function keyOf(messageId: string): string {
  return shownKeys.get(messageId) ?? messageId;
}

export function thinkingTimeOf(messageId: string): number | undefined {
  return thinkingTimes.get(messageId);
}

export function sourceTextOf(fid: string): string | undefined {
  return sourceTexts.get(fid);
}

/** Sends a message. Its turn is listed until the stored answer is loaded. */
export async function send(message: Message): Promise<void> {
  const { sessionId, place, content, files, choice } = message;
  const id = Number(sessionId);
  const draft = draftOf(sessionId);
  const isAgain = place.kind === 'again';
  const body: ChatSendBody = {
    ...choice,
    sessionId: id,
    inline: false,
    // The answer survives a reload and a lost connection.
    detach: true,
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
  const earlierIds = new Set(before?.map((one) => one.id));
  turns.set(sessionId, turn);
  changes.emit();
  const stopSharing = share(turn);
  await turn.run((options) => plinth.streamChat(body, options));
  stopSharing();
  keepSources(turn);
  const { end } = turn.view;
  // The sign-in has ended, so the text is kept for the next sign-in.
  if (end?.kind === 'failed' && isSignedOut(end.error)) {
    refuse(turn, end.error, draft);
    drop(turn);
  } else await settle(turn, earlierIds, draft);
}

/** The decision about a call that waits. */
export type Decision = Parameters<typeof plinth.streamDecisions>[1][number];

/** Decides about the calls of an answer that wait, and shows how it goes on. */
export function decide(message: MessageView, decisions: readonly Decision[]): void {
  const { sessionId, turnId, parentId, id } = message;
  if (sessionId === null || turnId === null || turns.has(sessionId)) return;
  const before = loaded(sessionId)?.messages.filter((one) => one.id !== id);
  const newest = before?.at(-1)?.id;
  const outline = {
    key: newKey(),
    sessionId,
    after: parentId,
    ...(newest !== undefined && { newest }),
  };
  const turn = new Turn(outline, false, answerOf(message).segments);
  turns.set(sessionId, turn);
  changes.emit();
  void goOn(turn, { turnId, decisions });
}

async function goOn(
  turn: Turn,
  { turnId, decisions }: { readonly turnId: string; readonly decisions: readonly Decision[] },
): Promise<void> {
  const stopSharing = share(turn);
  await turn.run(({ signal, onConnection }) =>
    plinth.streamDecisions(turnId, decisions, { signal, onConnection, detach: true }),
  );
  stopSharing();
  keepSources(turn);
  const { end } = turn.view;
  if (end?.kind === 'failed') notifyFailure(end.error);
  const { sessionId } = turn.outline;
  // The stored answer says how it has ended, also after a lost connection.
  while (turns.get(sessionId) === turn && signIn.current) {
    const stored = await storedMessages(sessionId, false);
    if (stored !== 'later') break;
    await pause(POLL_MS);
  }
  drop(turn);
  void queryClient.invalidateQueries({ queryKey: sessionsKey });
}

function isOwn(sessionId: string): boolean {
  return turns.get(sessionId)?.isRemote === false;
}

/** Turns that this page has read or tried to read. */
const followed = new Set<string>();

/** Shows an answer that is being written and that this page has not sent: after a reload, or by another device. */
export async function follow(sessionId: string, turnId: string): Promise<void> {
  if (isOwn(sessionId) || followed.has(turnId)) return;
  followed.add(turnId);
  const stored = { ...conversationQuery(sessionId), staleTime: 0, retry: false };
  const before = (await queryClient.query(stored).catch(() => undefined))?.messages;
  if (!before || isOwn(sessionId)) {
    followed.delete(turnId);
    return;
  }
  const newest = before.at(-1)?.id ?? '0';
  const turn = new Turn({ key: turnId, sessionId, after: undefined, newest });
  turns.set(sessionId, turn);
  changes.emit();
  await turn.run(({ signal, onConnection }) => plinth.streamTurn(turnId, { signal, onConnection }));
  keepSources(turn);
  const { end } = turn.view;
  if (end?.kind === 'failed' && isGone(end.error)) {
    // Its client did not detach it: the page waits for the stored answer.
    turns.delete(sessionId);
    changes.emit();
    return;
  }
  followed.delete(turnId);
  await settle(turn, new Set(before.map(({ id }) => id)), draftOf(sessionId));
}

/** Loads the stored messages of an ended turn and replaces the live turn with them. */
async function settle(
  turn: Turn,
  earlierIds: ReadonlySet<string>,
  draft: StoredValue<Draft>,
): Promise<void> {
  const { sessionId } = turn.outline;
  const { end } = turn.view;
  const isRefused = end?.kind === 'failed' && !isInProgress(end.error);
  while (turns.get(sessionId) === turn && signIn.current) {
    const stored = await storedMessages(sessionId, isRefused);
    if (stored !== 'later') {
      if (turns.get(sessionId) !== turn) return;
      const messages = stored === 'gone' ? [] : stored;
      if (end?.kind === 'failed' && !messages.some((one) => isOf(turn, one, earlierIds)))
        refuse(turn, end.error, draft);
      else remember(turn, messages);
      break;
    }
    await pause(POLL_MS);
  }
  drop(turn);
  void queryClient.invalidateQueries({ queryKey: sessionsKey });
}

/**
 * Returns the session's messages if no answer is being written or the message was refused. `later`: not yet available, try
 * again. `gone`: the session does not exist or the sign-in has ended.
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
    // A deleted session has nothing to show; a lost connection is retried.
    return isGone(error) ? 'gone' : 'later';
  }
}

function isGone(error: unknown): boolean {
  return isSignedOut(error) || (error instanceof ApiError && error.code === 404);
}

function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.code === 401;
}

/** Whether the message belongs to the turn. */
function isOf(turn: Turn, message: MessageView, earlierIds: ReadonlySet<string>): boolean {
  return (
    !earlierIds.has(message.id) && (turn.outline.question === undefined || message.role === 'user')
  );
}

/** Returns the text to the composer and shows the reason. */
function refuse(turn: Turn, error: unknown, draft: StoredValue<Draft>): void {
  const { sessionId, question } = turn.outline;
  if (!question) {
    notifyFailure(error);
    return;
  }
  if (draft.read().text.trim() === '')
    draft.write({ text: question.content, files: question.files });
  refusals.set(sessionId, { error });
}

/** Stored messages take over the React keys of the live ones, so that they keep their place. */
function remember(turn: Turn, messages: readonly MessageView[]): void {
  const { key, question } = turn.outline;
  const answer = messages.at(-1);
  if (answer?.role !== 'assistant') return;
  shownKeys.set(answer.id, answerKey(key));
  const storedQuestion = messages.at(-2);
  if (question && storedQuestion?.role === 'user')
    shownKeys.set(storedQuestion.id, questionKey(key));
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
  changes.emit();
  channel.postMessage({ kind: 'ended', sessionId } satisfies Shared);
}

function keepSources({ view }: Turn): void {
  for (const { fid, content } of view.sources) {
    if (content !== undefined) sourceTexts.set(fid, content);
    const [oldest] = sourceTexts.keys();
    if (sourceTexts.size > MAX_SOURCE_TEXTS && oldest !== undefined) sourceTexts.delete(oldest);
  }
}

function loaded(sessionId: string): Conversation | undefined {
  const [entry] = queryClient.getQueriesData<Conversation>({
    queryKey: conversationKey(sessionId),
  });
  return entry?.[1];
}

/** Stops the answer and keeps its text so far, even if another tab or device owns it. */
export async function stop(sessionId: string): Promise<void> {
  const turn = turns.get(sessionId);
  try {
    const { stopped } = await plinth.chatStop({ path: { sessionId: Number(sessionId) } });
    if (stopped || !turn) return;
    // The message had not reached the service, which stops an answer whose client leaves before it begins, or has now.
    turn.close();
    await plinth.chatStop({ path: { sessionId: Number(sessionId) } });
  } catch (error) {
    turn?.close();
    if (!turn || turn.isRemote) notifyFailure(error);
  }
}

/** Messages between the tabs of this browser. */
type Shared =
  | { readonly kind: 'live'; readonly outline: TurnOutline; readonly view: TurnView }
  | { readonly kind: 'ended'; readonly sessionId: string }
  | { readonly kind: 'changed'; readonly sessionId: string };

const channel = new BroadcastChannel('plinth.chat');

/** Shares the answer with the other tabs while it is being written. */
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

/** Notifies the other tabs that the messages of a session have changed, for example by switching branches. */
export function notifyOtherTabs(sessionId: string): void {
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
  const remoteTurn = new Turn(outline, true);
  remoteTurn.show(view);
  turns.set(outline.sessionId, remoteTurn);
  changes.emit();
}

async function reload(sessionId: string): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: sessionsKey });
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: conversationKey(sessionId) }),
    queryClient.invalidateQueries({ queryKey: ['chat', 'session', sessionId] }),
  ]);
  endRemote(sessionId);
}

/** Removes a turn whose tab has finished or closed. */
export function endRemote(sessionId: string): void {
  if (turns.get(sessionId)?.isRemote) {
    turns.delete(sessionId);
    changes.emit();
  }
}

// All state of the user is removed at sign-out.
signIn.subscribe(() => {
  if (signIn.current) return;
  for (const turn of turns.values()) turn.close();
  turns.clear();
  refusals.clear();
  sourceTexts.clear();
  changes.emit();
});
