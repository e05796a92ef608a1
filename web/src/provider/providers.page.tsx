import { Group, Text } from '@mantine/core';
import { IconBrandStackshare, IconCpu, IconKey } from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { ProviderView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { MenuItem, MenuLink } from '../ui/menu-item';
import { VendorMark } from '../ui/vendor-mark';
import { KeyDrawer } from './key-drawer';
import { ProviderDrawer } from './provider-drawer';

export default function ProvidersPage() {
  const { t } = useTranslation('provider');
  const { may } = useMe();
  const status = useStatusFilter();
  const [keyed, setKeyed] = useState<ProviderView>();
  const canEdit = may('system:provider:edit');
  return (
    <ListPage
      name="providers"
      title={t('title')}
      description={t('about')}
      filters={[{ name: 'q', label: t('search') }, status]}
      query={(filters: SearchParams) => ({
        providerName: filters['q'],
        ...(filters['status'] && {
          status: filters['status'] === '1' ? (1 as const) : (0 as const),
        }),
      })}
      load={(query, signal) => plinth.providerList({ query, signal })}
      download={may('system:provider:export') && ((body) => plinth.providerExport({ body }))}
      rowKey={({ id }: ProviderView) => id}
      add={may('system:provider:add') && t('add')}
      form={(provider, close) => <ProviderDrawer provider={provider} onClose={close} />}
      canOpen={canEdit}
      columns={[
        {
          id: 'name',
          title: t('name'),
          sort: 'providerName',
          cell: ({ providerCode, providerName }) => (
            <Group gap="sm" wrap="nowrap">
              <VendorMark code={providerCode} />
              <span>{providerName}</span>
            </Group>
          ),
        },
        { id: 'code', title: t('code'), sort: 'providerCode' },
        {
          id: 'address',
          title: t('address'),
          sort: 'apiHost',
          cell: ({ apiHost }) => (
            <Text size="sm" c="dimmed">
              {apiHost || '–'}
            </Text>
          ),
        },
        {
          id: 'description',
          title: t('description'),
          optional: true,
          cell: ({ providerDesc }) => providerDesc || '–',
        },
        { id: 'order', title: t('order'), sort: 'sortOrder', optional: true },
        { id: 'updated', title: t('updated'), sort: 'updateTime', show: 'time', optional: true },
        {
          id: 'enabled',
          title: t('enabled'),
          width: 90,
          cell: ({ id, providerName, status: current }) => (
            <EnabledSwitch
              name={providerName}
              enabled={current === 0}
              consequence={t('disableBody')}
              fixed={!canEdit && t('mayNotEdit')}
              change={async (to) => {
                const body = { id, status: to === '1' ? (1 as const) : (0 as const) };
                const { message } = await withMessage(plinth.providerUpdate, { body });
                return to === '1' ? message : undefined;
              }}
              changes={[['providers'], ['models']]}
            />
          ),
        },
      ]}
      openLabel={() => t('edit')}
      rowActions={(provider) => (
        <>
          <MenuLink icon={IconCpu} to="/models" search={{ provider: provider.providerCode }}>
            {t('showModels')}
          </MenuLink>
          {may('system:model:edit') && (
            <MenuItem icon={IconKey} onClick={() => setKeyed(provider)}>
              {t('key.replace')}
            </MenuItem>
          )}
        </>
      )}
      remove={
        may('system:provider:remove') && {
          body: (rows) =>
            t('removeBody', { names: rows.map(({ providerName }) => providerName).join(', ') }),
          action: (count) => t('remove', { count }),
          run: async (rows) => {
            const path = { ids: rows.map(({ id }) => String(id)) };
            return (await withMessage(plinth.providerRemove, { path })).message;
          },
          changes: [['models'], ['home']],
        }
      }
      empty={{ icon: IconBrandStackshare, title: t('empty'), hint: t('emptyHint') }}
    >
      {keyed && <KeyDrawer provider={keyed} onClose={() => setKeyed(undefined)} />}
    </ListPage>
  );
}
