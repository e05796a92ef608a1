import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { IconBook2, IconPlus, IconSettings, IconTrash } from '@tabler/icons-react';
import type { KnowledgeView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { saveFile } from '../ui/download';
import { NewBase } from './new-base';

/** The page of the knowledge bases that the user may read. */
export default function KnowledgePage() {
  const { t } = useTranslation('knowledge');
  const { t: ofApp } = useTranslation('app');
  const { user, isSuperAdmin, may } = useMe();
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const remove = useAction(
    (id: number) => plinth.knowledgeRemove({ path: { ids: [String(id)] } }),
    {
      done: t('base.deleted'),
      changes: [['knowledge']],
    },
  );
  const open = ({ id }: KnowledgeView, tab?: string): void => {
    void navigate({
      to: '/knowledge/$knowledgeId',
      params: { knowledgeId: String(id) },
      search: tab ? { tab } : {},
    });
  };
  const isMine = ({ userId }: KnowledgeView): boolean => isSuperAdmin || userId === user?.userId;
  const columns: readonly Column<KnowledgeView>[] = [
    { id: 'name', title: t('base.name'), sort: 'name', cell: (base) => <BaseName base={base} /> },
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
    {
      id: 'created',
      title: t('created'),
      sort: 'createTime',
      optional: true,
      cell: ({ createTime }) => <Time value={createTime} />,
    },
    {
      id: 'changed',
      title: t('changed'),
      sort: 'updateTime',
      width: 140,
      cell: ({ updateTime }) => <Time value={updateTime} />,
    },
  ];
  const add = may('system:info:add') && (
    <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setAdding(true)}>
      {t('base.add')}
    </Button>
  );
  return (
    <Page title={ofApp('pages.knowledge')} description={t('about')} actions={add}>
      <DataTable
        name="knowledge"
        label={t('base.list')}
        columns={columns}
        load={(query, { name, share }, signal) =>
          plinth.knowledgeList({
            query: {
              ...query,
              ...(name && { name }),
              ...(share && { share: share === '1' ? 1 : 0 }),
            },
            signal,
          })
        }
        rowKey={({ id }) => id}
        filters={['name', 'share']}
        toolbar={
          <>
            <AddressSearch name="name" label={t('base.search')} />
            <AddressSelect
              name="share"
              label={t('base.sharing')}
              data={[
                { value: '1', label: t('base.shared') },
                { value: '0', label: t('base.private') },
              ]}
            />
          </>
        }
        empty={
          <Empty icon={IconBook2} title={t('base.none')} action={add}>
            {t(may('system:info:add') ? 'base.noneHint' : 'base.noneReadable')}
          </Empty>
        }
        onOpen={(base) => open(base)}
        rowActions={(base) => (
          <>
            <MenuItem icon={IconSettings} onClick={() => open(base, 'settings')}>
              {t('base.openSettings')}
            </MenuItem>
            {isMine(base) && may('system:info:remove') && (
              <MenuItem
                color="red"
                icon={IconTrash}
                onClick={() =>
                  confirmDestruction({
                    title: t('base.delete'),
                    body: t('base.deleteBody', { name: base.name, count: base.documentCount }),
                    action: t('base.delete'),
                    ...(base.documentCount > 0 && { name: base.name }),
                    run: () => remove.mutateAsync(base.id),
                  })
                }
              >
                {t('base.delete')}
              </MenuItem>
            )}
          </>
        )}
        {...(may('system:info:export') && {
          onExport: async ({ name, share, ...order }) =>
            saveFile(
              await plinth.knowledgeExport({
                body: {
                  ...order,
                  ...(name && { name }),
                  ...(share && { share: share === '1' ? 1 : 0 }),
                },
              }),
            ),
        })}
      />
      {adding && <NewBase onClose={() => setAdding(false)} />}
    </Page>
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
