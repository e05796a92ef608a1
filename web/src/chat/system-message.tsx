import type { MessageView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import styles from './message.module.css';

/** A message that a program added to the session. */
export function SystemMessage({ message }: { readonly message: MessageView }) {
  const { t } = useTranslation('chat');
  return (
    <article className={styles['answer']} aria-label={t('message.system')}>
      <p className={styles['thought']}>{message.content}</p>
    </article>
  );
}
