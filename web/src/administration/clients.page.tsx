import { Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconDeviceDesktop, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import type { ClientListQuery, ClientView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { useSession } from '../app/session';
import { useAction } from '../ui/action';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { CopyButton } from '../ui/copy-button';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty } from '../ui/empty';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { ClientDrawer } from './client-drawer';
import { EnabledSwitch } from './enabled-switch';
import { orderOf } from './order';
import { span } from './span';

const SWITCHES = ['inlineThinking', 'inlineSources', 'inlineFailures'] as const;

function filterOf({ q, status }: SearchParams): ClientListQuery {
  return { clientKey: q, status };
}

export default function ClientsPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const session = useSession();
  const [edited, setEdited] = useState<ClientView | 'new'>();
  const canEdit = may('system:client:edit');
  const inUse = ({ clientId }: ClientView): boolean => clientId === session?.clientId;
  const remove = useAction(
    ({ id }: ClientView) => plinth.clientRemove({ path: { ids: [String(id)] } }),
    {
      done: t('clients.removed'),
      changes: [['clients'], ['sign-ins']],
    },
  );
  const askToRemove = (client: ClientView): void =>
    confirmDestruction({
      title: t('clients.removeNamed', { name: client.clientKey }),
      body: (
        <Stack gap="xs">
          <Text>{t('clients.removeBody')}</Text>
        </Stack>
      ),
      action: t('clients.remove'),
      name: client.clientKey,
      run: () => remove.mutateAsync(client),
    });
  const add = may('system:client:add') && (
    <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setEdited('new')}>
      {t('clients.add')}
    </Button>
  );
  const columns: readonly Column<ClientView>[] = [
    {
      id: 'clientKey',
      title: t('clients.key'),
      sort: 'clientKey',
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
    {
      id: 'deviceType',
      title: t('clients.device'),
      sort: 'deviceType',
      cell: ({ deviceType }) => deviceType ?? '–',
    },
    {
      id: 'activeTimeout',
      title: t('clients.idle'),
      sort: 'activeTimeout',
      cell: ({ activeTimeout }) => span(activeTimeout),
    },
    {
      id: 'timeout',
      title: t('clients.life'),
      sort: 'timeout',
      cell: ({ timeout }) => span(timeout),
    },
    {
      id: 'inline',
      title: t('clients.inline'),
      cell: (client) => {
        const on = SWITCHES.filter((one) => client[one]);
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
    {
      id: 'createTime',
      title: t('users.created'),
      sort: 'createTime',
      optional: true,
      cell: ({ createTime }) => <Time value={createTime} />,
    },
    {
      id: 'status',
      title: t('status.enabled'),
      width: 90,
      cell: (client) => (
        <EnabledSwitch
          name={client.clientKey}
          enabled={client.status === '0'}
          consequence={t('clients.disableBody')}
          fixed={
            inUse(client) ? t('clients.ownIsFixed') : canEdit ? undefined : t('clients.mayNotEdit')
          }
          change={(status) => plinth.clientChangeStatus({ body: { id: client.id, status } })}
          changes={[['clients']]}
        />
      ),
    },
  ];
  return (
    <Page title={t('clients.title')} description={t('clients.about')} actions={add}>
      <DataTable
        name="clients"
        label={t('clients.title')}
        columns={columns}
        filters={['q', 'status']}
        load={(query, filters, signal) =>
          plinth.clientList({ query: { ...query, ...filterOf(filters) }, signal })
        }
        rowKey={({ id }) => id}
        toolbar={
          <>
            <AddressSearch name="q" label={t('clients.search')} />
            <AddressSelect
              name="status"
              label={t('status.any')}
              data={[
                { value: '0', label: t('status.enabled') },
                { value: '1', label: t('status.disabled') },
              ]}
            />
          </>
        }
        empty={
          <Empty icon={IconDeviceDesktop} title={t('clients.empty')} action={add}>
            {t('clients.about')}
          </Empty>
        }
        onOpen={setEdited}
        rowActions={(client) => (
          <>
            <MenuItem icon={IconPencil} onClick={() => setEdited(client)}>
              {t(canEdit ? 'clients.edit' : 'clients.view')}
            </MenuItem>
            {may('system:client:remove') && !inUse(client) && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove(client)}>
                {t('clients.remove')}
              </MenuItem>
            )}
          </>
        )}
        {...(may('system:client:export') && {
          onExport: async (filters: SearchParams) =>
            saveFile(
              await plinth.clientExport({ body: { ...orderOf(filters), ...filterOf(filters) } }),
            ),
        })}
      />
      {edited && (
        <ClientDrawer
          client={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}
