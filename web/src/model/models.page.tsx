import { Badge, Group, Stack, Switch, Text } from '@mantine/core';
import { IconCpu, IconMessage, IconPlugConnected } from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { ModelView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAccessDrawer } from '../access/access-drawer';
import type { SearchParams } from '../app/search-params';
import { useAction } from '../ui/action';
import { choicesOf } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { MenuItem, MenuLink } from '../ui/menu-item';
import { VendorMark } from '../ui/vendor-mark';
import { CATEGORIES, isCategory } from './categories';
import { DiagnosisDrawer } from './diagnosis';

export default function ModelsPage() {
  const { t } = useTranslation('model');
  const { may } = useMe();
  const [tested, setTested] = useState<ModelView>();
  const access = useAccessDrawer('model');
  const categoryName = (category: string): string =>
    isCategory(category) ? t(`category.${category}`) : category;
  return (
    <ListPage
      name="models"
      title={t('title')}
      description={t('about')}
      filters={[
        { name: 'q', label: t('search') },
        {
          name: 'category',
          label: t('anyCategory'),
          choices: choicesOf(CATEGORIES, (category) => t(`category.${category}`)),
        },
        { name: 'provider', label: t('searchProvider') },
      ]}
      query={({ q, category, provider }: SearchParams) => ({
        modelName: q,
        category,
        providerCode: provider,
      })}
      load={(query, signal) => plinth.modelList({ query, signal })}
      download={may('system:model:export') && ((body) => plinth.modelExport({ body }))}
      rowKey={({ id }: ModelView) => id}
      add={may('system:model:add') && t('add')}
      pageOf={(model) => `/models/${model?.id ?? 'new'}`}
      columns={[
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
          show: 'number',
          optional: true,
        },
        {
          id: 'dimension',
          title: t('dimension'),
          sort: 'modelDimension',
          align: 'right',
          show: 'number',
          optional: true,
        },
        {
          id: 'address',
          title: t('address'),
          optional: true,
          cell: ({ apiHost }) => apiHost || '–',
        },
        { id: 'updated', title: t('updated'), sort: 'updateTime', show: 'time', optional: true },
        {
          id: 'shown',
          title: t('shown'),
          width: 100,
          cell: (row) => <VisibilitySwitch model={row} disabled={!may('system:model:edit')} />,
        },
      ]}
      openLabel={() => t(may('system:model:edit') ? 'edit' : 'show')}
      rowActions={(row) => (
        <>
          {row.category === 'chat' && (
            <MenuLink icon={IconMessage} to="/chat" search={{ model: row.modelName }}>
              {t('chat')}
            </MenuLink>
          )}
          {may('system:model:test') && (
            <MenuItem icon={IconPlugConnected} onClick={() => setTested(row)}>
              {t('test.run')}
            </MenuItem>
          )}
          {may('system:model:edit') && access.item({ id: row.id, name: row.modelName })}
        </>
      )}
      remove={
        may('system:model:remove') && {
          body: (rows) =>
            t('removeBody', { names: rows.map(({ modelName }) => modelName).join(', ') }),
          action: (count) => t('remove', { count }),
          run: async (rows) => {
            const path = { ids: rows.map(({ id }) => String(id)) };
            return (await withMessage(plinth.modelRemove, { path })).message;
          },
          changes: [['home']],
        }
      }
      empty={{ icon: IconCpu, title: t('empty'), hint: t('emptyHint') }}
    >
      {access.drawer}
      {tested && <DiagnosisDrawer model={tested} onClose={() => setTested(undefined)} />}
    </ListPage>
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
