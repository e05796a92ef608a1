import { Badge, Code, Group, Text } from '@mantine/core';
import { IconDeviceDesktop } from '@tabler/icons-react';
import type { ClientView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { useSession } from '../app/session';
import { CopyButton } from '../ui/copy-button';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { CLIENT_SWITCHES, ClientDrawer } from './client-drawer';
import { span } from './span';

export default function ClientsPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const session = useSession();
  const status = useStatusFilter();
  const canEdit = may('system:client:edit');
  const inUse = ({ clientId }: ClientView): boolean => clientId === session?.clientId;
  return (
    <ListPage
      name="clients"
      title={t('clients.title')}
      description={t('clients.about')}
      filters={[{ name: 'q', label: t('clients.search') }, status]}
      query={(filters: SearchParams) => ({ clientKey: filters['q'], status: filters['status'] })}
      load={(query, signal) => plinth.clientList({ query, signal })}
      download={may('system:client:export') && ((body) => plinth.clientExport({ body }))}
      rowKey={({ id }: ClientView) => id}
      add={may('system:client:add') && t('clients.add')}
      form={(client, close) => <ClientDrawer client={client} onClose={close} />}
      columns={[
        {
          id: 'clientKey',
          title: t('clients.key'),
          sort: true,
          cell: (client) => (
            <>
              {client.clientKey}
              {inUse(client) && (
                <Badge ml="xs" size="sm" variant="light">
                  {t('clients.thisOne')}
                </Badge>
              )}
            </>
          ),
        },
        {
          id: 'clientId',
          title: t('clients.id'),
          cell: ({ clientId }) => (
            <Group gap={4} wrap="nowrap">
              <Code>{clientId.slice(0, 8)}…</Code>
              <CopyButton value={clientId} label={t('clients.copyId')} />
            </Group>
          ),
        },
        { id: 'deviceType', title: t('clients.device'), sort: true },
        {
          id: 'activeTimeout',
          title: t('clients.idle'),
          sort: true,
          cell: ({ activeTimeout }) => span(activeTimeout),
        },
        {
          id: 'timeout',
          title: t('clients.life'),
          sort: true,
          cell: ({ timeout }) => span(timeout),
        },
        {
          id: 'inline',
          title: t('clients.inline'),
          cell: (client) => {
            const on = CLIENT_SWITCHES.filter((one) => client[one]);
            return on.length === 0 ? (
              <Text size="sm" c="dimmed">
                {t('clients.noInline')}
              </Text>
            ) : (
              on.map((one) => t(`clients.short.${one}`)).join(', ')
            );
          },
        },
        {
          id: 'grants',
          title: t('clients.grants'),
          optional: true,
          cell: ({ grantTypeList }) => grantTypeList.join(', '),
        },
        { id: 'createTime', title: t('users.created'), sort: true, show: 'time', optional: true },
        {
          id: 'status',
          title: t('status.enabled'),
          width: 90,
          cell: (client) => (
            <EnabledSwitch
              name={client.clientKey}
              enabled={client.status === '0'}
              consequence={t('clients.disableBody')}
              fixed={inUse(client) ? t('clients.ownIsFixed') : !canEdit && t('clients.mayNotEdit')}
              change={(to) => plinth.clientChangeStatus({ body: { id: client.id, status: to } })}
              changes={[['clients']]}
            />
          ),
        },
      ]}
      openLabel={() => t(canEdit ? 'clients.edit' : 'clients.view')}
      remove={
        may('system:client:remove') && {
          single: true,
          isFixed: inUse,
          title: ({ clientKey }) => t('clients.removeNamed', { name: clientKey }),
          body: () => t('clients.removeBody'),
          action: () => t('clients.remove'),
          typed: ([client]) => client?.clientKey,
          run: (rows) => plinth.clientRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('clients.removed'),
          changes: [['sign-ins']],
        }
      }
      empty={{ icon: IconDeviceDesktop, title: t('clients.empty'), hint: t('clients.about') }}
    />
  );
}
