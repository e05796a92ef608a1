import { Alert, Badge, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { IconUserMinus, IconUserPlus, IconUsers } from '@tabler/icons-react';
import type { GroupMemberView, GroupView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { useAction } from '../ui/action';
import { ActionButton } from '../ui/buttons';
import { DataTable } from '../ui/data-table';
import { FormFailure } from '../ui/form';
import { number } from '../ui/format';
import { Page } from '../ui/page';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { useFixedText } from './group-drawer';
import { MemberPicker } from '../ui/member-picker';
import { userChoice } from './role-members';

const CHANGES = [['groups'], ['group-members'], ['me']];

/** A group with its members. */
export default function GroupPage() {
  const { t } = useTranslation('administration');
  const { groupId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: ['groups', 'one', groupId],
    queryFn: ({ signal }) => plinth.groupGet({ path: { groupId: Number(groupId) }, signal }),
  });
  return (
    <Page
      title={data?.displayName ?? t('groups.group')}
      above={[{ title: t('groups.title'), path: '/groups' }]}
    >
      {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
      {!error && !data && <RowsSkeleton />}
      {data && <Members key={groupId} group={data} />}
    </Page>
  );
}

function Members({ group }: { readonly group: GroupView }) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [adding, setAdding] = useState(false);
  const { groupId, displayName } = group;
  const fixed = useFixedText(group);
  const canEdit = may('system:group:edit');
  const canChange = canEdit && fixed === undefined;
  const add = canChange && (
    <ActionButton icon={IconUserPlus} onClick={() => setAdding(true)}>
      {t('groups.addMembers')}
    </ActionButton>
  );
  const idsOf = (members: readonly GroupMemberView[], wanted: GroupMemberView['type']) =>
    members.filter(({ type }) => type === wanted).map(({ id }) => id);
  return (
    <>
      <Text c="dimmed" mb="md">
        {t('groups.allUsers')}: {number(group.allUserCount)} (
        {t('groups.allUsersHelp', { direct: number(group.userCount) })})
      </Text>
      {!canChange && (
        <Alert color="gray" mb="md">
          {fixed ?? t('groups.mayNotEdit')}
        </Alert>
      )}
      <DataTable
        name="group-members"
        of={groupId}
        label={t('groups.memberLabel', { name: displayName })}
        filters={[{ name: 'q', label: t('groups.memberSearch') }]}
        query={({ q }: SearchParams) => ({ groupId, keyword: q })}
        load={({ orderByColumn: _, isAsc: __, ...query }, signal) =>
          plinth.groupMembers({ query, signal })
        }
        rowKey={({ type, id }: GroupMemberView) => `${type} ${id}`}
        columns={[
          {
            id: 'name',
            title: t('groups.name'),
            cell: ({ type, name }) => (
              <Group gap="xs">
                <Text fw={600}>{name}</Text>
                {type === 'group' && <Badge variant="light">{t('groups.group')}</Badge>}
              </Group>
            ),
          },
          { id: 'nickName', title: t('users.nickName') },
          {
            id: 'source',
            title: t('groups.source'),
            cell: ({ source }) => (source === null ? '–' : t(`groups.sources.${source}`)),
          },
        ]}
        tools={add}
        remove={
          canChange && {
            icon: IconUserMinus,
            body: (members) =>
              t('groups.memberRemoveBody', {
                name: displayName,
                names: members.map(({ name }) => name).join(', '),
              }),
            action: (count) => t('groups.memberRemove', { count }),
            run: (members) =>
              plinth.groupChangeMembers({
                body: {
                  groupId,
                  removedUserIds: idsOf(members, 'user'),
                  removedGroupIds: idsOf(members, 'group'),
                },
              }),
            done: t('groups.memberRemoved'),
            changes: CHANGES,
          }
        }
        empty={
          <Empty icon={IconUsers} title={t('groups.memberEmpty')} action={add}>
            {canChange && t('groups.memberEmptyHint')}
          </Empty>
        }
      />
      {adding && <AddMembers group={group} onClose={() => setAdding(false)} />}
    </>
  );
}

interface AddProps {
  readonly group: GroupView;
  readonly onClose: () => void;
}

function AddMembers({ group: { groupId, displayName }, onClose }: AddProps) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [users, setUsers] = useState<ReadonlyMap<string, string>>(new Map());
  const [groups, setGroups] = useState<ReadonlyMap<string, string>>(new Map());
  const [failure, setFailure] = useState<unknown>();
  const count = users.size + groups.size;
  const add = useAction(
    () =>
      plinth.groupChangeMembers({
        body: {
          groupId,
          addedUserIds: [...users.keys()].map(Number),
          addedGroupIds: [...groups.keys()].map(Number),
        },
      }),
    {
      done: t('groups.membersAdded', { count }),
      changes: CHANGES,
      after: onClose,
      onFailure: setFailure,
    },
  );
  const canSeeUsers = may('system:user:list');
  return (
    <Modal opened onClose={onClose} title={t('groups.addTo', { name: displayName })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Stack>
          {canSeeUsers && (
            <MemberPicker
              label={t('groups.users')}
              description={t('groups.usersHelp')}
              nothingFound={t('groups.noUser')}
              queryKey={['users', 'choices']}
              load={async (keyword, signal) => {
                const query = { pageSize: 50, ...(keyword && { keyword }) };
                return (await plinth.userList({ query, signal })).rows.map(userChoice);
              }}
              chosen={users}
              onChange={setUsers}
              autoFocus
            />
          )}
          <MemberPicker
            label={t('groups.groupsIn')}
            description={t('groups.groupsHelp')}
            nothingFound={t('groups.noGroup')}
            queryKey={['groups', 'choices', groupId]}
            load={async (text, signal) => {
              const query = { pageSize: 50, ...(text && { displayName: text }) };
              const { rows } = await plinth.groupList({ query, signal });
              return rows
                .filter((one) => one.groupId !== groupId)
                .map(({ groupId: id, displayName: name, source }) => ({
                  value: String(id),
                  label: source === 'local' ? name : `${name} (${t(`groups.sources.${source}`)})`,
                }));
            }}
            chosen={groups}
            onChange={setGroups}
            autoFocus={!canSeeUsers}
          />
          {failure !== undefined && <FormFailure error={failure} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={add.isPending} disabled={count === 0}>
              {t('groups.addMembers')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
