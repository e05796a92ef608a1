import { Badge, Code, Text } from '@mantine/core';
import { IconPlugConnected, IconUserCheck } from '@tabler/icons-react';
import type { SsoProviderView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import { PasswordLogin } from './password-login';
import { Provisioning } from './provisioning';
import { NewProviderDrawer, ProviderDrawer } from './provider-drawer';
import { TestDrawer } from './test-drawer';

/** The page of the tenant's sign-in providers and password sign-in. */
export default function SsoPage() {
  const { t } = useTranslation('sso');
  const { may } = useMe();
  const [tested, setTested] = useState<SsoProviderView>();
  return (
    <ListPage
      name="sso"
      title={t('title')}
      description={t('about')}
      filters={[{ name: 'q', label: t('search') }]}
      query={({ q }: SearchParams) => ({ name: q })}
      load={(query, signal) => plinth.ssoList({ query, signal })}
      rowKey={({ id }: SsoProviderView) => id}
      add={may('system:sso:add') && t('add')}
      form={(provider, close) =>
        provider ? (
          <ProviderDrawer provider={provider} onClose={close} />
        ) : (
          <NewProviderDrawer onClose={close} />
        )
      }
      columns={[
        { id: 'name', title: t('name'), sort: true },
        {
          id: 'issuer',
          title: t('issuer'),
          sort: true,
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
      ]}
      openLabel={() => t(may('system:sso:edit') ? 'edit' : 'view')}
      rowActions={(provider) =>
        may('system:sso:test') && (
          <MenuItem icon={IconPlugConnected} onClick={() => setTested(provider)}>
            {t('test.run')}
          </MenuItem>
        )
      }
      remove={
        may('system:sso:remove') && {
          single: true,
          title: ({ name }) => t('removeNamed', { name }),
          body: () => t('removeBody'),
          action: () => t('remove'),
          typed: ([provider]) => provider?.name,
          run: (rows) => plinth.ssoRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('removed'),
        }
      }
      empty={{ icon: IconUserCheck, title: t('empty'), hint: t('emptyHint'), isBare: true }}
    >
      {may('system:sso:query') && <PasswordLogin />}
      {may('system:sso:query') && <Provisioning />}
      {tested && <TestDrawer provider={tested} onClose={() => setTested(undefined)} />}
    </ListPage>
  );
}
