import { ActionIcon, Button, Group, Textarea, Tooltip } from '@mantine/core';
import type { MessageView } from '@plinth/client';
import { IconFile, IconPencil, IconPhoto } from '@tabler/icons-react';
import { memo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { session } from '../app/session';
import { CopyButton } from '../ui/copy-button';
import { bytes } from '../ui/format';
import { useActions } from './actions';
import { Branches } from './branches';
import styles from './message.module.css';

interface ShownFile {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly state?: string;
}

/** Changed texts of questions that are not sent, by their ids: they stay when the question leaves the sight. */
const edits = new Map<string, string>();

session.subscribe(() => {
  if (!session.current) edits.clear();
});

/** A question that is stored; it can be edited, which begins another branch. */
export const Question = memo(function Question({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const { isBusy } = useActions();
  const [editing, setEditing] = useState(() => edits.has(message.id));
  if (editing) return <EditedQuestion message={message} onClose={() => setEditing(false)} />;
  return (
    <article className={styles['question']} aria-label={t('message.question')}>
      <Asked content={message.content} files={message.files} />
      <div className={styles['questionButtons']}>
        <Branches id={message.id} siblings={message.siblings} />
        <Tooltip label={t('message.edit')}>
          <ActionIcon
            size="sm"
            aria-label={t('message.edit')}
            disabled={isBusy}
            onClick={() => setEditing(true)}
          >
            <IconPencil size={14} stroke={1.5} />
          </ActionIcon>
        </Tooltip>
        <CopyButton value={message.content} label={t('message.copyQuestion')} />
      </div>
    </article>
  );
});

interface LiveProps {
  readonly content: string;
  readonly files: readonly ShownFile[];
}

/** A question that is being sent. */
export function LiveQuestion({ content, files }: LiveProps) {
  const { t } = useTranslation('chat');
  return (
    <article className={styles['question']} aria-label={t('message.question')}>
      <Asked content={content} files={files} />
      <div className={styles['questionButtons']} />
    </article>
  );
}

function Asked({ content, files }: LiveProps) {
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
  const [kept] = useState(() => edits.get(message.id));
  const [text, setText] = useState(kept ?? message.content);
  const canSend = text.trim() !== '' && !isBusy;
  const close = (): void => {
    edits.delete(message.id);
    onClose();
  };
  const send = (): void => {
    if (!canSend) return;
    edit(message, text);
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
      <Textarea
        aria-label={t('message.editing')}
        description={t('message.editingHint')}
        autosize
        minRows={2}
        maxRows={12}
        value={text}
        // One that comes back into sight leaves the focus where it is.
        autoFocus={kept === undefined}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          edits.set(message.id, currentTarget.value);
        }}
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
