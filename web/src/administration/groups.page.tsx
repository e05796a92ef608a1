import { Badge, Text } from '@mantine/core';
import { IconUsers, IconUsersGroup } from '@tabler/icons-react';
import type { GroupView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ListPage } from '../ui/list-page';
import { MenuLink } from '../ui/menu-item';
import { GroupDrawer } from './group-drawer';

const SOURCES = ['local', 'scim', 'sso'] as const;

export default function GroupsPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const canOpen = may('system:group:query');
  const isFixed = ({ source, userCount }: GroupView): boolean =>
    source === 'scim' || (source === 'sso' && userCount > 0);
  return (
    <ListPage
      name="groups"
      title={t('groups.title')}
      description={t('groups.about')}
      filters={[
        { name: 'q', label: t('groups.search') },
        {
          name: 'source',
          label: t('groups.anySource'),
          choices: SOURCES.map((value) => ({ value, label: t(`groups.sources.${value}`) })),
        },
      ]}
      query={(filters: SearchParams) => ({
        displayName: filters['q'],
        source: SOURCES.find((one) => one === filters['source']),
      })}
      load={(query, signal) => plinth.groupList({ query, signal })}
      rowKey={({ groupId }: GroupView) => groupId}
      add={may('system:group:add') && t('groups.add')}
      form={(group, close) => <GroupDrawer group={group} onClose={close} />}
      canOpen={may('system:group:edit')}
      columns={[
        { id: 'displayName', title: t('groups.name'), sort: true },
        {
          id: 'source',
          title: t('groups.source'),
          sort: true,
          cell: ({ source, providerName }) => (
            <Badge variant="light" color={source === 'local' ? 'indigo' : 'gray'}>
              {providerName ?? t(`groups.sources.${source}`)}
            </Badge>
          ),
        },
        { id: 'userCount', title: t('groups.users'), show: 'number' },
        { id: 'groupCount', title: t('groups.groupsIn'), show: 'number' },
        { id: 'allUserCount', title: t('groups.allUsers'), show: 'number' },
        {
          id: 'remark',
          title: t('groups.remark'),
          cell: ({ remark }) => (
            <Text size="sm" c="dimmed" lineClamp={2}>
              {remark || '–'}
            </Text>
          ),
        },
        { id: 'externalId', title: t('groups.external'), sort: true, optional: true },
        { id: 'updateTime', title: t('groups.updated'), sort: true, show: 'time', optional: true },
      ]}
      openLabel={({ source }) => t(source === 'local' ? 'groups.edit' : 'groups.view')}
      rowActions={
        canOpen &&
        (({ groupId }) => (
          <MenuLink icon={IconUsers} to={`/groups/${groupId}`}>
            {t('groups.members')}
          </MenuLink>
        ))
      }
      remove={
        may('system:group:remove') && {
          isFixed,
          body: (groups) =>
            t('groups.removeBody', {
              names: groups.map(({ displayName }) => displayName).join(', '),
            }),
          action: (count) => t('groups.remove', { count }),
          run: (groups) =>
            plinth.groupRemove({
              path: { groupIds: groups.map(({ groupId }) => String(groupId)) },
            }),
          done: t('groups.removed'),
        }
      }
      empty={{ icon: IconUsersGroup, title: t('groups.empty'), hint: t('groups.emptyHint') }}
    />
  );
}
