import { Badge, Group, Progress, Stack, Text } from '@mantine/core';
import type { LimitView } from '@plinth/client';
import { IconGauge } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { number } from '../ui/format';
import { ListPage } from '../ui/list-page';
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
  const subjectOf = useSubject();
  const canEdit = may('system:limit:edit');
  return (
    <ListPage
      name="limits"
      title={t('limits.title')}
      description={t('limits.about')}
      within={inTabs}
      load={(query, signal) => plinth.limitList({ query, signal })}
      rowKey={({ id }: LimitView) => id}
      refetchInterval={REFRESH_MS}
      add={may('system:limit:add') && t('limits.add')}
      form={(limit, close) => <LimitDrawer limit={limit} onClose={close} />}
      columns={[
        { id: 'scope', title: t('limits.of'), sort: true, cell: subjectOf },
        {
          id: 'measure',
          title: t('limits.measure'),
          sort: true,
          cell: ({ measure }) => t(`limits.measures.${measure}`),
        },
        { id: 'use', title: t('limits.used'), width: 280, cell: (limit) => <Use limit={limit} /> },
        { id: 'periodEnd', title: t('limits.periodEnd'), show: 'time' },
      ]}
      openLabel={() => t(canEdit ? 'limits.edit' : 'limits.view')}
      remove={
        may('system:limit:remove') && {
          single: true,
          title: () => t('limits.removeTitle'),
          body: (limits) =>
            limits.map((limit) =>
              t('limits.removeBody', {
                subject: subjectOf(limit),
                measure: t(`limits.measures.${limit.measure}`),
              }),
            ),
          action: () => t('limits.remove'),
          run: (limits) =>
            plinth.limitRemove({ path: { ids: limits.map(({ id }) => String(id)) } }),
          done: t('limits.removed'),
        }
      }
      empty={{
        icon: IconGauge,
        title: t('limits.empty'),
        hint: t('limits.emptyHint'),
        isBare: true,
      }}
    />
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

/** The limit applies to each user, key, model, group or tag separately. */
function isOfEach({ scope, userId, apiKeyId, modelId, groupId, tag }: LimitView): boolean {
  return scope !== 'tenant' && (userId ?? apiKeyId ?? modelId ?? groupId ?? tag) === null;
}

/** Bar of the used, reserved and remaining amount with the reached threshold. The reserved amount belongs to running calls. */
function Use({ limit }: { readonly limit: LimitView }) {
  const { t } = useTranslation('usage');
  const { measure, cap, use } = limit;
  const { used = 0, reserved = 0, subjectName = null, threshold = null } = use ?? {};
  const digits = measure.startsWith('cost-') ? 4 : 0;
  const share = (amount: number): number => (cap > 0 ? Math.min((amount / cap) * 100, 100) : 100);
  const usedShare = share(used);
  const figures = { used: number(used, digits), cap: number(cap, digits) };
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {t('limits.usedOf', figures)}
          {isOfEach(limit) && subjectName !== null && (
            <Text span size="sm" c="dimmed" ml={6}>
              {subjectName}
            </Text>
          )}
        </Text>
        {threshold !== null && (
          <Badge
            variant="light"
            size="sm"
            color={colourOf(threshold, 'gray')}
            c="var(--mantine-color-text)"
          >
            {t('limits.reached', { percent: threshold })}
          </Badge>
        )}
      </Group>
      <Progress.Root size="sm" className={styles['bar']}>
        <Progress.Section
          value={usedShare}
          color={colourOf(usedShare, 'indigo')}
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

function colourOf(percent: number, usual: string): string {
  if (percent >= 100) return 'red';
  return percent >= WARNING_PERCENT ? 'yellow' : usual;
}
