import { Badge, Button, Text } from '@mantine/core';
import {
  IconCopy,
  IconPencil,
  IconPlus,
  IconShieldLock,
  IconTrash,
  IconUsers,
} from '@tabler/icons-react';
import type { RoleListQuery, RoleView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
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
import { expanded, permissionsQuery } from './permissions';

function filterOf({ q, status }: SearchParams): RoleListQuery {
  return { roleName: q, status };
}

export default function RolesPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const navigate = useNavigate();
  const canEdit = may('system:role:edit');
  const canRemove = may('system:role:remove');
  const all = useQuery(permissionsQuery).data?.rows ?? [];
  const open = ({ roleId }: RoleView): void =>
    void navigate({ to: '/roles/$roleId', params: { roleId: String(roleId) } });

  const remove = useAction(
    (roles: readonly RoleView[]) =>
      plinth.roleRemove({ path: { roleIds: roles.map(({ roleId }) => String(roleId)) } }),
    { done: t('roles.removed'), changes: [['roles']] },
  );
  const askToRemove = (roles: readonly RoleView[], after?: () => void): void =>
    confirmDestruction({
      title: t('roles.remove', { count: roles.length }),
      body: t('roles.removeBody', { names: roles.map(({ roleName }) => roleName).join(', ') }),
      action: t('roles.remove', { count: roles.length }),
      run: async () => {
        await remove.mutateAsync(roles);
        after?.();
      },
    });

  const add = may('system:role:add') && (
    <Button
      leftSection={<IconPlus size={16} stroke={1.5} />}
      renderRoot={(props) => <Link to="/roles/$roleId" params={{ roleId: 'new' }} {...props} />}
    >
      {t('roles.add')}
    </Button>
  );
  const columns: readonly Column<RoleView>[] = [
    {
      id: 'roleName',
      title: t('roles.name'),
      sort: 'roleName',
      cell: ({ roleName }) => roleName,
    },
    { id: 'roleKey', title: t('roles.key'), sort: 'roleKey', cell: ({ roleKey }) => roleKey },
    {
      id: 'permissions',
      title: t('roles.permissions'),
      cell: ({ permissions, superAdmin }) =>
        superAdmin ? (
          <Badge variant="light">{t('roles.everything')}</Badge>
        ) : (
          t('roles.permissionCount', {
            count: expanded(permissions, all).length,
            shown: number(expanded(permissions, all).length),
          })
        ),
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
    {
      id: 'roleSort',
      title: t('roles.order'),
      sort: 'roleSort',
      optional: true,
      cell: ({ roleSort }) => number(roleSort),
    },
    {
      id: 'createTime',
      title: t('roles.created'),
      sort: 'createTime',
      optional: true,
      cell: ({ createTime }) => <Time value={createTime} />,
    },
    {
      id: 'status',
      title: t('status.enabled'),
      width: 90,
      cell: (role) => (
        <EnabledSwitch
          name={role.roleName}
          enabled={role.status === '0'}
          consequence={t('roles.disableBody')}
          fixed={role.superAdmin ? t('roles.fixed') : canEdit ? undefined : t('roles.mayNotEdit')}
          change={(status) => plinth.roleChangeStatus({ body: { roleId: role.roleId, status } })}
          changes={[['roles'], ['me']]}
        />
      ),
    },
  ];
  return (
    <Page title={t('roles.title')} description={t('roles.about')} actions={add}>
      <DataTable
        name="roles"
        label={t('roles.title')}
        columns={columns}
        filters={['q', 'status']}
        load={(query, filters, signal) =>
          plinth.roleList({ query: { ...query, ...filterOf(filters) }, signal })
        }
        rowKey={({ roleId }) => roleId}
        toolbar={
          <>
            <AddressSearch name="q" label={t('roles.search')} />
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
          <Empty icon={IconShieldLock} title={t('roles.empty')} action={add}>
            {t('roles.about')}
          </Empty>
        }
        {...(may('system:role:query') && { onOpen: open })}
        rowActions={(role) => (
          <>
            {may('system:role:query') && (
              <MenuItem icon={IconPencil} onClick={() => open(role)}>
                {t(canEdit && !role.superAdmin ? 'roles.edit' : 'roles.view')}
              </MenuItem>
            )}
            {may('system:role:query') && (
              <MenuItem
                icon={IconUsers}
                renderRoot={(props) => (
                  <Link
                    to="/roles/$roleId"
                    params={{ roleId: String(role.roleId) }}
                    search={{ tab: 'members' } as never}
                    {...props}
                  />
                )}
              >
                {t('roles.members')}
              </MenuItem>
            )}
            {may('system:role:add') && !role.superAdmin && (
              <MenuItem
                icon={IconCopy}
                renderRoot={(props) => (
                  <Link
                    to="/roles/$roleId"
                    params={{ roleId: 'new' }}
                    search={{ from: String(role.roleId) } as never}
                    {...props}
                  />
                )}
              >
                {t('roles.copy')}
              </MenuItem>
            )}
            {canRemove && !role.superAdmin && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([role])}>
                {t('roles.remove', { count: 1 })}
              </MenuItem>
            )}
          </>
        )}
        {...(canRemove && {
          bulkActions: (roles: readonly RoleView[], clear: () => void) => (
            <Button
              variant="light"
              color="red"
              disabled={roles.some(({ superAdmin }) => superAdmin)}
              onClick={() => askToRemove(roles, clear)}
            >
              {t('roles.remove', { count: roles.length })}
            </Button>
          ),
        })}
        {...(may('system:role:export') && {
          onExport: async (filters: SearchParams) =>
            saveFile(
              await plinth.roleExport({ body: { ...orderOf(filters), ...filterOf(filters) } }),
            ),
        })}
      />
    </Page>
  );
}
