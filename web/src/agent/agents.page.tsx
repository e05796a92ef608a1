import { Badge, Group, Stack, Text } from '@mantine/core';
import { IconMessage, IconRobot } from '@tabler/icons-react';
import type { AgentView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAccessDrawer } from '../access/access-drawer';
import { isChangeable } from '../access/levels';
import type { SearchParams } from '../app/search-params';
import { EnabledSwitch } from '../ui/enabled-switch';
import { useStatusFilter } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { MenuLink } from '../ui/menu-item';

export default function AgentsPage() {
  const { t } = useTranslation('agent');
  const { may } = useMe();
  const status = useStatusFilter();
  const access = useAccessDrawer('agent');
  const canEdit = may('agent:agent:edit');
  return (
    <ListPage
      name="agents"
      title={t('title')}
      description={t('about')}
      filters={[{ name: 'q', label: t('search') }, status]}
      query={(filters: SearchParams) => ({ agentName: filters['q'], status: filters['status'] })}
      load={(query, signal) => plinth.agentList({ query, signal })}
      download={may('agent:agent:export') && ((body) => plinth.agentExport({ body }))}
      rowKey={({ id }: AgentView) => id}
      add={may('agent:agent:add') && t('add')}
      pageOf={(agent) => `/agents/${agent?.id ?? 'new'}`}
      columns={[
        {
          id: 'name',
          title: t('name'),
          sort: 'agentName',
          cell: (row) => (
            <Stack gap={0} align="flex-start">
              <Text size="sm" fw={600}>
                {row.agentName}
              </Text>
              <Text size="xs" c="dimmed" fw={400} ta="left" lineClamp={2}>
                {row.agentDescribe}
              </Text>
            </Stack>
          ),
        },
        {
          id: 'model',
          title: t('model'),
          sort: 'modelId',
          cell: (row) => row.modelName ?? <Text c="red">{t('modelGone')}</Text>,
        },
        {
          id: 'knowledge',
          title: t('knowledge'),
          cell: (row) => (
            <Group gap={4}>
              {row.knowledgeNames.map((name) => (
                <Badge key={name} variant="default" radius="sm" fw={400}>
                  {name}
                </Badge>
              ))}
            </Group>
          ),
        },
        {
          id: 'tools',
          title: t('tools'),
          cell: (row) => (
            <Text size="sm" c="dimmed">
              {row.tools.length === 0 ? '–' : row.tools.join(', ')}
            </Text>
          ),
        },
        {
          id: 'skills',
          title: t('skills'),
          optional: true,
          cell: (row) => (row.useSkills ? row.skillNames.join(', ') : '–'),
        },
        { id: 'updated', title: t('updated'), sort: 'updateTime', width: 130, show: 'time' },
        {
          id: 'enabled',
          title: t('enabled'),
          width: 90,
          cell: ({ id, agentName, level, status: current }) => (
            <EnabledSwitch
              name={agentName}
              enabled={current === '0'}
              fixed={(!canEdit && t('readOnly')) || (!isChangeable(level) && t('readOnlyGrant'))}
              change={(to) => plinth.agentUpdate({ body: { id, status: to } })}
              changes={[['agents']]}
            />
          ),
        },
      ]}
      openLabel={({ level }) => t(canEdit && isChangeable(level) ? 'edit' : 'show')}
      rowActions={({ id, agentName, level }) => (
        <>
          <MenuLink icon={IconMessage} to="/chat" search={{ agent: String(id) }}>
            {t('chat')}
          </MenuLink>
          {level === 'manage' && access.item({ id, name: agentName })}
        </>
      )}
      remove={
        may('agent:agent:remove') && {
          isFixed: ({ level }) => level !== 'manage',
          body: (rows) =>
            t('removeBody', { names: rows.map(({ agentName }) => agentName).join(', ') }),
          action: (count) => t('remove', { count }),
          run: (rows) => plinth.agentRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
          done: t('removed'),
        }
      }
      empty={{ icon: IconRobot, title: t('empty'), hint: t('emptyHint') }}
    >
      {access.drawer}
    </ListPage>
  );
}
