import { Modal, Stack, Text, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { session } from '../app/session';
import { SignInForm } from './sign-in-form';
import styles from './sign-in.module.css';

/** Covers a page whose sign-in has ended until the same user signs in again or another user takes over. */
export default function SignInOver() {
  const { t } = useTranslation('sign-in');
  const { user } = useMe();
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      title={t('lapsed.title')}
      zIndex={1000}
    >
      <Stack>
        <Text>{t('lapsed.body')}</Text>
        <div>
          <SignInForm
            tenantId={user?.tenantId}
            userName={user?.userName}
            returnTo={location.pathname + location.search}
            onDone={() => undefined}
          />
        </div>
        <UnstyledButton className={styles['language']} ta="center" onClick={() => session.end()}>
          {t('lapsed.other')}
        </UnstyledButton>
      </Stack>
    </Modal>
  );
}
