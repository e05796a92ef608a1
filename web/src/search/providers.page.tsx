import { Code, Stack, Text } from '@mantine/core';
import { IconSearch, IconWorldSearch } from '@tabler/icons-react';
import type { SearchProviderView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { plinth } from '../app/plinth';
import { EnabledSwitch } from '../ui/enabled-switch';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import { ProviderDrawer } from './provider-drawer';
import { CHANGES, useKinds } from './kinds';
import { TestDrawer } from './test-drawer';

/** The page of the services that search the web for agents. */
export default function SearchProvidersPage() {
  const { t } = useTranslation('search');
  const { t: ofApp } = useTranslation('app');
  const { may } = useMe();
  const [tested, setTested] = useState<SearchProviderView>();
  const { labelOf } = useKinds();
  const canEdit = may('system:search:edit');
  const canTest = may('system:search:test');
  return (
    <ListPage
      name="searchProviders"
      title={ofApp('pages.searchProviders')}
      description={t('about')}
      load={(query, signal) => plinth.searchProviderList({ query, signal })}
      rowKey={({ id }: SearchProviderView) => id}
      add={may('system:search:add') && t('add')}
      form={(provider, close) => (
        <ProviderDrawer
          provider={provider}
          onAdded={canTest ? setTested : undefined}
          onClose={close}
        />
      )}
      canOpen={canEdit}
      openLabel={() => t('edit')}
      columns={[
        {
          id: 'name',
          title: t('name'),
          sort: true,
          cell: ({ name, code }) => (
            <Stack gap={0} align="flex-start">
              <Text size="sm" fw={600}>
                {name}
              </Text>
              <Text size="xs" c="dimmed" fw={400}>
                {labelOf(code)}
              </Text>
            </Stack>
          ),
        },
        { id: 'address', title: t('address'), cell: ({ address }) => <Code>{address}</Code> },
        {
          id: 'key',
          title: t('key'),
          width: 110,
          cell: ({ hasKey }) => (
            <Text size="sm" c={hasKey ? undefined : 'dimmed'}>
              {t(hasKey ? 'keyStored' : 'keyNone')}
            </Text>
          ),
        },
        { id: 'price', title: t('price'), sort: true, align: 'right', width: 160 },
        { id: 'sortOrder', title: t('order'), sort: true, align: 'right', width: 90 },
        {
          id: 'enabled',
          title: t('enabled'),
          sort: 'status',
          width: 100,
          cell: ({ id, name, status }) => (
            <EnabledSwitch
              name={name}
              enabled={status === 0}
              consequence={t('disableBody')}
              fixed={!canEdit && t('mayNotEdit')}
              change={(to) =>
                plinth.searchProviderUpdate({ body: { id, status: to === '0' ? 0 : 1 } })
              }
              changes={CHANGES}
            />
          ),
        },
      ]}
      rowActions={(provider) =>
        canTest && (
          <MenuItem icon={IconSearch} onClick={() => setTested(provider)}>
            {t('test.open')}
          </MenuItem>
        )
      }
      remove={
        may('system:search:remove') && {
          body: (rows) => t('removeBody', { names: rows.map(({ name }) => name).join(', ') }),
          action: (count) => t('remove', { count }),
          run: (rows) =>
            plinth.searchProviderRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('removed'),
          changes: CHANGES,
        }
      }
      empty={{ icon: IconWorldSearch, title: t('empty'), hint: t('emptyHint') }}
    >
      {tested && (
        <TestDrawer provider={tested} canEnable={canEdit} onClose={() => setTested(undefined)} />
      )}
    </ListPage>
  );
}
