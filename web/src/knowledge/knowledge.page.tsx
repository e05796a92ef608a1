import { Badge, Group, Stack, Text } from '@mantine/core';
import { IconBook2, IconSettings } from '@tabler/icons-react';
import type { KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { number } from '../ui/format';
import { ListPage } from '../ui/list-page';
import { MenuLink } from '../ui/menu-item';
import { useAccessDrawer } from '../access/access-drawer';
import { NewBase } from './new-base';

/** The page of the knowledge bases that the user may read. */
export default function KnowledgePage() {
  const { t } = useTranslation('knowledge');
  const { t: ofApp } = useTranslation('app');
  const { may } = useMe();
  const access = useAccessDrawer('knowledge');
  const canAdd = may('system:info:add');
  return (
    <ListPage
      name="knowledge"
      title={ofApp('pages.knowledge')}
      label={t('base.list')}
      description={t('about')}
      filters={[
        { name: 'name', label: t('base.search') },
        {
          name: 'share',
          label: t('base.sharing'),
          choices: [
            { value: '1', label: t('base.shared') },
            { value: '0', label: t('base.private') },
          ],
        },
      ]}
      query={({ name, share }: SearchParams) => ({
        ...(name && { name }),
        ...(share && { share: share === '1' ? (1 as const) : (0 as const) }),
      })}
      load={(query, signal) => plinth.knowledgeList({ query, signal })}
      download={may('system:info:export') && ((body) => plinth.knowledgeExport({ body }))}
      rowKey={({ id }: KnowledgeView) => id}
      add={canAdd && t('base.add')}
      form={(_base, close) => <NewBase onClose={close} />}
      pageOf={(base) => `/knowledge/${base?.id}`}
      columns={[
        {
          id: 'name',
          title: t('base.name'),
          sort: 'name',
          cell: (base) => <BaseName base={base} />,
        },
        {
          id: 'documents',
          title: t('base.documents'),
          align: 'right',
          width: 120,
          cell: ({ documentCount }) => number(documentCount),
        },
        {
          id: 'model',
          title: t('field.embeddingModel'),
          sort: 'embeddingModel',
          cell: ({ embeddingModel }) =>
            embeddingModel || (
              <Badge color="yellow" c="var(--plinth-warn)" variant="light">
                {t('base.noModel')}
              </Badge>
            ),
        },
        {
          id: 'share',
          title: t('base.sharing'),
          sort: 'share',
          width: 150,
          cell: ({ share }) => t(share === 1 ? 'base.shared' : 'base.private'),
        },
        {
          id: 'hybrid',
          title: t('field.enableHybrid'),
          sort: 'enableHybrid',
          optional: true,
          cell: ({ enableHybrid }) => t(enableHybrid === 1 ? 'on' : 'off'),
        },
        { id: 'created', title: t('created'), sort: 'createTime', show: 'time', optional: true },
        { id: 'changed', title: t('changed'), sort: 'updateTime', show: 'time', width: 140 },
      ]}
      rowActions={({ id, name, level }) => (
        <>
          <MenuLink icon={IconSettings} to={`/knowledge/${id}`} search={{ tab: 'settings' }}>
            {t('base.openSettings')}
          </MenuLink>
          {level === 'manage' && access.item({ id, name })}
        </>
      )}
      remove={
        may('system:info:remove') && {
          single: true,
          isFixed: ({ level }) => level !== 'manage',
          body: ([base]) =>
            t('base.deleteBody', { name: base?.name, count: base?.documentCount ?? 0 }),
          action: () => t('base.delete'),
          typed: ([base]) => (base && base.documentCount > 0 ? base.name : undefined),
          run: (bases) =>
            plinth.knowledgeRemove({ path: { ids: bases.map(({ id }) => String(id)) } }),
          done: t('base.deleted'),
        }
      }
      empty={{
        icon: IconBook2,
        title: t('base.none'),
        hint: t(canAdd ? 'base.noneHint' : 'base.noneReadable'),
      }}
    >
      {access.drawer}
    </ListPage>
  );
}

function BaseName({ base: { name, description, vectorsLostTime } }: { base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  return (
    <Stack gap={0} py={4} align="flex-start">
      <Group gap={8}>
        <span>{name}</span>
        {vectorsLostTime && (
          <Badge size="sm" color="yellow" c="var(--plinth-warn)" variant="light">
            {t('base.vectorsLost')}
          </Badge>
        )}
      </Group>
      {description && (
        <Text size="xs" c="dimmed" fw={400} lineClamp={1} ta="left">
          {description}
        </Text>
      )}
    </Stack>
  );
}
