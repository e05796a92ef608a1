import { Button, Progress, Stack, Text } from '@mantine/core';
import type { LimitView } from '@plinth/client';
import { IconGauge, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { LimitDrawer } from './limit-drawer';
import styles from './usage.module.css';

/** Polling interval, because usage changes while the list is open. */
const REFRESH_MS = 10_000;
const WARNING_PERCENT = 80;

interface Props {
  /** Puts the content below the tabs of the page. */
  readonly inTabs: (content: ReactNode) => ReactNode;
}

/** The limits of the tenant with their current usage. */
export function Limits({ inTabs }: Props) {
  const { t } = useTranslation('usage');
  const { may } = useMe();
  const [edited, setEdited] = useState<LimitView | 'new'>();
  const remove = useAction(
    ({ id }: LimitView) => plinth.limitRemove({ path: { ids: [String(id)] } }),
    {
      done: t('limits.removed'),
      changes: [['limits']],
    },
  );
  const subjectOf = useSubject();
  const askToRemove = (limit: LimitView): void =>
    confirmDestruction({
      title: t('limits.removeTitle'),
      body: t('limits.removeBody', {
        subject: subjectOf(limit),
        measure: t(`limits.measures.${limit.measure}`),
      }),
      action: t('limits.remove'),
      run: () => remove.mutateAsync(limit),
    });
  const canEdit = may('system:limit:edit');
  const columns: readonly Column<LimitView>[] = [
    { id: 'scope', title: t('limits.of'), sort: 'scope', cell: subjectOf },
    {
      id: 'measure',
      title: t('limits.measure'),
      sort: 'measure',
      cell: ({ measure }) => t(`limits.measures.${measure}`),
    },
    { id: 'use', title: t('limits.used'), width: 280, cell: (limit) => <Use limit={limit} /> },
    {
      id: 'periodEnd',
      title: t('limits.periodEnd'),
      cell: ({ periodEnd }) => (periodEnd ? <Time value={periodEnd} /> : '–'),
    },
  ];
  return (
    <Page
      title={t('limits.title')}
      description={t('limits.about')}
      actions={
        may('system:limit:add') && (
          <Button
            leftSection={<IconPlus size={16} stroke={1.5} />}
            onClick={() => setEdited('new')}
          >
            {t('limits.add')}
          </Button>
        )
      }
    >
      {inTabs(
        <DataTable
          name="limits"
          label={t('limits.title')}
          columns={columns}
          load={(query, _, signal) => plinth.limitList({ query, signal })}
          rowKey={({ id }) => id}
          refetchInterval={REFRESH_MS}
          empty={
            <Empty icon={IconGauge} title={t('limits.empty')}>
              {t('limits.emptyHint')}
            </Empty>
          }
          onOpen={setEdited}
          rowActions={(limit) => (
            <>
              <MenuItem icon={IconPencil} onClick={() => setEdited(limit)}>
                {t(canEdit ? 'limits.edit' : 'limits.view')}
              </MenuItem>
              {may('system:limit:remove') && (
                <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove(limit)}>
                  {t('limits.remove')}
                </MenuItem>
              )}
            </>
          )}
        />,
      )}
      {edited && (
        <LimitDrawer
          limit={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}

/** Describes the subject of a limit. */
function useSubject(): (limit: LimitView) => string {
  const { t } = useTranslation('usage');
  return (limit) => {
    const { scope, name } = limit;
    if (scope === 'tenant') return t('limits.scopes.tenant');
    if (isOfEach(limit)) return t(`limits.each.${scope}`);
    return t(`limits.one.${scope}`, { name: name ?? '–' });
  };
}

/** The limit applies to each user, key or model separately. */
function isOfEach({ scope, userId, apiKeyId, modelId }: LimitView): boolean {
  return scope !== 'tenant' && (userId ?? apiKeyId ?? modelId) === null;
}

/** Bar of the used, reserved and remaining amount. The reserved amount belongs to running calls. */
function Use({ limit }: { readonly limit: LimitView }) {
  const { t } = useTranslation('usage');
  const { measure, cap, use } = limit;
  const { used = 0, reserved = 0, subjectName = null } = use ?? {};
  const digits = measure.startsWith('cost-') ? 4 : 0;
  const share = (amount: number): number => (cap > 0 ? Math.min((amount / cap) * 100, 100) : 100);
  const usedShare = share(used);
  const figures = { used: number(used, digits), cap: number(cap, digits) };
  return (
    <Stack gap={4}>
      <Text size="sm">
        {t('limits.usedOf', figures)}
        {isOfEach(limit) && subjectName !== null && (
          <Text span size="sm" c="dimmed" ml={6}>
            {subjectName}
          </Text>
        )}
      </Text>
      <Progress.Root size="sm" className={styles['bar']}>
        <Progress.Section
          value={usedShare}
          color={usedShare >= 100 ? 'red' : usedShare >= WARNING_PERCENT ? 'yellow' : 'indigo'}
          aria-label={t('limits.usedOf', figures)}
        />
        {reserved > 0 && (
          <Progress.Section
            value={Math.min(share(reserved), 100 - usedShare)}
            color="gray"
            aria-label={t('limits.reserved', { amount: number(reserved, digits) })}
          />
        )}
      </Progress.Root>
      {reserved > 0 && (
        <Text size="xs" c="dimmed">
          {t('limits.reserved', { amount: number(reserved, digits) })}
        </Text>
      )}
    </Stack>
  );
}
