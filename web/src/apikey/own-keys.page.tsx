import { Alert } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { Page } from '../ui/page';
import { AddKey, KeysTable } from './keys-table';

/** The page of the user's own API keys. */
export default function OwnKeysPage() {
  const { t } = useTranslation('apikey');
  const { may, user } = useMe();
  const allowed = may('system:apikey:list');
  return (
    <Page
      title={t('own.title')}
      description={t('own.about')}
      above={[{ title: t('own.account'), path: '/account' }]}
      actions={allowed && <AddKey scope="own" />}
    >
      {allowed && <KeysTable scope="own" />}
      {user && !allowed && <Alert color="gray">{t('own.mayNot')}</Alert>}
    </Page>
  );
}
