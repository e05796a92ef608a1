import { Button } from '@mantine/core';
import type { MessageView } from '@plinth/client';
import { IconArrowDown } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Answer, LiveAnswer } from './answer';
import type { Conversation } from './data';
import { LiveQuestion, Question } from './question';
import { SystemMessage } from './system-message';
import type { Turn } from './turn';
import { answerKey, keyOf, questionKey } from './turns';
import { ActionButton } from '../ui/buttons';
import styles from './message-list.module.css';

type Item =
  | { readonly key: string; readonly kind: 'stored'; readonly message: MessageView }
  | { readonly key: string; readonly kind: 'question'; readonly turn: Turn }
  | { readonly key: string; readonly kind: 'answer'; readonly turn: Turn };

interface Props {
  readonly conversation: Conversation;
  readonly turn: Turn | undefined;
  /** Id of a message to show in the middle; undefined for the end of the list. */
  readonly sought: string | undefined;
  readonly isLoadingEarlier: boolean;
  readonly onEarlier: () => void;
}

/** Within this distance from the end, the list follows a growing answer. */
const END_PX = 60;
const QUESTION_PX = 80;
const ANSWER_PX = 260;

/** The virtualised list of a session's messages. */
export default function MessageList({
  conversation,
  turn,
  sought,
  isLoadingEarlier,
  onEarlier,
}: Props) {
  const { t } = useTranslation('chat');
  const scroll = useRef<HTMLDivElement>(null);
  const [isAway, setAway] = useState(false);
  const items = useMemo(() => itemsOf(conversation.messages, turn), [conversation.messages, turn]);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => (isQuestion(items[index]) ? QUESTION_PX : ANSWER_PX),
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: 4,
    paddingStart: 16,
    paddingEnd: 16,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: END_PX,
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
    onChange: (instance) => setAway(instance.getDistanceFromEnd() > END_PX * 3),
  });

  const isShown = items.length > 0;
  useEffect(() => {
    if (isShown) list.scrollToEnd();
  }, [isShown, list]);
  // Sending a message scrolls to it from any position.
  const sentKey = turn && !turn.isRemote ? turn.outline.key : undefined;
  useEffect(() => {
    if (sentKey !== undefined) list.scrollToEnd();
  }, [sentKey, list]);

  const soughtKey = sought === undefined ? undefined : keyOf(sought);
  const soughtIndex = items.findIndex(({ key }) => key === soughtKey);
  const latestSought = useRef(soughtIndex);
  latestSought.current = soughtIndex;
  const hasSought = soughtIndex >= 0;
  useEffect(() => {
    if (hasSought) list.scrollToIndex(latestSought.current, { align: 'center' });
  }, [soughtKey, hasSought, list]);

  // The browser's own jump misses its target, because heights are measured while scrolling.
  const onKey = (event: KeyboardEvent): void => {
    list.cancelScroll();
    // In a question that is being edited, these keys move the cursor.
    if (event.target !== event.currentTarget) return;
    if (event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    if (event.key === 'Home') list.scrollToIndex(0, { align: 'start' });
    else list.scrollToEnd();
  };

  return (
    <div className={styles['frame']}>
      <div
        ref={scroll}
        className={styles['scroll']}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t('message.list')}
        // Input of the reader cancels a scroll that is still settling.
        onWheel={list.cancelScroll}
        onTouchStart={list.cancelScroll}
        onPointerDown={list.cancelScroll}
        onKeyDown={onKey}
      >
        {conversation.earlier > 0 && (
          <div className={styles['earlier']}>
            <Button variant="default" size="xs" loading={isLoadingEarlier} onClick={onEarlier}>
              {t('message.earlier', { count: conversation.earlier })}
            </Button>
          </div>
        )}
        <div ref={list.containerRef} className={styles['items']}>
          {list.getVirtualItems().map(({ index, key }) => {
            const item = items[index];
            return (
              item && (
                <div
                  key={key}
                  ref={list.measureElement}
                  data-index={index}
                  className={styles['item']}
                >
                  <div className={key === soughtKey ? styles['sought'] : styles['column']}>
                    <Row item={item} />
                  </div>
                </div>
              )
            );
          })}
        </div>
      </div>
      {isAway && (
        <ActionButton
          className={styles['latest'] ?? ''}
          variant="default"
          size="xs"
          radius="xl"
          icon={IconArrowDown}
          onClick={() => list.scrollToEnd()}
        >
          {t('message.latest')}
        </ActionButton>
      )}
    </div>
  );
}

function Row({ item }: { readonly item: Item }) {
  if (item.kind === 'answer') return <LiveAnswer turn={item.turn} />;
  if (item.kind === 'question') {
    const { question } = item.turn.outline;
    return question && <LiveQuestion turn={item.turn} question={question} />;
  }
  const { message } = item;
  if (message.role === 'user') return <Question message={message} />;
  if (message.role === 'system') return <SystemMessage message={message} />;
  return <Answer message={message} />;
}

function isQuestion(item: Item | undefined): boolean {
  return item?.kind === 'question' || (item?.kind === 'stored' && item.message.role === 'user');
}

/** Builds the list items: stored messages up to the start of the turn, then the turn. */
function itemsOf(messages: readonly MessageView[], turn: Turn | undefined): Item[] {
  const items = (from: readonly MessageView[]): Item[] =>
    from.map((message) => ({ key: keyOf(message.id), kind: 'stored', message }));
  if (!turn) return items(messages);
  const { key, after, newest, question } = turn.outline;
  const earlierMessages =
    newest === undefined ? messages : messages.filter(({ id }) => Number(id) <= Number(newest));
  const end =
    after === undefined
      ? earlierMessages.length
      : earlierMessages.findIndex(({ id }) => id === after) + 1;
  const shownItems = items(earlierMessages.slice(0, end));
  // If nothing was loaded before, the messages may already include the question.
  const last = earlierMessages.at(end - 1);
  const isStored =
    newest === undefined && last?.role === 'user' && last.content === question?.content;
  if (question && !isStored) shownItems.push({ key: questionKey(key), kind: 'question', turn });
  shownItems.push({ key: answerKey(key), kind: 'answer', turn });
  return shownItems;
}
