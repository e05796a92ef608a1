import { Badge, Group, Stack, Text } from '@mantine/core';
import {
  IconHistory,
  IconKey,
  IconLogin2,
  IconPlugConnectedX,
  IconShieldOff,
  IconTableImport,
  IconUsers,
} from '@tabler/icons-react';
import type { UserView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { MenuItem, MenuLink } from '../ui/menu-item';
import { PasswordOnce } from './password';
import type { Credentials } from './password';
import { ResetPasswordDrawer } from './reset-password';
import { UserDrawer } from './user-drawer';
import { UserImport } from './user-import';

export default function UsersPage() {
  const { t } = useTranslation('administration');
  const { may, user: me } = useMe();
  const status = useStatusFilter();
  const [resetting, setResetting] = useState<UserView>();
  const [importing, setImporting] = useState(false);
  const [once, setOnce] = useState<Credentials>();
  const canEdit = may('system:user:edit');
  const isMe = ({ userId }: UserView): boolean => userId === me?.userId;
  const roles = useQuery({
    queryKey: ['roles', 'options'],
    queryFn: ({ signal }) => plinth.roleOptions({ signal }),
    enabled: may('system:role:query'),
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

  const removeSecondFactor = useAction(
    ({ userId }: UserView) => plinth.secondFactorUserRemove({ path: { userId } }),
    { changes: [['sign-ins']], done: t('users.secondFactor.done') },
  );
  const askToRemoveSecondFactor = (user: UserView): void => {
    const name = user.userName;
    confirmDestruction({
      title: t('users.secondFactor.title', { name }),
      body: t('users.secondFactor.body', { name }),
      action: t('users.secondFactor.action'),
      run: () => removeSecondFactor.mutateAsync(user),
    });
  };
  const roleChoices = (roles.data ?? []).map(({ roleId, roleName }) => ({
    value: String(roleId),
    label: roleName,
  }));
  return (
    <ListPage
      name="users"
      title={t('users.title')}
      description={t('users.about')}
      filters={[
        { name: 'q', label: t('users.search') },
        { name: 'role', label: t('users.anyRole'), choices: roleChoices },
        status,
      ]}
      query={(filters: SearchParams) => ({
        keyword: filters['q'],
        status: filters['status'],
        roleId: filters['role'] === undefined ? undefined : Number(filters['role']),
      })}
      load={(query, signal) => plinth.userList({ query, signal })}
      download={may('system:user:export') && ((body) => plinth.userExport({ body }))}
      rowKey={({ userId }: UserView) => userId}
      actions={
        may('system:user:import') && (
          <ActionButton variant="default" icon={IconTableImport} onClick={() => setImporting(true)}>
            {t('users.import.open')}
          </ActionButton>
        )
      }
      add={may('system:user:add') && t('users.add')}
      form={(user, close) => <UserDrawer user={user} onCreated={setOnce} onClose={close} />}
      canOpen={may('system:user:query')}
      columns={[
        {
          id: 'userName',
          title: t('users.userName'),
          sort: true,
          cell: (user) => (
            <>
              {user.userName}
              {isMe(user) && (
                <Badge ml="xs" size="sm" variant="light">
                  {t('users.you')}
                </Badge>
              )}
            </>
          ),
        },
        { id: 'nickName', title: t('users.nickName'), sort: true },
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
        { id: 'loginDate', title: t('users.lastSignIn'), sort: true, show: 'time' },
        { id: 'email', title: t('users.email'), sort: true, optional: true },
        { id: 'phonenumber', title: t('users.phone'), optional: true },
        { id: 'loginIp', title: t('users.lastAddress'), optional: true },
        { id: 'remark', title: t('users.remark'), optional: true },
        { id: 'createTime', title: t('users.created'), sort: true, show: 'time', optional: true },
        {
          id: 'status',
          title: t('status.enabled'),
          width: 90,
          cell: (user) => (
            <EnabledSwitch
              name={user.userName}
              enabled={user.status === '0'}
              consequence={t('users.disableBody')}
              fixed={isMe(user) ? t('users.notYourself') : !canEdit && t('users.mayNotEdit')}
              change={(to) =>
                plinth.userChangeStatus({ body: { userId: user.userId, status: to } })
              }
              changes={[['users']]}
            />
          ),
        },
      ]}
      openLabel={canEdit && (() => t('users.edit'))}
      rowActions={(user) => (
        <>
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
          {canEdit && !isMe(user) && (
            <MenuItem icon={IconShieldOff} onClick={() => askToRemoveSecondFactor(user)}>
              {t('users.secondFactor.open')}
            </MenuItem>
          )}
          {may('monitor:online:list') && (
            <MenuLink icon={IconLogin2} to="/sign-ins" search={{ q: user.userName }}>
              {t('users.showSignIns')}
            </MenuLink>
          )}
          {may('monitor:audit:list') && (
            <MenuLink icon={IconHistory} to="/audit" search={{ who: user.userName }}>
              {t('users.showAudit')}
            </MenuLink>
          )}
        </>
      )}
      remove={
        may('system:user:remove') && {
          isFixed: isMe,
          body: (users) => (
            <Stack gap="xs">
              <Text>{t('users.removeBody')}</Text>
              <Text fw={600}>{users.map(({ userName }) => userName).join(', ')}</Text>
            </Stack>
          ),
          action: (count) => t('users.remove', { count }),
          typed: ({ length }) => (length > 1 ? t('users.removeWord') : undefined),
          run: (users) =>
            plinth.userRemove({ path: { userIds: users.map(({ userId }) => String(userId)) } }),
          done: t('users.removed'),
          changes: [['roles']],
        }
      }
      empty={{ icon: IconUsers, title: t('users.empty'), hint: t('users.emptyHint') }}
    >
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
    </ListPage>
  );
}
