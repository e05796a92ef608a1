import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { Failure, RowsSkeleton } from '../ui/states';
import { Page } from '../ui/page';
import { permissionsQuery } from './permissions';
import { RoleForm } from './role-form';
import { RoleMembers } from './role-members';

/** A role with its permissions and members. `/roles/new` adds a role; `?from=` copies an existing one. */
export default function RolePage() {
  const { t } = useTranslation('administration');
  const { roleId = '' } = useParams({ strict: false });
  const [{ tab = 'permissions', from }, change] = useSearchParams();
  const isNew = roleId === 'new';
  const source = isNew ? from : roleId;
  const role = useQuery({
    queryKey: ['roles', 'one', source],
    queryFn: ({ signal }) => plinth.roleGet({ path: { roleId: Number(source) }, signal }),
    enabled: source !== undefined,
  });
  const permissions = useQuery(permissionsQuery);
  const error = role.error ?? permissions.error;
  const ready = permissions.data && (source === undefined || role.data);
  const title = isNew ? t('roles.add') : (role.data?.roleName ?? t('roles.role'));
  return (
    <Page title={title} above={[{ title: t('roles.title'), path: '/roles' }]}>
      {error && !ready && (
        <Failure
          error={error}
          onRetry={() => {
            void role.refetch();
            void permissions.refetch();
          }}
        />
      )}
      {!error && !ready && <RowsSkeleton />}
      {ready && isNew && (
        <RoleForm
          key={`copy ${from ?? ''}`}
          permissions={permissions.data.rows}
          copied={role.data}
        />
      )}
      {ready && !isNew && role.data && (
        <Tabs
          value={tab}
          onChange={(value) =>
            change({
              tab: value === 'permissions' ? undefined : (value ?? undefined),
              page: undefined,
            })
          }
          keepMounted={false}
        >
          <Tabs.List mb="lg">
            <Tabs.Tab value="permissions">{t('roles.permissions')}</Tabs.Tab>
            <Tabs.Tab value="members">{t('roles.members')}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="permissions">
            <RoleForm key={roleId} permissions={permissions.data.rows} role={role.data} />
          </Tabs.Panel>
          <Tabs.Panel value="members">
            <RoleMembers role={role.data} />
          </Tabs.Panel>
        </Tabs>
      )}
    </Page>
  );
}
