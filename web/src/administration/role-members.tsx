import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { IconUserMinus, IconUserPlus, IconUsers } from '@tabler/icons-react';
import type { RoleView, UserView } from '@plinth/client';
import type { QueryKey } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { FormFailure } from '../ui/form';
import { MemberPicker } from '../ui/member-picker';
import type { Choice } from '../ui/member-picker';

/** Query key prefix for the members of a role. */
function membersKey(roleId: number): string {
  return `role-members-${roleId}`;
}

function changesOf(roleId: number): readonly QueryKey[] {
  return [[membersKey(roleId)], ['users'], ['me']];
}

/** Lists the users that have a role. */
export function RoleMembers({ role }: { readonly role: RoleView }) {
  const { t } = useTranslation('administration');
  const { may, user: me } = useMe();
  const [adding, setAdding] = useState(false);
  const { roleId, roleName } = role;
  const canEdit = may('system:role:edit');
  const add = canEdit && (
    <ActionButton icon={IconUserPlus} onClick={() => setAdding(true)}>
      {t('members.add')}
    </ActionButton>
  );
  return (
    <>
      {!canEdit && (
        <Alert color="gray" mb="md">
          {t('roles.mayNotEdit')}
        </Alert>
      )}
      <DataTable
        name={membersKey(roleId)}
        label={t('members.label', { role: roleName })}
        filters={[{ name: 'q', label: t('members.search') }]}
        query={({ q }: SearchParams) => ({ roleId, userName: q })}
        load={(query, signal) => plinth.roleMemberList({ query, signal })}
        rowKey={({ userId }: UserView) => userId}
        columns={[
          {
            id: 'userName',
            title: t('users.userName'),
            sort: true,
            cell: ({ userName }) => <Text fw={600}>{userName}</Text>,
          },
          { id: 'nickName', title: t('users.nickName'), sort: true },
          {
            id: 'status',
            title: t('status.status'),
            cell: ({ status }) => t(status === '0' ? 'status.enabled' : 'status.disabled'),
          },
          { id: 'loginDate', title: t('users.lastSignIn'), sort: true, show: 'time' },
        ]}
        tools={add}
        remove={
          canEdit && {
            icon: IconUserMinus,
            isFixed: ({ userId }) => userId === me?.userId,
            body: (users) =>
              t('members.removeBody', {
                role: roleName,
                names: users.map(({ userName }) => userName).join(', '),
              }),
            action: (count) => t('members.remove', { count }),
            run: (users) =>
              plinth.roleMemberRemoveAll({
                query: { roleId, userIds: users.map(({ userId }) => userId) },
              }),
            done: t('members.removed'),
            changes: changesOf(roleId),
          }
        }
        empty={
          <Empty icon={IconUsers} title={t('members.empty')} action={add}>
            {t('members.emptyHint')}
          </Empty>
        }
      />
      {adding && <AddMembers role={role} onClose={() => setAdding(false)} />}
    </>
  );
}

interface AddProps {
  readonly role: RoleView;
  readonly onClose: () => void;
}

function AddMembers({ role: { roleId, roleName }, onClose }: AddProps) {
  const { t } = useTranslation('administration');
  const { user: me } = useMe();
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  const [failure, setFailure] = useState<unknown>();
  const add = useAction(
    () => plinth.roleMemberAddAll({ query: { roleId, userIds: [...names.keys()].map(Number) } }),
    {
      done: t('members.added', { count: names.size }),
      changes: changesOf(roleId),
      after: onClose,
      onFailure: setFailure,
    },
  );
  const candidates = async (userName: string, signal: AbortSignal) => {
    const query = { roleId, pageSize: 50, ...(userName && { userName }) };
    const { rows } = await plinth.roleMemberCandidates({ query, signal });
    return rows.filter(({ userId }) => userId !== me?.userId).map(userChoice);
  };
  return (
    <Modal opened onClose={onClose} title={t('members.addTo', { role: roleName })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Stack>
          <MemberPicker
            label={t('members.users')}
            description={t('members.usersHelp')}
            nothingFound={t('members.noUser')}
            queryKey={[membersKey(roleId), 'candidates']}
            load={candidates}
            chosen={names}
            onChange={setNames}
            autoFocus
          />
          {failure !== undefined && <FormFailure error={failure} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={add.isPending} disabled={names.size === 0}>
              {t('members.add')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** A user to choose. */
export function userChoice({ userId, userName, nickName }: UserView): Choice {
  const label = userName === nickName ? userName : `${userName} (${nickName})`;
  return { value: String(userId), label };
}
