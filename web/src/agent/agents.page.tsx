import { Badge, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { IconMessage, IconPencil, IconPlus, IconRobot, IconTrash } from '@tabler/icons-react';
import type { AgentView } from '@plinth/client';
import { Link, useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
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

export default function AgentsPage() {
  const { t } = useTranslation('agent');
  const { may } = useMe();
  const navigate = useNavigate();
  const canEdit = may('agent:agent:edit');
  const canRemove = may('agent:agent:remove');
  const open = ({ id }: AgentView): void =>
    void navigate({ to: '/agents/$agentId', params: { agentId: String(id) } });
  const remove = useAction(
    (rows: readonly AgentView[]) =>
      plinth.agentRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
    { done: t('removed'), changes: [['agents']] },
  );
  const askToRemove = (rows: readonly AgentView[], after?: () => void): void =>
    confirmDestruction({
      title: t('remove', { count: rows.length }),
      body: t('removeBody', { names: rows.map(({ agentName }) => agentName).join(', ') }),
      action: t('remove', { count: rows.length }),
      run: async () => {
        await remove.mutateAsync(rows);
        after?.();
      },
    });
  const add = may('agent:agent:add') && (
    <Button
      leftSection={<IconPlus size={16} stroke={1.5} />}
      renderRoot={(props) => <Link to="/agents/$agentId" params={{ agentId: 'new' }} {...props} />}
    >
      {t('add')}
    </Button>
  );
  const columns: readonly Column<AgentView>[] = [
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
    {
      id: 'updated',
      title: t('updated'),
      sort: 'updateTime',
      width: 130,
      cell: (row) => <Time value={row.updateTime} />,
    },
    {
      id: 'enabled',
      title: t('enabled'),
      width: 90,
      cell: (row) => <EnabledSwitch agent={row} disabled={!canEdit} />,
    },
  ];
  return (
    <Page title={t('title')} description={t('about')} actions={add}>
      <DataTable
        name="agents"
        label={t('title')}
        columns={columns}
        filters={['q', 'status']}
        load={(query, { q, status }, signal) =>
          plinth.agentList({ query: { ...query, agentName: q, status }, signal })
        }
        rowKey={({ id }) => id}
        toolbar={
          <>
            <AddressSearch name="q" label={t('search')} />
            <AddressSelect
              name="status"
              label={t('anyState')}
              data={[
                { value: '0', label: t('enabled') },
                { value: '1', label: t('disabled') },
              ]}
            />
          </>
        }
        empty={
          <Empty icon={IconRobot} title={t('empty')} action={add}>
            {t('emptyHint')}
          </Empty>
        }
        onOpen={open}
        rowActions={(row) => (
          <>
            <MenuItem
              icon={IconMessage}
              renderRoot={(props) => (
                <Link to="/chat" search={{ agent: String(row.id) }} {...props} />
              )}
            >
              {t('chat')}
            </MenuItem>
            <MenuItem icon={IconPencil} onClick={() => open(row)}>
              {t(canEdit ? 'edit' : 'show')}
            </MenuItem>
            {canRemove && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([row])}>
                {t('remove', { count: 1 })}
              </MenuItem>
            )}
          </>
        )}
        {...(canRemove && {
          bulkActions: (rows: readonly AgentView[], clear: () => void) => (
            <Button variant="light" color="red" onClick={() => askToRemove(rows, clear)}>
              {t('remove', { count: rows.length })}
            </Button>
          ),
        })}
        {...(may('agent:agent:export') && {
          onExport: async ({ q, status }) =>
            saveFile(await plinth.agentExport({ body: { agentName: q, status } })),
        })}
      />
    </Page>
  );
}

interface SwitchProps {
  readonly agent: AgentView;
  readonly disabled: boolean;
}

function EnabledSwitch({ agent: { id, agentName: name, status }, disabled }: SwitchProps) {
  const { t } = useTranslation('agent');
  const change = useAction((to: '0' | '1') => plinth.agentUpdate({ body: { id, status: to } }), {
    done: t(status === '0' ? 'nowDisabled' : 'nowEnabled', { name }),
    changes: [['agents']],
  });
  return (
    <Switch
      aria-label={t('enabledNamed', { name })}
      checked={status === '0'}
      disabled={disabled || change.isPending}
      onChange={() => change.mutate(status === '0' ? '1' : '0')}
    />
  );
}
