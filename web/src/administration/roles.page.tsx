import { Badge, Text } from '@mantine/core';
import { IconCopy, IconShieldLock, IconUsers } from '@tabler/icons-react';
import type { RoleView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { number } from '../ui/format';
import { ListPage } from '../ui/list-page';
import { MenuLink } from '../ui/menu-item';
import { expanded, permissionsQuery } from './permissions';

export default function RolesPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const status = useStatusFilter();
  const canEdit = may('system:role:edit');
  const canOpen = may('system:role:query');
  const all = useQuery(permissionsQuery).data?.rows ?? [];
  const isFixed = ({ superAdmin }: RoleView): boolean => superAdmin;
  const pageOf = (role: RoleView | undefined): string => `/roles/${role?.roleId ?? 'new'}`;
  return (
    <ListPage
      name="roles"
      title={t('roles.title')}
      description={t('roles.about')}
      filters={[{ name: 'q', label: t('roles.search') }, status]}
      query={(filters: SearchParams) => ({ roleName: filters['q'], status: filters['status'] })}
      load={(query, signal) => plinth.roleList({ query, signal })}
      download={may('system:role:export') && ((body) => plinth.roleExport({ body }))}
      rowKey={({ roleId }: RoleView) => roleId}
      add={may('system:role:add') && t('roles.add')}
      pageOf={pageOf}
      canOpen={canOpen}
      columns={[
        { id: 'roleName', title: t('roles.name'), sort: true },
        { id: 'roleKey', title: t('roles.key'), sort: true },
        {
          id: 'permissions',
          title: t('roles.permissions'),
          cell: ({ permissions, superAdmin }) => {
            const count = expanded(permissions, all).length;
            if (superAdmin) return <Badge variant="light">{t('roles.everything')}</Badge>;
            return t('roles.permissionCount', { count, shown: number(count) });
          },
        },
        {
          id: 'remark',
          title: t('roles.remark'),
          cell: ({ remark }) => (
            <Text size="sm" c="dimmed" lineClamp={2}>
              {remark || '–'}
            </Text>
          ),
        },
        { id: 'roleSort', title: t('roles.order'), sort: true, show: 'number', optional: true },
        { id: 'createTime', title: t('roles.created'), sort: true, show: 'time', optional: true },
        {
          id: 'status',
          title: t('status.enabled'),
          width: 90,
          cell: (role) => (
            <EnabledSwitch
              name={role.roleName}
              enabled={role.status === '0'}
              consequence={t('roles.disableBody')}
              fixed={isFixed(role) ? t('roles.fixed') : !canEdit && t('roles.mayNotEdit')}
              change={(to) =>
                plinth.roleChangeStatus({ body: { roleId: role.roleId, status: to } })
              }
              changes={[['roles'], ['me']]}
            />
          ),
        },
      ]}
      openLabel={(role) => t(canEdit && !isFixed(role) ? 'roles.edit' : 'roles.view')}
      rowActions={(role) => (
        <>
          {canOpen && (
            <MenuLink icon={IconUsers} to={pageOf(role)} search={{ tab: 'members' }}>
              {t('roles.members')}
            </MenuLink>
          )}
          {may('system:role:add') && !isFixed(role) && (
            <MenuLink icon={IconCopy} to={pageOf(undefined)} search={{ from: String(role.roleId) }}>
              {t('roles.copy')}
            </MenuLink>
          )}
        </>
      )}
      remove={
        may('system:role:remove') && {
          isFixed,
          body: (roles) =>
            t('roles.removeBody', { names: roles.map(({ roleName }) => roleName).join(', ') }),
          action: (count) => t('roles.remove', { count }),
          run: (roles) =>
            plinth.roleRemove({ path: { roleIds: roles.map(({ roleId }) => String(roleId)) } }),
          done: t('roles.removed'),
        }
      }
      empty={{ icon: IconShieldLock, title: t('roles.empty'), hint: t('roles.about') }}
    />
  );
}
