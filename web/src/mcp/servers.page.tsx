import { Code, Stack, Text } from '@mantine/core';
import { IconPlug } from '@tabler/icons-react';
import type { ToolServerView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { isChangeable } from '../access/levels';
import { useAccessDrawer } from '../access/access-drawer';
import { useMe } from '../app/me';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { EnabledSwitch } from '../ui/enabled-switch';
import { ListPage } from '../ui/list-page';
import { ServerDrawer } from './server-drawer';
import { SERVER_CHANGES } from './server-tools';

/** The page of the tool servers that the user may see. */
export default function ToolServersPage() {
  const { t } = useTranslation('mcp');
  const { t: ofApp } = useTranslation('app');
  const { may } = useMe();
  const access = useAccessDrawer('tool-server');
  const canEdit = may('mcp:server:edit');
  return (
    <ListPage
      name="toolServers"
      title={ofApp('pages.toolServers')}
      description={t('about')}
      filters={[{ name: 'q', label: t('search') }]}
      query={({ q }: SearchParams) => ({ ...(q && { name: q }) })}
      load={(query, signal) => plinth.toolServerList({ query, signal })}
      rowKey={({ id }: ToolServerView) => id}
      add={may('mcp:server:add') && t('add')}
      form={(_server, close) => <ServerDrawer onClose={close} />}
      pageOf={(server) => `/tool-servers/${server?.id}`}
      canOpen={may('mcp:server:query')}
      openLabel={() => t('open')}
      columns={[
        {
          id: 'name',
          title: t('name'),
          sort: true,
          cell: ({ name, description }) => (
            <Stack gap={0} align="flex-start">
              <Text size="sm" fw={600}>
                {name}
              </Text>
              {description && (
                <Text size="xs" c="dimmed" fw={400} ta="left" lineClamp={2}>
                  {description}
                </Text>
              )}
            </Stack>
          ),
        },
        {
          id: 'address',
          title: t('address'),
          sort: true,
          cell: ({ address }) => <Code>{address}</Code>,
        },
        {
          id: 'auth',
          title: t('auth.label'),
          width: 150,
          cell: ({ auth }) => t(`auth.${auth}`),
        },
        { id: 'listTime', title: t('checked'), sort: true, width: 140, show: 'time' },
        {
          id: 'enabled',
          title: t('enabled'),
          width: 90,
          cell: ({ id, name, level, enabled }) => (
            <EnabledSwitch
              name={name}
              enabled={enabled}
              fixed={
                (!canEdit && t('mayNotEdit')) || (!isChangeable(level) && t('mayNotEditGrant'))
              }
              change={(to) => plinth.toolServerUpdate({ body: { id, enabled: to === '0' } })}
              changes={SERVER_CHANGES}
            />
          ),
        },
      ]}
      rowActions={({ id, name, level }) => level === 'manage' && access.item({ id, name })}
      remove={
        may('mcp:server:remove') && {
          isFixed: ({ level }) => level !== 'manage',
          body: (rows) => t('removeBody', { names: rows.map(({ name }) => name).join(', ') }),
          action: (count) => t('remove', { count }),
          run: (rows) =>
            plinth.toolServerRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('removed'),
          changes: SERVER_CHANGES,
        }
      }
      empty={{ icon: IconPlug, title: t('empty'), hint: t('emptyHint') }}
    >
      {access.drawer}
    </ListPage>
  );
}
