import { Badge, Stack, Text } from '@mantine/core';
import { IconBuilding, IconDoorEnter } from '@tabler/icons-react';
import type { TenantView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { session } from '../app/session';
import { useAction } from '../ui/action';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { number } from '../ui/format';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import { Time } from '../ui/time';
import { PasswordOnce } from './password';
import type { Credentials } from './password';
import { HOME_TENANT, TenantDrawer } from './tenant-drawer';

export default function TenantsPage() {
  const { t } = useTranslation('administration');
  const { may, tenantId: current } = useMe();
  const navigate = useNavigate();
  const status = useStatusFilter();
  const [once, setOnce] = useState<Credentials>();
  const canEdit = may('system:tenant:edit');
  const canEnter = may('system:tenant:query');
  const isHome = ({ tenantId }: TenantView): boolean => tenantId === HOME_TENANT;
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
  return (
    <ListPage
      name="tenants"
      title={t('tenants.title')}
      description={t('tenants.about')}
      filters={[{ name: 'q', label: t('tenants.search') }, status]}
      query={(filters: SearchParams) => ({ companyName: filters['q'], status: filters['status'] })}
      load={(query, signal) => plinth.tenantList({ query, signal })}
      download={may('system:tenant:export') && ((body) => plinth.tenantExport({ body }))}
      rowKey={({ id }: TenantView) => id}
      add={may('system:tenant:add') && t('tenants.add')}
      form={(tenant, close) => <TenantDrawer tenant={tenant} onCreated={setOnce} onClose={close} />}
      columns={[
        {
          id: 'companyName',
          title: t('tenants.company'),
          sort: true,
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
        { id: 'tenantId', title: t('tenants.id'), sort: true },
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
          sort: true,
          align: 'right',
          cell: ({ accountCount }) =>
            accountCount < 0 ? t('tenants.unlimited') : number(accountCount),
        },
        {
          id: 'expireTime',
          title: t('tenants.ends'),
          sort: true,
          cell: ({ expireTime }) => (expireTime ? <Time value={expireTime} /> : t('tenants.never')),
        },
        {
          id: 'registerEnabled',
          title: t('tenants.register'),
          optional: true,
          cell: ({ registerEnabled }) => t(registerEnabled ? 'yes' : 'no'),
        },
        { id: 'domain', title: t('tenants.domain'), optional: true },
        { id: 'remark', title: t('users.remark'), optional: true },
        { id: 'createTime', title: t('users.created'), sort: true, show: 'time', optional: true },
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
                isHome(tenant) ? t('tenants.homeIsFixed') : !canEdit && t('tenants.mayNotEdit')
              }
              change={(to) => plinth.tenantChangeStatus({ body: { id: tenant.id, status: to } })}
              changes={[['tenants']]}
            />
          ),
        },
      ]}
      openLabel={() => t(canEdit ? 'tenants.edit' : 'tenants.view')}
      rowActions={(tenant) =>
        canEnter &&
        tenant.tenantId !== current && (
          <MenuItem icon={IconDoorEnter} onClick={() => enter.mutate(tenant)}>
            {t('tenants.enter')}
          </MenuItem>
        )
      }
      remove={
        may('system:tenant:remove') && {
          single: true,
          isFixed: isHome,
          title: ({ companyName }) => t('tenants.removeNamed', { name: companyName }),
          body: () => (
            <Stack gap="xs">
              <Text>{t('tenants.removeBody')}</Text>
              <Text c="dimmed">{t('tenants.removeInstead')}</Text>
            </Stack>
          ),
          action: () => t('tenants.remove'),
          typed: ([tenant]) => tenant?.companyName,
          run: (rows) => plinth.tenantRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('tenants.removed'),
        }
      }
      empty={{ icon: IconBuilding, title: t('tenants.empty'), hint: t('tenants.about') }}
    >
      {once && (
        <PasswordOnce
          title={t('tenants.firstTitle')}
          credentials={once}
          onClose={() => setOnce(undefined)}
        />
      )}
    </ListPage>
  );
}
