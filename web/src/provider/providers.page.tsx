import { Button, Group, Switch, Text } from '@mantine/core';
import {
  IconBrandStackshare,
  IconCpu,
  IconKey,
  IconPencil,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { ProviderView } from '@plinth/client';
import { modals } from '@mantine/modals';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty } from '../ui/empty';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { VendorMark } from '../ui/vendor-mark';
import { KeyDrawer } from './key-drawer';
import { ProviderDrawer } from './provider-drawer';

export default function ProvidersPage() {
  const { t } = useTranslation('provider');
  const { may } = useMe();
  const [edited, setEdited] = useState<ProviderView | 'new'>();
  const [keyed, setKeyed] = useState<ProviderView>();
  const canEdit = may('system:provider:edit');
  const remove = useAction(
    (rows: readonly ProviderView[]) =>
      withMessage(plinth.providerRemove, { path: { ids: rows.map(({ id }) => String(id)) } }),
    { done: ({ message }) => message, changes: [['providers'], ['models'], ['home']] },
  );
  const askToRemove = (rows: readonly ProviderView[], after?: () => void): void =>
    confirmDestruction({
      title: t('remove', { count: rows.length }),
      body: t('removeBody', { names: rows.map(({ providerName }) => providerName).join(', ') }),
      action: t('remove', { count: rows.length }),
      run: async () => {
        await remove.mutateAsync(rows);
        after?.();
      },
    });
  const add = may('system:provider:add') && (
    <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setEdited('new')}>
      {t('add')}
    </Button>
  );
  const columns: readonly Column<ProviderView>[] = [
    {
      id: 'name',
      title: t('name'),
      sort: 'providerName',
      cell: (row) => (
        <Group gap="sm" wrap="nowrap">
          <VendorMark code={row.providerCode} />
          <span>{row.providerName}</span>
        </Group>
      ),
    },
    {
      id: 'code',
      title: t('code'),
      sort: 'providerCode',
      cell: (row) => <Text size="sm">{row.providerCode}</Text>,
    },
    {
      id: 'address',
      title: t('address'),
      sort: 'apiHost',
      cell: (row) => (
        <Text size="sm" c="dimmed">
          {row.apiHost || '–'}
        </Text>
      ),
    },
    {
      id: 'description',
      title: t('description'),
      optional: true,
      cell: (row) => row.providerDesc || '–',
    },
    {
      id: 'order',
      title: t('order'),
      sort: 'sortOrder',
      optional: true,
      cell: (row) => row.sortOrder,
    },
    {
      id: 'updated',
      title: t('updated'),
      sort: 'updateTime',
      optional: true,
      cell: (row) => <Time value={row.updateTime} />,
    },
    {
      id: 'enabled',
      title: t('enabled'),
      width: 90,
      cell: (row) => <EnabledSwitch provider={row} disabled={!canEdit} />,
    },
  ];
  return (
    <Page title={t('title')} description={t('about')} actions={add}>
      <DataTable
        name="providers"
        label={t('title')}
        columns={columns}
        filters={['q', 'status']}
        load={(query, { q, status }, signal) =>
          plinth.providerList({
            query: {
              ...query,
              providerName: q,
              status: status === undefined ? undefined : status === '1' ? 1 : 0,
            },
            signal,
          })
        }
        rowKey={({ id }) => id}
        toolbar={
          <>
            <AddressSearch name="q" label={t('search')} />
            <AddressSelect
              name="status"
              label={t('anyState')}
              data={[
                { value: '0', label: t('enabled') },
                { value: '1', label: t('disabled') },
              ]}
            />
          </>
        }
        empty={
          <Empty icon={IconBrandStackshare} title={t('empty')} action={add}>
            {t('emptyHint')}
          </Empty>
        }
        {...(canEdit && { onOpen: setEdited })}
        rowActions={(row) => (
          <>
            <MenuItem
              icon={IconCpu}
              renderRoot={(props) => (
                <Link to="/models" search={{ provider: row.providerCode } as never} {...props} />
              )}
            >
              {t('showModels')}
            </MenuItem>
            {canEdit && (
              <MenuItem icon={IconPencil} onClick={() => setEdited(row)}>
                {t('edit')}
              </MenuItem>
            )}
            {may('system:model:edit') && (
              <MenuItem icon={IconKey} onClick={() => setKeyed(row)}>
                {t('key.replace')}
              </MenuItem>
            )}
            {may('system:provider:remove') && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([row])}>
                {t('remove', { count: 1 })}
              </MenuItem>
            )}
          </>
        )}
        {...(may('system:provider:remove') && {
          bulkActions: (rows: readonly ProviderView[], clear: () => void) => (
            <Button variant="light" color="red" onClick={() => askToRemove(rows, clear)}>
              {t('remove', { count: rows.length })}
            </Button>
          ),
        })}
        {...(may('system:provider:export') && {
          onExport: async ({ q, status }) =>
            saveFile(
              await plinth.providerExport({
                body: {
                  providerName: q,
                  status: status === undefined ? undefined : status === '1' ? 1 : 0,
                },
              }),
            ),
        })}
      />
      {edited && (
        <ProviderDrawer
          provider={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
      {keyed && <KeyDrawer provider={keyed} onClose={() => setKeyed(undefined)} />}
    </Page>
  );
}

interface SwitchProps {
  readonly provider: ProviderView;
  readonly disabled: boolean;
}

/** Enables a provider. Disabling asks for confirmation, because it also disables the provider's models. */
function EnabledSwitch({ provider, disabled }: SwitchProps) {
  const { t } = useTranslation('provider');
  const { id, providerName: name, status } = provider;
  const change = useAction(
    (to: 0 | 1) => withMessage(plinth.providerUpdate, { body: { id, status: to } }),
    {
      done: ({ message }) => (status === 0 ? message : t('nowEnabled', { name })),
      changes: [['providers'], ['models']],
    },
  );
  const ask = (): void => {
    if (status !== 0) {
      change.mutate(0);
      return;
    }
    modals.openConfirmModal({
      title: t('disableTitle', { name }),
      children: t('disableBody'),
      labels: { confirm: t('disable'), cancel: t('cancel') },
      onConfirm: () => change.mutate(1),
    });
  };
  return (
    <Switch
      aria-label={t('enabledNamed', { name })}
      checked={status === 0}
      disabled={disabled || change.isPending}
      onChange={ask}
    />
  );
}
