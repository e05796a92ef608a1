import { Button, Group } from '@mantine/core';
import { IconRobot } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { Page } from '../ui/page';
import { AddKey, KeysTable } from './keys-table';
import { ServiceAccountDrawer } from './service-account-drawer';

/** The page of the API keys of all users of the tenant. */
export default function KeysPage() {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title={t('tenant.title')}
      description={t('tenant.about')}
      actions={
        <Group gap="sm">
          {may('system:user:add') && (
            <Button
              variant="default"
              leftSection={<IconRobot size={16} stroke={1.5} />}
              onClick={() => setAdding(true)}
            >
              {t('account.add')}
            </Button>
          )}
          <AddKey scope="tenant" />
        </Group>
      }
    >
      <KeysTable scope="tenant" />
      {adding && <ServiceAccountDrawer onClose={() => setAdding(false)} />}
    </Page>
  );
}
