import {
  Alert,
  Button,
  Collapse,
  Group,
  Popover,
  Text,
  Textarea,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import type { MessageView } from '@plinth/client';
import {
  IconAlertTriangle,
  IconBulb,
  IconCheck,
  IconChevronDown,
  IconChevronRight,
  IconHandStop,
  IconPlayerStop,
  IconQuestionMark,
  IconRefresh,
  IconThumbDown,
  IconThumbUp,
  IconTool,
  IconX,
} from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { memo, useCallback, useDeferredValue, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton, IconButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { CopyButton } from '../ui/copy-button';
import { duration, number } from '../ui/format';
import { Markdown } from '../ui/markdown';
import { TraceId } from '../ui/states';
import { Time } from '../ui/time';
import { useActions } from './actions';
import type { ShownSource } from './actions';
import { Branches } from './branches';
import { Consent } from './consent';
import { conversationKey } from './data';
import { changeMessage } from './conversation';
import { answerOf } from './stored-answer';
import type { Call, Segment, Turn } from './turn';
import { answerKey, keyOf, thinkingTimeOf, useTurnView } from './turns';
import styles from './message.module.css';

/** A stored answer. */
export const Answer = memo(function Answer({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const { segments } = answerOf(message);
  const { reasoningContent, sources, id } = message;
  return (
    <article className={styles['answer']} aria-label={t('message.answer')}>
      {reasoningContent && (
        <Thinking owner={keyOf(id)} text={reasoningContent} ms={thinkingTimeOf(id)} />
      )}
      <Segments segments={segments} sources={sources} structured={message.structured} />
      <Consent message={message} />
      <Ending message={message} isEmpty={segments.length === 0} />
      {sources.length > 0 && <Sources sources={sources} />}
      <AnswerFooter message={message} />
    </article>
  );
});

/** An answer that is being written. */
export function LiveAnswer({ turn }: { readonly turn: Turn }) {
  const { t } = useTranslation('chat');
  const now = useTurnView(turn);
  // Typing has priority over the growing answer.
  const view = useDeferredValue(now);
  const { segments, reasoning, thinkingMs, sources, attempts, end, retrieval } = view;
  const isEmpty = segments.length === 0;
  const state = attempts > 0 ? 'connecting' : isEmpty && reasoning === '' ? 'waiting' : 'writing';
  return (
    <article
      className={styles['answer']}
      aria-label={t('message.answer')}
      aria-busy={end === undefined}
    >
      {reasoning !== '' && (
        <Thinking
          owner={answerKey(turn.outline.key)}
          text={reasoning}
          ms={thinkingMs}
          isThinking={isEmpty && !end}
        />
      )}
      {retrieval !== 'whole' && <p className={styles['note']}>{t(`retrieval.${retrieval}`)}</p>}
      <Segments segments={segments} sources={sources} growing={!end} />
      {!end && state !== 'writing' && (
        <p className={styles['waiting']}>
          <span className={styles['pulse']} aria-hidden />
          {t(`state.${state}`)}
        </p>
      )}
      {sources.length > 0 && !isEmpty && <Sources sources={sources} />}
    </article>
  );
}

interface SegmentsProps {
  readonly segments: readonly Segment[];
  readonly sources: readonly ShownSource[];
  readonly growing?: boolean;
  readonly structured?: boolean;
}

const Segments = memo(function Segments({
  segments,
  sources,
  growing = false,
  structured = false,
}: SegmentsProps) {
  const { openSource } = useActions();
  const numbers = useMemo(() => new Set(sources.map((source) => source.number)), [sources]);
  const citation = useCallback(
    (place: number): ReactNode => {
      const source = sources.find((one) => one.number === place);
      return source && <SourceNumber source={source} onOpen={openSource} />;
    },
    [sources, openSource],
  );
  return segments.map((segment, place) =>
    segment.kind === 'calls' ? (
      <Calls key={place} calls={segment.calls} />
    ) : (
      <Markdown
        key={place}
        text={structured ? `\`\`\`\`json\n${segment.text}\n\`\`\`\`` : segment.text}
        growing={growing && place === segments.length - 1}
        citation={citation}
        citations={numbers}
      />
    ),
  );
});

function SourceNumber({
  source,
  onOpen,
}: {
  readonly source: ShownSource;
  readonly onOpen: (source: ShownSource) => void;
}) {
  const { t } = useTranslation('chat');
  const name = placeOf(source, (page) => t('source.pageOf', { page }));
  return (
    <Tooltip label={name}>
      <button
        type="button"
        className={styles['chip']}
        aria-label={t('source.open', { number: source.number, name })}
        onClick={() => onOpen(source)}
      >
        {source.number}
      </button>
    </Tooltip>
  );
}

/** Formats a source as "warranty.pdf · Page 3". */
function placeOf(
  { document, page, location }: ShownSource,
  pageText: (page: number) => string,
): string {
  const place = page === null ? location : pageText(page);
  return place ? `${document} · ${place}` : document;
}

/** Lists the cited sources, and the other ones on demand. */
function Sources({ sources }: { readonly sources: readonly ShownSource[] }) {
  const { t } = useTranslation('chat');
  const { openSource } = useActions();
  const [all, setAll] = useState(false);
  const cited = sources.filter((source) => source.cited ?? true);
  const visibleSources = all || cited.length === 0 ? sources : cited;
  const hidden = sources.length - visibleSources.length;
  return (
    <div className={styles['sources']}>
      <span className={styles['sourcesTitle']}>{t('source.title')}</span>
      <ul aria-label={t('source.title')}>
        {visibleSources.map((source) => (
          <li key={source.number}>
            <button type="button" className={styles['source']} onClick={() => openSource(source)}>
              <span className={styles['sourceNumber']}>{source.number}</span>
              <span className={styles['sourceName']}>
                {placeOf(source, (page) => t('source.pageOf', { page }))}
              </span>
            </button>
          </li>
        ))}
        {hidden > 0 && (
          <li>
            <button type="button" className={styles['more']} onClick={() => setAll(true)}>
              {t('source.more', { count: hidden })}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}

/** Keys of answers with expanded thoughts. Kept here because messages unmount when scrolled away or stored. */
const unfolded = new Set<string>();

interface ThinkingProps {
  /** Key of the answer. */
  readonly owner: string;
  readonly text: string;
  readonly ms: number | undefined;
  readonly isThinking?: boolean;
}

function Thinking({ owner, text, ms, isThinking = false }: ThinkingProps) {
  const { t } = useTranslation('chat');
  const [opened, setOpened] = useState(() => unfolded.has(owner));
  const toggle = (): void => {
    if (opened) unfolded.delete(owner);
    else unfolded.add(owner);
    setOpened(!opened);
  };
  const title = isThinking
    ? t('thinking.now')
    : ms === undefined
      ? t('thinking.done')
      : t('thinking.doneIn', { time: duration(Math.round(ms)) });
  return (
    <div className={styles['thinking']}>
      <UnstyledButton className={styles['fold']} aria-expanded={opened} onClick={toggle}>
        <IconBulb size={16} stroke={1.5} aria-hidden />
        <span>{title}</span>
        <Fold opened={opened} />
      </UnstyledButton>
      {opened && <div className={styles['thought']}>{text}</div>}
    </div>
  );
}

function Fold({ opened }: { readonly opened: boolean }) {
  const Icon = opened ? IconChevronDown : IconChevronRight;
  return <Icon size={14} stroke={1.5} aria-hidden />;
}

function Calls({ calls }: { readonly calls: readonly Call[] }) {
  const { t } = useTranslation('chat');
  return (
    <ul className={styles['calls']} aria-label={t('tool.title')}>
      {calls.map((call) => (
        <ToolCall key={call.number} call={call} />
      ))}
    </ul>
  );
}

const CALL_ICONS = {
  running: IconTool,
  done: IconCheck,
  failed: IconX,
  timeout: IconX,
  stopped: IconPlayerStop,
  interrupted: IconX,
  uncertain: IconQuestionMark,
  waiting: IconHandStop,
} as const;

function ToolCall({ call }: { readonly call: Call }) {
  const { t } = useTranslation('chat');
  const [opened, setOpened] = useState(false);
  const Icon = CALL_ICONS[call.state];
  const isBad = ['failed', 'timeout', 'interrupted', 'uncertain'].includes(call.state);
  return (
    <li>
      <UnstyledButton
        className={styles['call']}
        aria-expanded={opened}
        onClick={() => setOpened(!opened)}
      >
        <Icon
          size={16}
          stroke={1.5}
          className={isBad ? styles['bad'] : styles['dimmed']}
          aria-hidden
        />
        <span className={styles['callName']}>{call.name}</span>
        <span className={styles['callSummary']}>{call.summary || t(`tool.${call.state}`)}</span>
        {call.durationMs !== null && (
          <span className={styles['callTime']}>{duration(call.durationMs)}</span>
        )}
        <Fold opened={opened} />
      </UnstyledButton>
      <Collapse expanded={opened} transitionDuration={120}>
        <dl className={styles['callDetails']}>
          <dt>{t('tool.state')}</dt>
          <dd>{t(`tool.${call.state}`)}</dd>
          <dt>{t('tool.arguments')}</dt>
          <dd>
            <pre tabIndex={0}>{pretty(call.arguments)}</pre>
          </dd>
        </dl>
      </Collapse>
    </li>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

const REASONS = [
  'stopped',
  'client-left',
  'signed-out',
  'shutdown',
  'length',
  'content-filter',
  'max-steps',
  'max-tool-calls',
  'max-tokens',
] as const;

/** Explains how an answer ended if it is not complete. */
function Ending({
  message,
  isEmpty,
}: {
  readonly message: MessageView;
  readonly isEmpty: boolean;
}) {
  const { t } = useTranslation('chat');
  const { answerAgain, isBusy } = useActions();
  const { state, finishReason, error, parentId } = message;
  const again = parentId !== null && (
    <ActionButton
      variant="default"
      size="xs"
      disabled={isBusy}
      icon={IconRefresh}
      onClick={() => answerAgain(parentId)}
    >
      {t('message.retry')}
    </ActionButton>
  );
  if (state === 'failed') {
    return (
      <Alert
        color="red"
        variant="light"
        className={styles['failure']}
        icon={<IconAlertTriangle size={18} stroke={1.5} />}
        title={t(isEmpty ? 'ending.failed' : 'ending.broken')}
      >
        <Group justify="space-between" gap="xs">
          <Text size="sm" className={styles['reason']}>
            {error ?? t('ending.unknown')}
          </Text>
          {again}
        </Group>
      </Alert>
    );
  }
  if (state === 'waiting') return null;
  const reason = REASONS.find((one) => one === finishReason);
  if (!reason) return isEmpty ? <p className={styles['note']}>{t('ending.empty')}</p> : null;
  return (
    <Group gap="xs" className={styles['note']}>
      <span>{t(`ending.${reason}`)}</span>
      {state === 'stopped' && again}
    </Group>
  );
}

function AnswerFooter({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const { answerAgain, isBusy, agentName } = useActions();
  const {
    id,
    content,
    parentId,
    modelName,
    agentId,
    totalTokens,
    usageEstimated,
    firstTokenMs,
    durationMs,
    createTime,
    traceId,
  } = message;
  const agent = agentId === null ? undefined : agentName(agentId);
  const tokens = t('footer.tokens', { count: totalTokens, tokens: number(totalTokens) });
  return (
    <footer className={styles['footer']}>
      <div className={styles['buttons']}>
        <CopyButton value={content} label={t('message.copyAnswer')} />
        {parentId !== null && (
          <IconButton
            icon={IconRefresh}
            label={t('message.retry')}
            size="sm"
            disabled={isBusy}
            onClick={() => answerAgain(parentId)}
          />
        )}
        <Votes message={message} />
        <Branches id={id} siblings={message.siblings} />
      </div>
      <div className={styles['facts']}>
        {agent && <span>{agent}</span>}
        {modelName && <span>{modelName}</span>}
        {totalTokens > 0 && <span>{usageEstimated ? t('footer.about', { tokens }) : tokens}</span>}
        {firstTokenMs !== null && (
          <span>{t('footer.first', { time: duration(firstTokenMs) })}</span>
        )}
        {durationMs !== null && <span>{t('footer.whole', { time: duration(durationMs) })}</span>}
        <Time value={createTime} size="xs" />
        {traceId && <TraceId id={traceId} />}
      </div>
    </footer>
  );
}

function Votes({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const queries = useQueryClient();
  const { id, sessionId, feedback } = message;
  const [asking, setAsking] = useState(false);
  const [text, setText] = useState('');
  const vote = useAction(
    async (newVote: { readonly vote: 'up' | 'down'; readonly text?: string } | null) => {
      const path = { messageId: Number(id) };
      if (newVote) await plinth.feedbackVote({ path, body: newVote });
      else await plinth.feedbackRemove({ path });
      const newFeedback = newVote && { vote: newVote.vote, text: newVote.text ?? null };
      changeMessage(queries, conversationKey(sessionId ?? ''), id, { feedback: newFeedback });
    },
  );
  const toggle = (clicked: 'up' | 'down'): void => {
    const isTaken = feedback?.vote === clicked;
    vote.mutate(isTaken ? null : { vote: clicked });
    setText('');
    setAsking(clicked === 'down' && !isTaken);
  };
  const voted = (direction: 'up' | 'down') => feedback?.vote === direction;
  return (
    <>
      <IconButton
        icon={IconThumbUp}
        label={t('feedback.good')}
        size="sm"
        aria-pressed={voted('up')}
        variant={voted('up') ? 'light' : 'subtle'}
        color={voted('up') ? 'indigo' : 'gray'}
        onClick={() => toggle('up')}
      />
      <Popover
        opened={asking}
        onChange={setAsking}
        position="top-start"
        width={300}
        trapFocus
        shadow="md"
      >
        <Popover.Target>
          <IconButton
            icon={IconThumbDown}
            label={t('feedback.bad')}
            size="sm"
            aria-pressed={voted('down')}
            variant={voted('down') ? 'light' : 'subtle'}
            color={voted('down') ? 'indigo' : 'gray'}
            onClick={() => toggle('down')}
          />
        </Popover.Target>
        <Popover.Dropdown>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              vote.mutate({ vote: 'down', text: text.trim() });
              setAsking(false);
            }}
          >
            <Textarea
              label={t('feedback.why')}
              description={t('feedback.whyHint')}
              maxLength={2_000}
              minRows={3}
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
              data-autofocus
            />
            <Group justify="flex-end" gap="xs" mt="xs">
              <Button size="xs" variant="default" onClick={() => setAsking(false)}>
                {t('feedback.skip')}
              </Button>
              <Button size="xs" type="submit" disabled={text.trim() === ''}>
                {t('feedback.send')}
              </Button>
            </Group>
          </form>
        </Popover.Dropdown>
      </Popover>
    </>
  );
}
