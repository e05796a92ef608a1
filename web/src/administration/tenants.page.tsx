import { Badge, Button, Stack, Text } from '@mantine/core';
import { IconBuilding, IconDoorEnter, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import type { TenantListQuery, TenantView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { session } from '../app/session';
import { useAction } from '../ui/action';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty } from '../ui/empty';
import { number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { EnabledSwitch } from './enabled-switch';
import { orderOf } from './order';
import { PasswordOnce } from './password';
import type { Credentials } from './password';
import { HOME_TENANT, TenantDrawer } from './tenant-drawer';

function filterOf({ q, status }: SearchParams): TenantListQuery {
  return { companyName: q, status };
}

export default function TenantsPage() {
  const { t } = useTranslation('administration');
  const { may, tenantId: current } = useMe();
  const navigate = useNavigate();
  const [edited, setEdited] = useState<TenantView | 'new'>();
  const [once, setOnce] = useState<Credentials>();
  const canEdit = may('system:tenant:edit');
  const canEnter = may('system:tenant:query');

  const enter = useAction(
    ({ tenantId }: TenantView) => plinth.tenantEnter({ path: { tenantId } }),
    {
      done: t('tenants.entered'),
      after: (_result, { tenantId }) => {
        session.enter(tenantId);
        void navigate({ to: '/' });
      },
    },
  );
  const remove = useAction(
    ({ id }: TenantView) => plinth.tenantRemove({ path: { ids: [String(id)] } }),
    {
      done: t('tenants.removed'),
      changes: [['tenants']],
    },
  );
  const askToRemove = (tenant: TenantView): void =>
    confirmDestruction({
      title: t('tenants.removeNamed', { name: tenant.companyName }),
      body: (
        <Stack gap="xs">
          <Text>{t('tenants.removeBody')}</Text>
          <Text c="dimmed">{t('tenants.removeInstead')}</Text>
        </Stack>
      ),
      action: t('tenants.remove'),
      name: tenant.companyName,
      run: () => remove.mutateAsync(tenant),
    });
  const add = may('system:tenant:add') && (
    <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setEdited('new')}>
      {t('tenants.add')}
    </Button>
  );
  const columns: readonly Column<TenantView>[] = [
    {
      id: 'companyName',
      title: t('tenants.company'),
      sort: 'companyName',
      cell: ({ companyName, tenantId }) => (
        <>
          {companyName}
          {tenantId === current && (
            <Badge ml="xs" size="sm" variant="light">
              {t('tenants.current')}
            </Badge>
          )}
        </>
      ),
    },
    { id: 'tenantId', title: t('tenants.id'), sort: 'tenantId', cell: ({ tenantId }) => tenantId },
    {
      id: 'contact',
      title: t('tenants.contact'),
      sort: 'contactUserName',
      cell: ({ contactUserName, contactPhone }) =>
        [contactUserName, contactPhone].filter(Boolean).join(' · ') || '–',
    },
    {
      id: 'accountCount',
      title: t('tenants.limit'),
      sort: 'accountCount',
      align: 'right',
      cell: ({ accountCount }) =>
        accountCount < 0 ? t('tenants.unlimited') : number(accountCount),
    },
    {
      id: 'expireTime',
      title: t('tenants.ends'),
      sort: 'expireTime',
      cell: ({ expireTime }) => (expireTime ? <Time value={expireTime} /> : t('tenants.never')),
    },
    {
      id: 'registerEnabled',
      title: t('tenants.register'),
      optional: true,
      cell: ({ registerEnabled }) => t(registerEnabled ? 'yes' : 'no'),
    },
    {
      id: 'domain',
      title: t('tenants.domain'),
      optional: true,
      cell: ({ domain }) => domain || '–',
    },
    {
      id: 'remark',
      title: t('users.remark'),
      optional: true,
      cell: ({ remark }) => remark || '–',
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
      cell: (tenant) => (
        <EnabledSwitch
          name={tenant.companyName}
          enabled={tenant.status === '0'}
          consequence={t('tenants.disableBody')}
          fixed={
            tenant.tenantId === HOME_TENANT
              ? t('tenants.homeIsFixed')
              : canEdit
                ? undefined
                : t('tenants.mayNotEdit')
          }
          change={(status) => plinth.tenantChangeStatus({ body: { id: tenant.id, status } })}
          changes={[['tenants']]}
        />
      ),
    },
  ];
  return (
    <Page title={t('tenants.title')} description={t('tenants.about')} actions={add}>
      <DataTable
        name="tenants"
        label={t('tenants.title')}
        columns={columns}
        filters={['q', 'status']}
        load={(query, filters, signal) =>
          plinth.tenantList({ query: { ...query, ...filterOf(filters) }, signal })
        }
        rowKey={({ id }) => id}
        toolbar={
          <>
            <AddressSearch name="q" label={t('tenants.search')} />
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
          <Empty icon={IconBuilding} title={t('tenants.empty')} action={add}>
            {t('tenants.about')}
          </Empty>
        }
        onOpen={setEdited}
        rowActions={(tenant) => (
          <>
            <MenuItem icon={IconPencil} onClick={() => setEdited(tenant)}>
              {t(canEdit ? 'tenants.edit' : 'tenants.view')}
            </MenuItem>
            {canEnter && tenant.tenantId !== current && (
              <MenuItem icon={IconDoorEnter} onClick={() => enter.mutate(tenant)}>
                {t('tenants.enter')}
              </MenuItem>
            )}
            {may('system:tenant:remove') && tenant.tenantId !== HOME_TENANT && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove(tenant)}>
                {t('tenants.remove')}
              </MenuItem>
            )}
          </>
        )}
        {...(may('system:tenant:export') && {
          onExport: async (filters: SearchParams) =>
            saveFile(
              await plinth.tenantExport({ body: { ...orderOf(filters), ...filterOf(filters) } }),
            ),
        })}
      />
      {edited && (
        <TenantDrawer
          tenant={edited === 'new' ? undefined : edited}
          onCreated={setOnce}
          onClose={() => setEdited(undefined)}
        />
      )}
      {once && (
        <PasswordOnce
          title={t('tenants.firstTitle')}
          credentials={once}
          onClose={() => setOnce(undefined)}
        />
      )}
    </Page>
  );
}
