import {
  ActionIcon,
  Alert,
  Button,
  Drawer,
  Skeleton,
  Stack,
  Switch,
  Text,
  Title,
  Tooltip,
} from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { ApiError } from '@plinth/client';
import type { MessageView } from '@plinth/client';
import { IconLayoutSidebarLeftExpand, IconMessage, IconPlus, IconRobot } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { IconButton, LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Empty, Failure, Forbidden } from '../ui/states';
import { useTitle } from '../ui/page';
import { Actions } from './actions';
import type { ChatActions, ShownSource } from './actions';
import { RefusalNote } from './refusal';
import { Composer } from './composer';
import {
  agentsQuery,
  conversationKey,
  conversationQuery,
  modelsQuery,
  sessionQuery,
  sessionsKey,
  temporaryQuery,
} from './data';
import { choiceOf, draftOf, forgetSession } from './draft';
import type { Choice } from './draft';
import { Sessions } from './sessions';
import type { AttachedFile } from './turn';
import {
  endRemote,
  follow,
  forgetRefusal,
  send,
  stop,
  notifyOtherTabs,
  useRefusal,
  useTurn,
} from './turns';
import type { Place } from './turns';
import styles from './chat.module.css';

/** Markdown and message components. The first message needs them, so they are loaded while it is typed. */
const loadMessages = () => import('./message-list');
const MessageList = lazy(loadMessages);
const SourcePanel = lazy(() => import('./source-panel'));

const NEEDED = [
  'system:session:list',
  'system:session:query',
  'system:session:add',
  'system:message:list',
];
const MAX_TITLE_CHARS = 60;
const WATCH_MS = 1_500;

export default function ChatPage() {
  const { sessionId } = useParams({ strict: false });
  const { may } = useMe();
  const visit = useStartParams(sessionId);
  const missing = NEEDED.filter((permission) => !may(permission));
  if (missing.length > 0) return <Forbidden permissions={missing} />;
  if (visit === undefined) return null;
  // Each session is mounted separately, because the draft, the choice and the open panels belong to it.
  return <Chat key={sessionId ?? `new ${visit}`} sessionId={sessionId} />;
}

/**
 * `/chat?agent=…&model=…&knowledge=…&draft=…` starts a session with that choice and draft. They are stored as the draft of
 * the new session, so that a reload restores later changes. Returns the number of visits with such parameters;
 * undefined until the parameters are stored.
 */
function useStartParams(sessionId: string | undefined): number | undefined {
  const [{ agent, model, knowledge, draft }, change] = useSearchParams();
  const [visit, setVisit] = useState(0);
  const hasStartParams = sessionId === undefined && Boolean(agent ?? model ?? knowledge ?? draft);
  useEffect(() => {
    if (!hasStartParams) return;
    const choice: Choice = {
      ...(agent && { agentId: Number(agent) }),
      ...(model && { model }),
      ...(knowledge && { knowledgeId: Number(knowledge) }),
    };
    if (Object.keys(choice).length > 0) choiceOf(undefined).write(choice);
    if (draft) {
      const { text, files } = draftOf(undefined).read();
      // An earlier draft is kept.
      if (!text.includes(draft)) {
        draftOf(undefined).write({
          text: text.trim() === '' ? draft : `${text}\n\n${draft}`,
          files,
        });
      }
    }
    change({ agent: undefined, model: undefined, knowledge: undefined, draft: undefined });
    setVisit((before) => before + 1);
    // `change` is omitted because it is new on every render.
  }, [hasStartParams, agent, model, knowledge, draft]);
  return hasStartParams ? undefined : visit;
}

function Chat({ sessionId }: { readonly sessionId: string | undefined }) {
  const { t } = useTranslation('chat');
  const isNarrow = useMediaQuery('(max-width: 62em)', false, { getInitialValueInEffect: false });
  const hasNoRoomBeside = useMediaQuery('(max-width: 80em)', false, {
    getInitialValueInEffect: false,
  });
  const [drawer, setDrawer] = useState(false);
  const [source, setSource] = useState<ShownSource>();
  const openers = useRef<Element | null>(null);
  const openSource = useCallback((opened: ShownSource): void => {
    openers.current = window.document.activeElement;
    setSource(opened);
  }, []);
  const closeSource = (): void => {
    setSource(undefined);
    if (openers.current instanceof HTMLElement) openers.current.focus();
  };
  const panel = source && (
    <Suspense fallback={<Skeleton height={200} m="md" />}>
      <SourcePanel source={source} onClose={closeSource} />
    </Suspense>
  );
  return (
    <div className={styles['chat']}>
      {isNarrow ? (
        <Drawer
          opened={drawer}
          onClose={() => setDrawer(false)}
          position="left"
          size={300}
          title={t('session.title')}
          closeButtonProps={{ 'aria-label': t('session.close') }}
          classNames={{ body: styles['drawer'] ?? '' }}
        >
          <Sessions current={sessionId} onOpen={() => setDrawer(false)} />
        </Drawer>
      ) : (
        <div className={styles['sessions']}>
          <Sessions current={sessionId} />
        </div>
      )}
      <div className={styles['main']}>
        {isNarrow && (
          <div className={styles['bar']}>
            <IconButton
              icon={IconLayoutSidebarLeftExpand}
              label={t('session.open')}
              size="lg"
              onClick={() => setDrawer(true)}
            />
            <SessionTitle sessionId={sessionId} />
            <Tooltip label={t('session.new')}>
              <ActionIcon
                aria-label={t('session.new')}
                size="lg"
                renderRoot={(props) => <Link to="/chat" {...props} />}
              >
                <IconPlus size={18} stroke={1.5} />
              </ActionIcon>
            </Tooltip>
          </div>
        )}
        <Conversation sessionId={sessionId} onSource={openSource} />
      </div>
      {panel &&
        (hasNoRoomBeside ? (
          <Drawer
            opened
            onClose={closeSource}
            withCloseButton={false}
            size="lg"
            padding={0}
            aria-label={t('source.panel')}
            classNames={{ body: styles['drawer'] ?? '' }}
          >
            {panel}
          </Drawer>
        ) : (
          <aside className={styles['side']}>{panel}</aside>
        ))}
    </div>
  );
}

function SessionTitle({ sessionId }: { readonly sessionId: string | undefined }) {
  const { t } = useTranslation('chat');
  const { data } = useQuery({ ...sessionQuery(sessionId ?? ''), enabled: sessionId !== undefined });
  return (
    <Text size="sm" fw={600} truncate className={styles['barTitle'] ?? ''}>
      {sessionId === undefined ? t('session.new') : data?.sessionTitle || t('session.untitled')}
    </Text>
  );
}

interface ConversationProps {
  readonly sessionId: string | undefined;
  readonly onSource: (source: ShownSource) => void;
}

function Conversation({ sessionId, onSource }: ConversationProps) {
  const { t } = useTranslation('chat');
  const navigate = useNavigate();
  const turn = useTurn(sessionId);
  const refusal = useRefusal(sessionId);
  const field = useRef<HTMLTextAreaElement>(null);
  const [pages, setPages] = useState(1);
  const isNew = sessionId === undefined;
  const isOwn = turn !== undefined && !turn.isRemote;
  const remote = turn?.isRemote ? turn : undefined;
  const {
    data: session,
    dataUpdatedAt: sessionAt,
    error: sessionError,
    refetch: reloadSession,
  } = useQuery({
    ...sessionQuery(sessionId ?? ''),
    enabled: !isNew && !isOwn,
    // Another tab or device of the user is writing in this session, or an answer is being stopped.
    refetchInterval: ({ state }) => (state.data?.answering || remote ? WATCH_MS : false),
  });
  const conversation = useQuery({
    ...conversationQuery(sessionId ?? '', pages),
    enabled: !isNew,
    placeholderData: keepPreviousData,
  });
  const { refetch } = conversation;
  const isElsewhere = !isOwn && session?.answering === true;
  // The writing tab may have crashed, so the service is asked. Data from before the message was sent is ignored.
  const isAbandoned =
    remote !== undefined && session?.answering === false && sessionAt > remote.since + WATCH_MS;
  // The writing tab was closed or stands still, so this one reads the answer itself.
  const isSilent = remote !== undefined && sessionAt > remote.shownAt + WATCH_MS;
  const turnId = isElsewhere && (!turn || isSilent) ? session.turnId : null;
  const isLoaded = conversation.data !== undefined;
  useEffect(() => {
    if (sessionId !== undefined && turnId !== null && isLoaded) void follow(sessionId, turnId);
  }, [sessionId, turnId, isLoaded]);
  const wasElsewhere = useRef(false);
  useEffect(() => {
    if (sessionId !== undefined && (isAbandoned || (wasElsewhere.current && !isElsewhere))) {
      void refetch().then(() => endRemote(sessionId));
    }
    wasElsewhere.current = isElsewhere;
  }, [isAbandoned, isElsewhere, refetch, sessionId]);

  const { data: agents } = useQuery(agentsQuery);
  const [choice, choose] = useChoice(sessionId, conversation.data?.messages);
  useTitle(isNew ? t('session.new') : session?.sessionTitle || t('session.untitled'));

  const isBusy = turn !== undefined || isElsewhere;
  const submit = useCallback(
    (place: Place, content: string, files: readonly AttachedFile[]): void => {
      if (sessionId !== undefined) void send({ sessionId, place, content, files, choice });
    },
    [sessionId, choice],
  );
  const [isTemporary, setTemporary] = useState(false);
  const begin = useAction(
    (content: string) =>
      plinth.sessionCreate({
        body: { sessionTitle: titleOf(content), ...(isTemporary && { temporary: true }) },
      }),
    { changes: [sessionsKey] },
  );
  const ask = async (content: string, files: readonly AttachedFile[]): Promise<boolean> => {
    if (sessionId !== undefined) {
      submit({ kind: 'end' }, content, files);
      return true;
    }
    const id = await begin.mutateAsync(content).catch(() => undefined);
    if (id === undefined) return false;
    choiceOf(id).write(choice);
    void send({ sessionId: id, place: { kind: 'end' }, content, files, choice, isFirst: true });
    draftOf(undefined).write({ text: '', files: [] });
    await navigate({ to: '/chat/$sessionId', params: { sessionId: id }, replace: true });
    return true;
  };
  const { mutate: chooseBranch } = useAction(
    (messageId: string) =>
      plinth.sessionBranch({
        body: { sessionId: Number(sessionId), messageId: Number(messageId) },
      }),
    {
      changes: sessionId === undefined ? [] : [conversationKey(sessionId)],
      after: () => sessionId !== undefined && notifyOtherTabs(sessionId),
    },
  );
  const [{ message: sought }] = useSearchParams();
  const mayChoose = useMe().may('system:session:edit');
  const branchOf = useRef<string>(undefined);
  const { data: loaded, isPlaceholderData: isLoading } = conversation;
  // A message that is sought may be further up, or on another branch.
  useEffect(() => {
    if (sought === undefined || !loaded || isLoading || isBusy) return;
    if (loaded.messages.some(({ id }) => id === sought)) return;
    if (loaded.earlier > 0) setPages((before) => before + 1);
    else if (mayChoose && branchOf.current !== sought) {
      branchOf.current = sought;
      chooseBranch(sought);
    }
  }, [sought, loaded, isLoading, isBusy, mayChoose, chooseBranch]);
  const actions = useMemo<ChatActions>(
    () => ({
      answerAgain: (questionId) => submit({ kind: 'again', questionId }, '', []),
      edit: (message, content, files) => submit({ kind: 'edit', message }, content, files),
      choose: chooseBranch,
      openSource: onSource,
      isBusy,
      agentName: (id) => agents?.find((agent) => agent.id === id)?.agentName,
    }),
    [submit, chooseBranch, onSource, isBusy, agents],
  );

  const failure = sessionError ?? conversation.error;
  if (failure instanceof ApiError && failure.code === 404 && !turn) {
    return (
      <div className={styles['start']}>
        <Empty
          icon={IconMessage}
          title={t('session.gone')}
          action={<LinkButton to="/chat">{t('session.new')}</LinkButton>}
        >
          {t('session.goneHint')}
        </Empty>
      </div>
    );
  }
  if (failure && !conversation.data) {
    return (
      <Failure
        error={failure}
        onRetry={() => {
          void reloadSession();
          void refetch();
        }}
      />
    );
  }
  const isEmpty = isNew || (conversation.data?.messages.length === 0 && !turn);
  return (
    <Actions value={actions}>
      <h1 className="only-for-readers">
        {isNew ? t('session.new') : session?.sessionTitle || t('session.untitled')}
      </h1>
      {isEmpty ? (
        <Start
          chosen={choice.agentId}
          onAgent={(agentId) => {
            choose({ agentId });
            // Focus returns to the composer for the next question.
            field.current?.focus();
          }}
        />
      ) : conversation.data ? (
        <Suspense fallback={<ConversationSkeleton />}>
          <MessageList
            conversation={conversation.data}
            turn={turn}
            sought={sought}
            isLoadingEarlier={conversation.isPlaceholderData}
            onEarlier={() => setPages(pages + 1)}
          />
        </Suspense>
      ) : (
        <ConversationSkeleton />
      )}
      <div className={styles['foot']}>
        <div className={styles['column']}>
          {refusal && (
            <RefusalNote error={refusal.error} onClose={() => forgetRefusal(sessionId)} />
          )}
          {isElsewhere && !turn && (
            <Alert role="status" variant="light" color="gray" className={styles['elsewhere'] ?? ''}>
              {t('state.elsewhere')}
            </Alert>
          )}
          {isNew ? (
            <TemporaryChoice chosen={isTemporary} onChoose={setTemporary} />
          ) : (
            session?.temporary && <TemporaryNote sessionId={session.id} />
          )}
          <Composer
            field={field}
            sessionId={sessionId}
            choice={choice}
            onChoice={choose}
            onSend={ask}
            onStop={() => sessionId !== undefined && void stop(sessionId)}
            isAnswering={isBusy}
            onType={() => void loadMessages()}
          />
          <span className="only-for-readers" role="status">
            {turn ? t('state.announceWriting') : ''}
          </span>
        </div>
      </div>
    </Actions>
  );
}

/** Makes a new chat temporary where the tenant leaves the choice, and says so where it enforces it. */
function TemporaryChoice({
  chosen,
  onChoose,
}: {
  readonly chosen: boolean;
  readonly onChoose: (chosen: boolean) => void;
}) {
  const { t } = useTranslation('chat');
  const { data } = useQuery(temporaryQuery);
  if (data?.temporaryChats === 'enforced') {
    return (
      <Text size="sm" c="dimmed" mb="xs">
        {t('temporary.enforced')}
      </Text>
    );
  }
  if (data?.temporaryChats !== 'allowed') return null;
  return (
    <Switch
      size="sm"
      mb="xs"
      label={t('temporary.choose')}
      description={chosen ? t('temporary.help') : undefined}
      checked={chosen}
      onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
    />
  );
}

function TemporaryNote({ sessionId }: { readonly sessionId: string }) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const navigate = useNavigate();
  const end = useAction(() => plinth.sessionRemove({ path: { ids: [sessionId] } }), {
    done: t('temporary.ended'),
    after: () => {
      forgetSession(sessionId);
      void navigate({ to: '/chat' });
    },
  });
  return (
    <Alert variant="light" color="gray" mb="xs" p="xs">
      <span className={styles['temporary']}>
        <span>{t('temporary.note')}</span>
        {may('system:session:remove') && (
          <Button
            size="compact-sm"
            variant="default"
            loading={end.isPending}
            onClick={() => end.mutate()}
          >
            {t('temporary.end')}
          </Button>
        )}
      </span>
    </Alert>
  );
}

/** Title of a session: the first line of its first message. */
function titleOf(content: string): string {
  const [line = ''] = content.trim().split('\n');
  return line.length > MAX_TITLE_CHARS ? `${line.slice(0, MAX_TITLE_CHARS).trimEnd()}…` : line;
}

/** The model or agent of a session: the one chosen in it or the last one to answer. New sessions use the last choice. */
function useChoice(
  sessionId: string | undefined,
  messages: readonly MessageView[] | undefined,
): readonly [Choice, (choice: Choice) => void] {
  const [currentChoice, setCurrentChoice] = useState(() => choiceOf(sessionId).read());
  const last = messages?.findLast(({ role }) => role === 'assistant');
  const lastChoice = useMemo((): Choice => {
    if (!last) return {};
    if (last.agentId !== null) return { agentId: last.agentId };
    return last.modelName === null ? {} : { model: last.modelName };
  }, [last?.agentId, last?.modelName]);
  const choose = (choice: Choice): void => {
    setCurrentChoice(choice);
    choiceOf(sessionId).write(choice);
    if (sessionId !== undefined) choiceOf(undefined).write(choice);
  };
  return [currentChoice ?? lastChoice, choose];
}

const MAX_SHOWN_AGENTS = 4;

/** The start of a session without messages: the agents that can be chosen. */
function Start({
  chosen,
  onAgent,
}: {
  readonly chosen: number | undefined;
  readonly onAgent: (id: number) => void;
}) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const mayModels = may('system:model:list', 'coding:harness:use');
  const { data: models } = useQuery({ ...modelsQuery, enabled: mayModels });
  const { data: agents = [] } = useQuery(agentsQuery);
  if (mayModels && models?.length === 0 && agents.length === 0) {
    return (
      <div className={styles['start']}>
        <Empty
          icon={IconMessage}
          title={t('start.noModel')}
          action={
            may('system:model:add') && <LinkButton to="/models">{t('start.addModel')}</LinkButton>
          }
        >
          {t(may('system:model:add') ? 'start.noModelHint' : 'start.noModelAsk')}
        </Empty>
      </div>
    );
  }
  return (
    <div className={styles['start']}>
      <Stack className={styles['welcome'] ?? ''} gap="xs">
        <Title order={2} className={styles['question'] ?? ''}>
          {t('start.title')}
        </Title>
        <Text c="dimmed">{t('start.hint')}</Text>
        {agents.length > 0 && (
          <ul className={styles['agents']} aria-label={t('choice.agents')}>
            {agents.slice(0, MAX_SHOWN_AGENTS).map((agent) => (
              <li key={agent.id}>
                <button
                  type="button"
                  className={styles['agent']}
                  aria-pressed={chosen === agent.id}
                  onClick={() => onAgent(agent.id)}
                >
                  <IconRobot size={18} stroke={1.5} aria-hidden />
                  <span className={styles['agentText']}>
                    <span className={styles['agentName']}>{agent.agentName}</span>
                    {agent.agentDescribe && (
                      <span className={styles['agentHint']}>{agent.agentDescribe}</span>
                    )}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Stack>
    </div>
  );
}

function ConversationSkeleton() {
  const { t } = useTranslation('ui');
  return (
    <div className={styles['skeleton']} role="status" aria-label={t('loading')}>
      <Skeleton height={40} width="46%" ml="auto" mb={24} />
      {[100, 96, 90, 98, 60].map((width) => (
        <Skeleton key={width} height={14} width={`${width}%`} mb={10} />
      ))}
    </div>
  );
}
