import { ActionIcon, Button, Group, Textarea, Tooltip } from '@mantine/core';
import type { MessageView } from '@plinth/client';
import { IconFile, IconPencil, IconPhoto } from '@tabler/icons-react';
import { memo, useState } from 'react';
import { useTranslation } from 'react-i18next';
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

/** A question that is stored; it can be edited, which begins another branch. */
export const Question = memo(function Question({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  const { isBusy } = useActions();
  const [editing, setEditing] = useState(false);
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
  const [text, setText] = useState(message.content);
  const canSend = text.trim() !== '' && !isBusy;
  const send = (): void => {
    if (!canSend) return;
    edit(message, text);
    onClose();
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
        autoFocus
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose();
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            send();
          }
        }}
      />
      <Group justify="flex-end" gap="xs" mt="xs">
        <Button size="xs" variant="default" onClick={onClose}>
          {t('message.cancelEdit')}
        </Button>
        <Button size="xs" type="submit" disabled={!canSend}>
          {t('message.sendEdit')}
        </Button>
      </Group>
    </form>
  );
}
