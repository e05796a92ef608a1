import { ActionIcon, Loader, Popover, Tooltip } from '@mantine/core';
import {
  IconArrowUp,
  IconBook2,
  IconBulb,
  IconChevronDown,
  IconCpu,
  IconFile,
  IconPaperclip,
  IconPhoto,
  IconPlayerStopFilled,
  IconRobot,
  IconX,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type { MessageFileView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useEffectEvent, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { IconButton } from '../ui/buttons';
import { notifyFailure } from '../ui/notify';
import { agentsQuery, basesQuery, modelsQuery } from './data';
import { draftOf, onDraft } from './draft';
import type { Choice } from './draft';
import type { AttachedFile } from './turn';
import styles from './composer.module.css';

const loadChoiceList = () => import('./choice-list');
const ChoiceList = lazy(loadChoiceList);

const MAX_FILES = 10;
const KEEP_MS = 250;

interface Props {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly sessionId: string | undefined;
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  /** Resolves to whether the message was accepted. If not, the text stays in the composer. */
  readonly onSend: (content: string, files: readonly AttachedFile[]) => Promise<boolean>;
  readonly onStop: () => void;
  readonly isAnswering: boolean;
  /** Runs on every change of the text. */
  readonly onType: () => void;
}

interface Upload {
  readonly key: number;
  readonly name: string;
  readonly part: number;
  readonly abort: AbortController;
}

let lastUpload = 0;

/** Whether the browser can decode the image. */
let lastCheck: Promise<unknown> = Promise.resolve();

/** Uploads run one after the other, because each one occupies a slot of the user's concurrent answers. */
function checkFile(ossId: string, signal: AbortSignal): Promise<MessageFileView> {
  const check = lastCheck.then(() =>
    plinth.chatCheckFile({ path: { ossId: Number(ossId) }, signal }),
  );
  lastCheck = check.catch(() => undefined);
  return check;
}

async function isImage(file: File): Promise<boolean> {
  try {
    (await createImageBitmap(file)).close();
    return true;
  } catch {
    return false;
  }
}

/** The message composer. The text is not in React state, so that typing is as fast as in a plain field. */
export function Composer({
  field,
  sessionId,
  choice,
  onChoice,
  onSend,
  onStop,
  isAnswering,
  onType,
}: Props) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const picker = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [draft] = useState(() => draftOf(sessionId));
  const [initialDraft] = useState(draft.read);
  const [files, setFiles] = useState(initialDraft.files);
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [isEmpty, setEmpty] = useState(initialDraft.text.trim() === '');
  const [isSending, setSending] = useState(false);
  const [isOver, setOver] = useState(false);
  // Contents of the composer, also available after its field has unmounted.
  const latestText = useRef(initialDraft.text);
  const latestFiles = useRef(files);
  const mayUpload = may('system:oss:upload');

  const keep = useCallback((): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    draft.write({ text: latestText.current, files: latestFiles.current });
  }, [draft]);
  const showFiles = useCallback((next: readonly AttachedFile[]): void => {
    latestFiles.current = next;
    setFiles(next);
  }, []);

  useEffect(() => {
    const keepPending = (): void => {
      if (timer.current !== undefined) keep();
    };
    // Restores a refused message, and files whose upload an earlier composer started.
    const stop = onDraft((key, { text, files: written }) => {
      if (key !== draft.key || !field.current) return;
      const shownIds = new Set(latestFiles.current.map(({ id }) => id));
      const others = written.filter(({ id }) => !shownIds.has(id));
      if (others.length > 0) showFiles([...latestFiles.current, ...others]);
      if (timer.current !== undefined || latestText.current !== '' || text === '') return;
      latestText.current = text;
      field.current.value = text;
      setEmpty(text.trim() === '');
    });
    addEventListener('pagehide', keepPending);
    return () => {
      stop();
      removeEventListener('pagehide', keepPending);
      keepPending();
    };
  }, [draft, field, keep, showFiles]);

  const keepLater = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(keep, KEEP_MS);
  };
  const attached = (change: (before: readonly AttachedFile[]) => readonly AttachedFile[]): void => {
    // An upload may finish after its composer unmounted and another composer has changed the draft.
    if (!field.current) {
      const { text, files: before } = draft.read();
      draft.write({ text, files: change(before) });
      return;
    }
    showFiles(change(latestFiles.current));
    keep();
  };

  const attach = async (chosenFiles: readonly File[]): Promise<void> => {
    if (!mayUpload) return;
    const remainingCount = MAX_FILES - latestFiles.current.length - uploads.length;
    if (chosenFiles.length > remainingCount)
      notifyFailure(new Error(t('file.tooMany', { count: MAX_FILES })));
    await Promise.all(chosenFiles.slice(0, Math.max(0, remainingCount)).map(upload));
  };
  const upload = async (file: File): Promise<void> => {
    const key = (lastUpload += 1);
    const abort = new AbortController();
    setUploads((before) => [...before, { key, name: file.name, part: 0, abort }]);
    const progress = ({ sent, total }: { readonly sent: number; readonly total: number }): void =>
      setUploads((before) =>
        before.map((one) =>
          one.key === key ? { ...one, part: total > 0 ? sent / total : 0 } : one,
        ),
      );
    try {
      const { signal } = abort;
      const { ossId } = await plinth.uploadFile({ file, signal, onProgress: progress });
      const { type, reason } = await checkFile(ossId, signal);
      const isDamaged = reason === undefined && type.startsWith('image/') && !(await isImage(file));
      const problem = isDamaged ? t('file.damagedImage', { name: file.name }) : reason;
      attached((before) => [
        ...before,
        {
          id: ossId,
          name: file.name,
          size: file.size,
          type,
          ...(problem !== undefined && { reason: problem }),
        },
      ]);
    } catch (error) {
      if (!abort.signal.aborted) notifyFailure(error);
    } finally {
      setUploads((before) => before.filter((one) => one.key !== key));
    }
  };

  // Files dropped beside the field are accepted, too. Otherwise the browser would leave the page to open them.
  const drop = useEffectEvent((event: DragEvent): void => {
    const { dataTransfer, type } = event;
    if (!dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (!mayUpload) dataTransfer.dropEffect = 'none';
    setOver(mayUpload && type === 'dragover');
    if (type === 'drop') void attach([...dataTransfer.files]);
  });
  useEffect(() => {
    const over = (event: DragEvent): void => drop(event);
    // A missing related target means that the pointer left the window.
    const leave = ({ relatedTarget }: DragEvent): void => {
      if (!relatedTarget) setOver(false);
    };
    addEventListener('dragover', over);
    addEventListener('drop', over);
    addEventListener('dragleave', leave);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('drop', over);
      removeEventListener('dragleave', leave);
    };
  }, []);

  const send = async (): Promise<void> => {
    const input = field.current;
    if (!input || input.value.trim() === '' || isAnswering || isSending || uploads.length > 0)
      return;
    const text = input.value;
    setSending(true);
    try {
      if (!(await onSend(text, latestFiles.current))) return;
      input.value = '';
      latestText.current = '';
      setEmpty(true);
      showFiles([]);
      keep();
    } finally {
      setSending(false);
      input.focus();
    }
  };

  return (
    <form
      className={isOver ? styles['over'] : styles['composer']}
      aria-label={t('composer.title')}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {(files.length > 0 || uploads.length > 0) && (
        <ul className={styles['files']} aria-label={t('file.title')}>
          {files.map((file) => (
            <FileChip
              key={file.id}
              name={file.name}
              icon={file.type.startsWith('image/') ? IconPhoto : IconFile}
              isBad={file.reason !== undefined}
              onRemove={() => attached((before) => before.filter(({ id }) => id !== file.id))}
            />
          ))}
          {uploads.map((one) => (
            <FileChip
              key={one.key}
              name={one.name}
              part={one.part}
              onRemove={() => one.abort.abort()}
            />
          ))}
        </ul>
      )}
      {files.map(
        ({ id, reason }) =>
          reason && (
            <p key={id} className={styles['reason']} role="alert">
              {reason}
            </p>
          ),
      )}
      {isOver && <p className={styles['dropHint']}>{t('file.dropHere')}</p>}
      <textarea
        ref={field}
        className={styles['input']}
        rows={1}
        autoFocus
        maxLength={1_000_000}
        aria-label={t('composer.input')}
        placeholder={t('composer.input')}
        defaultValue={initialDraft.text}
        onInput={({ currentTarget }) => {
          latestText.current = currentTarget.value;
          setEmpty(currentTarget.value.trim() === '');
          keepLater();
          onType();
        }}
        onPaste={(event) => {
          const pasted = [...event.clipboardData.files];
          if (pasted.length === 0) return;
          event.preventDefault();
          void attach(pasted);
        }}
        onKeyDown={(event) => {
          // Enter also confirms a word of an input method.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div className={styles['bar']}>
        <div className={styles['chips']}>
          <Answerer choice={choice} onChoice={onChoice} />
          {may('system:info:list') && <Base choice={choice} onChoice={onChoice} />}
          <Tooltip label={t('composer.thinkingHint')}>
            <button
              type="button"
              className={styles['chip']}
              aria-pressed={choice.enableThinking === true}
              onClick={() => {
                const { enableThinking, ...rest } = choice;
                onChoice(enableThinking ? rest : { ...rest, enableThinking: true });
              }}
            >
              <IconBulb size={16} stroke={1.5} aria-hidden />
              <span className={styles['chipText']}>{t('composer.thinking')}</span>
            </button>
          </Tooltip>
          {mayUpload && (
            <>
              <IconButton
                icon={IconPaperclip}
                iconSize={16}
                label={t('file.attach')}
                size={30}
                onClick={() => picker.current?.click()}
              />
              <input
                ref={picker}
                type="file"
                multiple
                hidden
                aria-hidden
                tabIndex={-1}
                onChange={({ currentTarget }) => {
                  void attach([...(currentTarget.files ?? [])]);
                  currentTarget.value = '';
                }}
              />
            </>
          )}
        </div>
        {isAnswering ? (
          <Tooltip label={t('composer.stop')}>
            <ActionIcon
              aria-label={t('composer.stop')}
              variant="filled"
              color="indigo"
              size={32}
              radius="xl"
              onClick={onStop}
            >
              <IconPlayerStopFilled size={14} />
            </ActionIcon>
          </Tooltip>
        ) : (
          <Tooltip label={t('composer.send')}>
            <ActionIcon
              type="submit"
              aria-label={t('composer.send')}
              variant="filled"
              color="indigo"
              size={32}
              radius="xl"
              loading={isSending}
              disabled={isEmpty || uploads.length > 0}
            >
              <IconArrowUp size={18} stroke={2} />
            </ActionIcon>
          </Tooltip>
        )}
      </div>
    </form>
  );
}

interface FileChipProps {
  readonly name: string;
  readonly icon?: Icon;
  /** Uploaded share, 0 to 1; 1 while the service reads the file, absent when it is ready. */
  readonly part?: number;
  /** Whether the file could not be read. */
  readonly isBad?: boolean;
  readonly onRemove: () => void;
}

function FileChip({ name, icon: FileIcon = IconFile, part, isBad, onRemove }: FileChipProps) {
  const { t } = useTranslation('chat');
  const label = part === undefined ? t('file.remove', { name }) : t('file.cancel', { name });
  return (
    <li className={styles[isBad ? 'badFile' : 'file']}>
      {part === undefined ? <FileIcon size={16} stroke={1.5} aria-hidden /> : <Loader size={14} />}
      <span className={styles['fileName']}>{name}</span>
      {part !== undefined && (
        <span className={styles['part']} role="status">
          {part < 1 ? `${Math.round(part * 100)} %` : t('file.checking')}
        </span>
      )}
      <IconButton icon={IconX} label={label} size="xs" onClick={onRemove} />
    </li>
  );
}

interface ChoiceProps {
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
}

/** The model or the agent that answers. */
function Answerer({ choice, onChoice }: ChoiceProps) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const mayModels = may('system:model:list', 'coding:harness:use');
  const { data: models = [] } = useQuery({ ...modelsQuery, enabled: mayModels });
  const { data: agents = [] } = useQuery(agentsQuery);
  const [opened, setOpened] = useState(false);
  const agent = agents.find(({ id }) => id === choice.agentId);
  // A model that is not listed may still answer; otherwise the service refuses it by name.
  const model = choice.model
    ? models.find(({ modelName }) => modelName === choice.model)
    : models[0];
  const name = choice.agentId
    ? (agent?.agentName ?? t('choice.agent'))
    : model?.modelDescribe || choice.model || t('choice.defaultModel');
  const { agentId: _agent, model: _model, ...rest } = choice;
  return (
    <ChoiceChip
      icon={choice.agentId ? IconRobot : IconCpu}
      label={t('choice.answerer', { name })}
      text={name}
      opened={opened}
      onOpened={setOpened}
    >
      <ChoiceList
        label={t('choice.answererTitle')}
        value={choice.agentId ? `agent ${choice.agentId}` : `model ${model?.modelName ?? ''}`}
        groups={[
          {
            title: t('choice.agents'),
            choices: agents.map(({ id, agentName, agentDescribe }) => ({
              value: `agent ${id}`,
              title: agentName,
              text: agentDescribe,
            })),
          },
          {
            title: t('choice.models'),
            choices: models.map(({ modelName, modelDescribe }) => ({
              value: `model ${modelName}`,
              title: modelDescribe || modelName,
              text: modelDescribe && modelDescribe !== modelName ? modelName : '',
            })),
          },
        ]}
        onChoose={(value) => {
          const [kind, ...words] = value.split(' ');
          const id = words.join(' ');
          onChoice(kind === 'agent' ? { ...rest, agentId: Number(id) } : { ...rest, model: id });
          setOpened(false);
        }}
      />
    </ChoiceChip>
  );
}

/** The knowledge base to answer from. */
function Base({ choice, onChoice }: ChoiceProps) {
  const { t } = useTranslation('chat');
  const { data: bases } = useQuery(basesQuery);
  const [opened, setOpened] = useState(false);
  const { knowledgeId, ...rest } = choice;
  const base = bases?.find(({ id }) => id === knowledgeId);
  // A base that is not listed is still sent with every message until the user removes it.
  const isUnlisted = bases !== undefined && knowledgeId !== undefined && !base;
  const name = isUnlisted ? t('choice.unlistedBase', { id: knowledgeId }) : base?.name;
  return (
    <ChoiceChip
      icon={IconBook2}
      label={name === undefined ? t('choice.chooseBase') : t('choice.baseIs', { name })}
      text={name ?? t('choice.base')}
      isChosen={name !== undefined}
      opened={opened}
      onOpened={setOpened}
    >
      <ChoiceList
        label={t('choice.chooseBase')}
        value={knowledgeId === undefined ? '' : String(knowledgeId)}
        groups={[
          {
            title: t('choice.bases'),
            choices: [
              { value: '', title: t('choice.noBase'), text: '' },
              ...(bases ?? []).map((one) => ({
                value: String(one.id),
                title: one.name,
                text: one.description,
              })),
            ],
          },
        ]}
        onChoose={(value) => {
          onChoice(value === '' ? rest : { ...rest, knowledgeId: Number(value) });
          setOpened(false);
        }}
      />
    </ChoiceChip>
  );
}

interface ChipProps {
  readonly icon: Icon;
  readonly label: string;
  readonly text: string;
  readonly isChosen?: boolean;
  readonly opened: boolean;
  readonly onOpened: (opened: boolean) => void;
  readonly children: ReactNode;
}

function ChoiceChip({
  icon: ChipIcon,
  label,
  text,
  isChosen = false,
  opened,
  onOpened,
  children,
}: ChipProps) {
  return (
    <Popover
      opened={opened}
      onChange={onOpened}
      position="top-start"
      width={320}
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <Tooltip label={label} disabled={opened}>
          <button
            type="button"
            className={isChosen ? styles['chosen'] : styles['chip']}
            aria-label={label}
            aria-haspopup="dialog"
            // Preloads the list, so that its search accepts typing as soon as it opens.
            onPointerEnter={() => void loadChoiceList()}
            onFocus={() => void loadChoiceList()}
            onClick={() => onOpened(!opened)}
          >
            <ChipIcon size={16} stroke={1.5} aria-hidden />
            <span className={styles['chipText']}>{text}</span>
            <IconChevronDown size={14} stroke={1.5} aria-hidden />
          </button>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown p={4}>
        <Suspense fallback={<Loader size="sm" m="md" />}>{children}</Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}
