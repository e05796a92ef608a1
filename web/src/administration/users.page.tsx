import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import {
  IconHistory,
  IconKey,
  IconLogin2,
  IconPencil,
  IconPlugConnectedX,
  IconPlus,
  IconTableImport,
  IconTrash,
  IconUsers,
} from '@tabler/icons-react';
import type { UserListQuery, UserView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
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
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { EnabledSwitch } from './enabled-switch';
import { orderOf } from './order';
import { PasswordOnce } from './password';
import type { Credentials } from './password';
import { ResetPasswordDrawer } from './reset-password';
import { UserDrawer } from './user-drawer';
import { UserImport } from './user-import';

const FILTERS = ['q', 'status', 'role'];

function filterOf({ q, status, role }: SearchParams): UserListQuery {
  return { keyword: q, status, roleId: role === undefined ? undefined : Number(role) };
}

export default function UsersPage() {
  const { t } = useTranslation('administration');
  const { may, user: me } = useMe();
  const [edited, setEdited] = useState<UserView | 'new'>();
  const [resetting, setResetting] = useState<UserView>();
  const [importing, setImporting] = useState(false);
  const [once, setOnce] = useState<Credentials>();
  const canEdit = may('system:user:edit');
  const canRemove = may('system:user:remove');
  const isMe = ({ userId }: UserView): boolean => userId === me?.userId;

  const roles = useQuery({
    queryKey: ['roles', 'options'],
    queryFn: ({ signal }) => plinth.roleOptions({ signal }),
    enabled: may('system:role:query'),
  });
  const remove = useAction(
    (users: readonly UserView[]) =>
      plinth.userRemove({ path: { userIds: users.map(({ userId }) => String(userId)) } }),
    { done: t('users.removed'), changes: [['users'], ['roles']] },
  );
  const askToRemove = (users: readonly UserView[], after?: () => void): void =>
    confirmDestruction({
      title: t('users.remove', { count: users.length }),
      body: (
        <Stack gap="xs">
          <Text>{t('users.removeBody')}</Text>
          <Text fw={600}>{users.map(({ userName }) => userName).join(', ')}</Text>
        </Stack>
      ),
      action: t('users.remove', { count: users.length }),
      ...(users.length > 1 && { name: t('users.removeWord') }),
      run: async () => {
        await remove.mutateAsync(users);
        after?.();
      },
    });

  const disconnect = useAction(
    ({ userId }: UserView) => plinth.ssoUserDisconnect({ body: { userId } }),
    {
      changes: [['sign-ins']],
      done: t('users.disconnect.done'),
    },
  );
  const askToDisconnect = (user: UserView): void => {
    const name = user.userName;
    confirmDestruction({
      title: t('users.disconnect.title', { name }),
      body: t('users.disconnect.body', { name }),
      action: t('users.disconnect.action'),
      run: () => disconnect.mutateAsync(user),
    });
  };

  const add = may('system:user:add') && (
    <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setEdited('new')}>
      {t('users.add')}
    </Button>
  );
  const columns: readonly Column<UserView>[] = [
    {
      id: 'userName',
      title: t('users.userName'),
      sort: 'userName',
      cell: ({ userName, userId }) => (
        <>
          {userName}
          {userId === me?.userId && (
            <Badge ml="xs" size="sm" variant="light">
              {t('users.you')}
            </Badge>
          )}
        </>
      ),
    },
    {
      id: 'nickName',
      title: t('users.nickName'),
      sort: 'nickName',
      cell: ({ nickName }) => nickName,
    },
    {
      id: 'roles',
      title: t('users.roles'),
      cell: ({ roles: held }) =>
        held.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('users.noRole')}
          </Text>
        ) : (
          <Group gap={4}>
            {held.map(({ roleId, roleName, status }) => (
              <Badge key={roleId} variant="light" color={status === '0' ? 'indigo' : 'gray'}>
                {roleName}
              </Badge>
            ))}
          </Group>
        ),
    },
    {
      id: 'loginDate',
      title: t('users.lastSignIn'),
      sort: 'loginDate',
      cell: ({ loginDate }) => <Time value={loginDate} />,
    },
    {
      id: 'email',
      title: t('users.email'),
      sort: 'email',
      optional: true,
      cell: ({ email }) => email || '–',
    },
    {
      id: 'phonenumber',
      title: t('users.phone'),
      optional: true,
      cell: ({ phonenumber }) => phonenumber || '–',
    },
    {
      id: 'loginIp',
      title: t('users.lastAddress'),
      optional: true,
      cell: ({ loginIp }) => loginIp ?? '–',
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
      cell: (user) => (
        <EnabledSwitch
          name={user.userName}
          enabled={user.status === '0'}
          consequence={t('users.disableBody')}
          fixed={isMe(user) ? t('users.notYourself') : canEdit ? undefined : t('users.mayNotEdit')}
          change={(status) => plinth.userChangeStatus({ body: { userId: user.userId, status } })}
          changes={[['users']]}
        />
      ),
    },
  ];
  return (
    <Page
      title={t('users.title')}
      description={t('users.about')}
      actions={
        <>
          {may('system:user:import') && (
            <Button
              variant="default"
              leftSection={<IconTableImport size={16} stroke={1.5} />}
              onClick={() => setImporting(true)}
            >
              {t('users.import.open')}
            </Button>
          )}
          {add}
        </>
      }
    >
      <DataTable
        name="users"
        label={t('users.title')}
        columns={columns}
        filters={FILTERS}
        load={(query, filters, signal) =>
          plinth.userList({ query: { ...query, ...filterOf(filters) }, signal })
        }
        rowKey={({ userId }) => userId}
        toolbar={
          <>
            <AddressSearch name="q" label={t('users.search')} />
            <AddressSelect
              name="role"
              label={t('users.anyRole')}
              data={(roles.data ?? []).map(({ roleId, roleName }) => ({
                value: String(roleId),
                label: roleName,
              }))}
            />
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
          <Empty icon={IconUsers} title={t('users.empty')} action={add}>
            {t('users.emptyHint')}
          </Empty>
        }
        {...(may('system:user:query') && { onOpen: setEdited })}
        rowActions={(user) => (
          <>
            {canEdit && (
              <MenuItem icon={IconPencil} onClick={() => setEdited(user)}>
                {t('users.edit')}
              </MenuItem>
            )}
            {may('system:user:resetPwd') && !isMe(user) && (
              <MenuItem icon={IconKey} onClick={() => setResetting(user)}>
                {t('users.reset.open')}
              </MenuItem>
            )}
            {canEdit && !isMe(user) && (
              <MenuItem icon={IconPlugConnectedX} onClick={() => askToDisconnect(user)}>
                {t('users.disconnect.open')}
              </MenuItem>
            )}
            {may('monitor:online:list') && (
              <MenuItem
                icon={IconLogin2}
                renderRoot={(props) => (
                  <Link to="/sign-ins" search={{ q: user.userName } as never} {...props} />
                )}
              >
                {t('users.showSignIns')}
              </MenuItem>
            )}
            {may('monitor:audit:list') && (
              <MenuItem
                icon={IconHistory}
                renderRoot={(props) => (
                  <Link to="/audit" search={{ who: user.userName } as never} {...props} />
                )}
              >
                {t('users.showAudit')}
              </MenuItem>
            )}
            {canRemove && !isMe(user) && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([user])}>
                {t('users.remove', { count: 1 })}
              </MenuItem>
            )}
          </>
        )}
        {...(canRemove && {
          bulkActions: (users: readonly UserView[], clear: () => void) => (
            <Button
              variant="light"
              color="red"
              disabled={users.some(isMe)}
              onClick={() => askToRemove(users, clear)}
            >
              {t('users.remove', { count: users.length })}
            </Button>
          ),
        })}
        {...(may('system:user:export') && {
          onExport: async (filters: SearchParams) =>
            saveFile(
              await plinth.userExport({ body: { ...orderOf(filters), ...filterOf(filters) } }),
            ),
        })}
      />
      {edited && (
        <UserDrawer
          user={edited === 'new' ? undefined : edited}
          onCreated={setOnce}
          onClose={() => setEdited(undefined)}
        />
      )}
      {resetting && (
        <ResetPasswordDrawer
          user={resetting}
          onDone={setOnce}
          onClose={() => setResetting(undefined)}
        />
      )}
      {importing && <UserImport onClose={() => setImporting(false)} />}
      {once && (
        <PasswordOnce
          title={t('password.title')}
          credentials={once}
          onClose={() => setOnce(undefined)}
        />
      )}
    </Page>
  );
}
