import { IconRobot } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { Keys } from './keys-list';
import { ActionButton } from '../ui/buttons';
import { ServiceAccountDrawer } from './service-account-drawer';

/** The page of the API keys of all users of the tenant. */
export default function KeysPage() {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const [adding, setAdding] = useState(false);
  const addAccount = may('system:user:add') && (
    <ActionButton variant="default" icon={IconRobot} onClick={() => setAdding(true)}>
      {t('account.add')}
    </ActionButton>
  );
  return (
    <Keys scope="tenant" actions={addAccount}>
      {adding && <ServiceAccountDrawer onClose={() => setAdding(false)} />}
    </Keys>
  );
}
