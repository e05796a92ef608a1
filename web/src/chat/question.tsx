import { Button, Group, Textarea } from '@mantine/core';
import type { MessageFileView, MessageView } from '@plinth/client';
import { IconFile, IconPencil, IconPhoto, IconX } from '@tabler/icons-react';
import { memo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { session } from '../app/session';
import { IconButton } from '../ui/buttons';
import { CopyButton } from '../ui/copy-button';
import { bytes } from '../ui/format';
import { useActions } from './actions';
import { Branches } from './branches';
import type { Turn } from './turn';
import { useTurnView } from './turns';
import styles from './message.module.css';

interface ShownFile {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly state?: string;
  readonly reason?: string;
}

interface Edit {
  readonly text: string;
  readonly files: readonly MessageFileView[];
}

/** Unsent edits by message id. Kept here because questions unmount when scrolled away. */
const edits = new Map<string, Edit>();

session.subscribe(() => {
  if (!session.current) edits.clear();
});

/** A stored question. Editing it starts another branch. */
export const Question = memo(function Question({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const { isBusy } = useActions();
  const [editing, setEditing] = useState(() => edits.has(message.id));
  if (editing) return <EditedQuestion message={message} onClose={() => setEditing(false)} />;
  return (
    <article className={styles['question']} aria-label={t('message.question')}>
      <QuestionCard content={message.content} files={message.files} />
      <div className={styles['questionButtons']}>
        <Branches id={message.id} siblings={message.siblings} />
        <IconButton
          icon={IconPencil}
          label={t('message.edit')}
          size="sm"
          disabled={isBusy}
          onClick={() => setEditing(true)}
        />
        <CopyButton value={message.content} label={t('message.copyQuestion')} />
      </div>
    </article>
  );
});

interface QuestionProps {
  readonly content: string;
  readonly files: readonly ShownFile[];
}

/** A question that is being sent. */
export function LiveQuestion({
  turn,
  question: { content, files },
}: {
  readonly turn: Turn;
  readonly question: QuestionProps;
}) {
  const { t } = useTranslation('chat');
  const { failedFiles } = useTurnView(turn);
  const shownFiles = files.map((file) => ({
    ...file,
    ...failedFiles.find(({ id }) => id === file.id),
  }));
  return (
    <article className={styles['question']} aria-label={t('message.question')}>
      <QuestionCard content={content} files={shownFiles} />
      <div className={styles['questionButtons']} />
    </article>
  );
}

function QuestionCard({ content, files }: QuestionProps) {
  const failed = files.filter(({ state }) => state === 'failed');
  const { t } = useTranslation('chat');
  return (
    <>
      {files.length > 0 && (
        <ul className={styles['files']} aria-label={t('file.title')}>
          {files.map((file) => {
            const Icon = file.type.startsWith('image/') ? IconPhoto : IconFile;
            return (
              <li key={file.id} className={styles['file']}>
                <Icon size={16} stroke={1.5} aria-hidden />
                <span className={styles['fileName']}>{file.name}</span>
                <span className={styles['dimmed']}>{bytes(file.size)}</span>
                {file.state === 'failed' && (
                  <span className={styles['bad']}>{t('file.failed')}</span>
                )}
              </li>
            );
          })}
        </ul>
      )}
      {failed.map(
        ({ id, reason }) =>
          reason && (
            <p key={id} className={styles['fileReason']}>
              {reason}
            </p>
          ),
      )}
      <div className={styles['asked']}>{content}</div>
    </>
  );
}

function EditedQuestion({
  message,
  onClose,
}: {
  readonly message: MessageView;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation('chat');
  const { edit, isBusy } = useActions();
  const [storedEdit] = useState(() => edits.get(message.id));
  const [{ text, files }, setEdit] = useState<Edit>(
    storedEdit ?? { text: message.content, files: message.files },
  );
  const change = (edit: Edit): void => {
    setEdit(edit);
    edits.set(message.id, edit);
  };
  const canSend = text.trim() !== '' && !isBusy;
  const close = (): void => {
    edits.delete(message.id);
    onClose();
  };
  const send = (): void => {
    if (!canSend) return;
    edit(message, text, files);
    close();
  };
  return (
    <form
      className={styles['editing']}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {files.length > 0 && (
        <ul className={styles['files']} aria-label={t('file.title')}>
          {files.map((file) => (
            <li key={file.id} className={styles['file']}>
              <span className={styles['fileName']}>{file.name}</span>
              {file.state === 'failed' && <span className={styles['bad']}>{t('file.failed')}</span>}
              <IconButton
                icon={IconX}
                label={t('file.remove', { name: file.name })}
                size="xs"
                onClick={() => change({ text, files: files.filter((one) => one !== file) })}
              />
            </li>
          ))}
        </ul>
      )}
      <Textarea
        aria-label={t('message.editing')}
        description={t('message.editingHint')}
        maxRows={12}
        value={text}
        // An edit that is scrolled back into view does not take the focus.
        autoFocus={storedEdit === undefined}
        onChange={({ currentTarget }) => change({ text: currentTarget.value, files })}
        onKeyDown={(event) => {
          if (event.key === 'Escape') close();
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
        }}
      />
      <Group justify="flex-end" gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={close}>
          {t('message.cancelEdit')}
        </Button>
        <Button size="xs" type="submit" disabled={!canSend}>
          {t('message.sendEdit')}
        </Button>
      </Group>
    </form>
  );
}
