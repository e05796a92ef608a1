import { Badge, Button, Group, Stack, Switch, Text } from '@mantine/core';
import {
  IconCpu,
  IconMessage,
  IconPencil,
  IconPlugConnected,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { ModelView } from '@plinth/client';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
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
import { number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { VendorMark } from '../ui/vendor-mark';
import { CATEGORIES, isCategory } from './categories';
import { DiagnosisDrawer } from './diagnosis';

export default function ModelsPage() {
  const { t } = useTranslation('model');
  const { may } = useMe();
  const navigate = useNavigate();
  const [tested, setTested] = useState<ModelView>();
  const open = ({ id }: ModelView): void =>
    void navigate({ to: '/models/$modelId', params: { modelId: String(id) } });
  const remove = useAction(
    (rows: readonly ModelView[]) =>
      withMessage(plinth.modelRemove, { path: { ids: rows.map(({ id }) => String(id)) } }),
    { done: ({ message }) => message, changes: [['models'], ['home']] },
  );
  const askToRemove = (rows: readonly ModelView[], after?: () => void): void =>
    confirmDestruction({
      title: t('remove', { count: rows.length }),
      body: t('removeBody', { names: rows.map(({ modelName }) => modelName).join(', ') }),
      action: t('remove', { count: rows.length }),
      run: async () => {
        await remove.mutateAsync(rows);
        after?.();
      },
    });
  const add = may('system:model:add') && (
    <Button
      leftSection={<IconPlus size={16} stroke={1.5} />}
      renderRoot={(props) => <Link to="/models/$modelId" params={{ modelId: 'new' }} {...props} />}
    >
      {t('add')}
    </Button>
  );
  const categoryName = (category: string): string =>
    isCategory(category) ? t(`category.${category}`) : category;
  const columns: readonly Column<ModelView>[] = [
    {
      id: 'name',
      title: t('name'),
      sort: 'modelName',
      cell: (row) => (
        <Group gap="sm" wrap="nowrap">
          <VendorMark code={row.providerCode} />
          <Stack gap={0} align="flex-start">
            <Text size="sm" fw={600}>
              {row.modelDescribe || row.modelName}
            </Text>
            {row.modelDescribe !== '' && row.modelDescribe !== row.modelName && (
              <Text size="xs" c="dimmed">
                {row.modelName}
              </Text>
            )}
          </Stack>
        </Group>
      ),
    },
    {
      id: 'category',
      title: t('categoryTitle'),
      sort: 'category',
      width: 130,
      cell: (row) => (
        <Badge variant="default" radius="sm" fw={400}>
          {categoryName(row.category)}
        </Badge>
      ),
    },
    {
      id: 'provider',
      title: t('provider'),
      sort: 'providerCode',
      cell: (row) => <Text size="sm">{row.providerCode}</Text>,
    },
    {
      id: 'key',
      title: t('key'),
      width: 110,
      cell: (row) => (
        <Text size="sm" c={row.hasApiKey ? undefined : 'dimmed'}>
          {t(row.hasApiKey ? 'keyStored' : 'keyNone')}
        </Text>
      ),
    },
    {
      id: 'window',
      title: t('contextWindow'),
      sort: 'contextWindow',
      align: 'right',
      optional: true,
      cell: (row) => (row.contextWindow === null ? '–' : number(row.contextWindow)),
    },
    {
      id: 'dimension',
      title: t('dimension'),
      sort: 'modelDimension',
      align: 'right',
      optional: true,
      cell: (row) => (row.modelDimension === null ? '–' : number(row.modelDimension)),
    },
    { id: 'address', title: t('address'), optional: true, cell: (row) => row.apiHost || '–' },
    {
      id: 'updated',
      title: t('updated'),
      sort: 'updateTime',
      optional: true,
      cell: (row) => <Time value={row.updateTime} />,
    },
    {
      id: 'shown',
      title: t('shown'),
      width: 100,
      cell: (row) => <VisibilitySwitch model={row} disabled={!may('system:model:edit')} />,
    },
  ];
  return (
    <Page title={t('title')} description={t('about')} actions={add}>
      <DataTable
        name="models"
        label={t('title')}
        columns={columns}
        filters={['q', 'category', 'provider']}
        load={(query, { q, category, provider }, signal) =>
          plinth.modelList({
            query: { ...query, modelName: q, category, providerCode: provider },
            signal,
          })
        }
        rowKey={({ id }) => id}
        toolbar={
          <>
            <AddressSearch name="q" label={t('search')} />
            <AddressSelect
              name="category"
              label={t('anyCategory')}
              data={CATEGORIES.map((value) => ({ value, label: t(`category.${value}`) }))}
            />
            <AddressSearch name="provider" label={t('searchProvider')} />
          </>
        }
        empty={
          <Empty icon={IconCpu} title={t('empty')} action={add}>
            {t('emptyHint')}
          </Empty>
        }
        onOpen={open}
        rowActions={(row) => (
          <>
            {row.category === 'chat' && (
              <MenuItem
                icon={IconMessage}
                renderRoot={(props) => (
                  <Link to="/chat" search={{ model: row.modelName }} {...props} />
                )}
              >
                {t('chat')}
              </MenuItem>
            )}
            {may('system:model:test') && (
              <MenuItem icon={IconPlugConnected} onClick={() => setTested(row)}>
                {t('test.run')}
              </MenuItem>
            )}
            <MenuItem icon={IconPencil} onClick={() => open(row)}>
              {t(may('system:model:edit') ? 'edit' : 'show')}
            </MenuItem>
            {may('system:model:remove') && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([row])}>
                {t('remove', { count: 1 })}
              </MenuItem>
            )}
          </>
        )}
        {...(may('system:model:remove') && {
          bulkActions: (rows: readonly ModelView[], clear: () => void) => (
            <Button variant="light" color="red" onClick={() => askToRemove(rows, clear)}>
              {t('remove', { count: rows.length })}
            </Button>
          ),
        })}
        {...(may('system:model:export') && {
          onExport: async ({ q, category, provider }) =>
            saveFile(
              await plinth.modelExport({
                body: { modelName: q, category, providerCode: provider },
              }),
            ),
        })}
      />
      {tested && <DiagnosisDrawer model={tested} onClose={() => setTested(undefined)} />}
    </Page>
  );
}

interface VisibilityProps {
  readonly model: ModelView;
  readonly disabled: boolean;
}

/** Switch that shows the model to end users or hides it. */
function VisibilitySwitch({
  model: { id, modelName: name, modelShow },
  disabled,
}: VisibilityProps) {
  const { t } = useTranslation('model');
  const change = useAction((to: 'Y' | 'N') => plinth.modelUpdate({ body: { id, modelShow: to } }), {
    done: t(modelShow === 'Y' ? 'nowHidden' : 'nowShown', { name }),
    changes: [['models']],
  });
  return (
    <Switch
      aria-label={t('shownNamed', { name })}
      checked={modelShow === 'Y'}
      disabled={disabled || change.isPending}
      onChange={({ currentTarget }) => change.mutate(currentTarget.checked ? 'Y' : 'N')}
    />
  );
}
