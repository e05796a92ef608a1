import { Badge, Button, Code, Text } from '@mantine/core';
import {
  IconPencil,
  IconPlugConnected,
  IconPlus,
  IconTrash,
  IconUserCheck,
} from '@tabler/icons-react';
import type { SsoProviderView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { PasswordLogin } from './password-login';
import { Provisioning } from './provisioning';
import { NewProviderDrawer, ProviderDrawer } from './provider-drawer';
import { TestDrawer } from './test-drawer';

/** The page of the tenant's sign-in providers and password sign-in. */
export default function SsoPage() {
  const { t } = useTranslation('sso');
  const { may } = useMe();
  const [edited, setEdited] = useState<SsoProviderView | 'new'>();
  const [tested, setTested] = useState<SsoProviderView>();
  const remove = useAction(
    ({ id }: SsoProviderView) => plinth.ssoRemove({ path: { ids: [String(id)] } }),
    {
      done: t('removed'),
      changes: [['sso']],
    },
  );
  const askToRemove = (provider: SsoProviderView): void =>
    confirmDestruction({
      title: t('removeNamed', { name: provider.name }),
      body: t('removeBody'),
      action: t('remove'),
      name: provider.name,
      run: () => remove.mutateAsync(provider),
    });
  const canEdit = may('system:sso:edit');
  const columns: readonly Column<SsoProviderView>[] = [
    { id: 'name', title: t('name'), sort: 'name', cell: ({ name }) => name },
    {
      id: 'issuer',
      title: t('issuer'),
      sort: 'issuer',
      cell: ({ issuer }) => <Code>{issuer}</Code>,
    },
    {
      id: 'roleMapping',
      title: t('mapping'),
      cell: ({ roleMapping }) =>
        roleMapping.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('noMapping')}
          </Text>
        ) : (
          t('mappingCount', { count: roleMapping.length })
        ),
    },
    {
      id: 'allowCreate',
      title: t('newUsers'),
      cell: ({ allowCreate }) => t(allowCreate ? 'created' : 'refused'),
    },
    {
      id: 'status',
      title: t('state'),
      sort: 'status',
      cell: ({ status }) => (
        <Badge variant="light" color={status === '0' ? 'indigo' : 'gray'}>
          {t(status === '0' ? 'enabled' : 'disabled')}
        </Badge>
      ),
    },
  ];
  return (
    <Page
      title={t('title')}
      description={t('about')}
      actions={
        may('system:sso:add') && (
          <Button
            leftSection={<IconPlus size={16} stroke={1.5} />}
            onClick={() => setEdited('new')}
          >
            {t('add')}
          </Button>
        )
      }
    >
      <DataTable
        name="sso"
        label={t('title')}
        columns={columns}
        filters={['q']}
        load={(query, { q }, signal) => plinth.ssoList({ query: { ...query, name: q }, signal })}
        rowKey={({ id }) => id}
        toolbar={<AddressSearch name="q" label={t('search')} />}
        empty={
          <Empty icon={IconUserCheck} title={t('empty')}>
            {t('emptyHint')}
          </Empty>
        }
        onOpen={setEdited}
        rowActions={(provider) => (
          <>
            <MenuItem icon={IconPencil} onClick={() => setEdited(provider)}>
              {t(canEdit ? 'edit' : 'view')}
            </MenuItem>
            {may('system:sso:test') && (
              <MenuItem icon={IconPlugConnected} onClick={() => setTested(provider)}>
                {t('test.run')}
              </MenuItem>
            )}
            {may('system:sso:remove') && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove(provider)}>
                {t('remove')}
              </MenuItem>
            )}
          </>
        )}
      />
      {may('system:sso:query') && <PasswordLogin />}
      {may('system:sso:query') && <Provisioning />}
      {edited === 'new' && <NewProviderDrawer onClose={() => setEdited(undefined)} />}
      {edited && edited !== 'new' && (
        <ProviderDrawer provider={edited} onClose={() => setEdited(undefined)} />
      )}
      {tested && <TestDrawer provider={tested} onClose={() => setTested(undefined)} />}
    </Page>
  );
}
