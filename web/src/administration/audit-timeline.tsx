import {
  Box,
  Collapse,
  Group,
  Pagination,
  Stack,
  Text,
  Title,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import {
  IconChevronDown,
  IconChevronRight,
  IconHistory,
  IconKey,
  IconLogin2,
  IconLogout,
  IconPencil,
  IconPlus,
  IconSend,
  IconShieldLock,
  IconToggleLeft,
  IconTrash,
  IconUpload,
  IconUserX,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type { AuditEntryView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { language } from '../i18n';
import { useAction } from '../ui/action';
import { ExportButton } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty, Failure, RequestId, RowsSkeleton } from '../ui/states';
import { choicesOf, daysOf, FilterBar } from '../ui/filters';
import { number } from '../ui/format';
import { absolute, momentOf } from '../ui/time';
import { AuditDetail } from './audit-detail';
import { ACTIONS, sentenceOf, TARGETS } from './audit-words';
import styles from './audit.module.css';

const ENTRIES_PER_PAGE = 50;

const ICONS: Readonly<Record<string, Icon>> = {
  create: IconPlus,
  update: IconPencil,
  delete: IconTrash,
  login: IconLogin2,
  'login-failed': IconUserX,
  logout: IconLogout,
  register: IconPlus,
  'permission-change': IconShieldLock,
  'credential-change': IconKey,
  'password-change': IconKey,
  'status-change': IconToggleLeft,
  'switch-tenant': IconSend,
  revoke: IconLogout,
  upload: IconUpload,
};

function filterOf({ who, what, kind, record, ip, from, to }: SearchParams) {
  const days = daysOf({ from, to });
  return { actorName: who, action: what, targetType: kind, targetId: record, ip, ...days };
}

/** The audit log grouped by day. An entry expands to show what it changed. */
export function AuditTimeline() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [address, change] = useSearchParams();
  const page = Number(address['page'] ?? 1);
  const filter = filterOf(address);
  const { data, error, isPending, refetch, isPlaceholderData } = useQuery({
    queryKey: ['audit', page, filter],
    queryFn: ({ signal }) =>
      plinth.auditList({
        query: { pageNum: page, pageSize: ENTRIES_PER_PAGE, ...filter },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  const download = useAction(async () => saveFile(await plinth.auditExport({ body: filter })));
  const filtered = Object.values(filter).some((value) => value !== undefined);
  const days = Map.groupBy(data?.rows ?? [], ({ createTime }) =>
    momentOf(createTime).toLocaleDateString(language(), { dateStyle: 'full' }),
  );
  return (
    <Box>
      <FilterBar
        filters={[
          { name: 'who', label: t('audit.who') },
          {
            name: 'what',
            label: t('audit.anyAction'),
            choices: choicesOf(ACTIONS, (action) => t(`audit.action.${action}`)),
          },
          {
            name: 'kind',
            label: t('audit.anyKind'),
            choices: choicesOf(TARGETS, (target) => t(`audit.target.${target}`)),
          },
          { name: 'record', label: t('audit.recordId') },
          { name: 'ip', label: t('audit.address') },
          { name: 'from', label: t('audit.from'), isDay: true },
          { name: 'to', label: t('audit.to'), isDay: true },
        ]}
        tools={
          may('monitor:audit:export') && (
            <ExportButton
              label={t('audit.export')}
              loading={download.isPending}
              onClick={() => download.mutate()}
            />
          )
        }
      />
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {isPending && <RowsSkeleton />}
      {data?.rows.length === 0 && (
        <Empty icon={IconHistory} title={t(filtered ? 'audit.noMatch' : 'audit.empty')} />
      )}
      <div aria-busy={isPlaceholderData}>
        {[...days].map(([day, entries]) => (
          <section key={day} aria-label={day} className={styles['day']}>
            <Title order={2} className={styles['date']}>
              {day}
            </Title>
            <ol className={styles['entries']}>
              {entries.map((entry) => (
                <TimelineEntry key={entry.id} entry={entry} />
              ))}
            </ol>
          </section>
        ))}
      </div>
      {data && data.total > ENTRIES_PER_PAGE && (
        <Group justify="space-between" mt="md">
          <Text size="sm" c="dimmed">
            {t('audit.count', { count: data.total, shown: number(data.total) })}
          </Text>
          <Pagination
            size="sm"
            total={Math.ceil(data.total / ENTRIES_PER_PAGE)}
            value={page}
            onChange={(value) => change({ page: value === 1 ? undefined : String(value) })}
            getControlProps={(control) => ({ 'aria-label': t(`pagination.${control}`) })}
            getItemProps={(item) => ({ 'aria-label': t('pagination.page', { page: item }) })}
          />
        </Group>
      )}
    </Box>
  );
}

function TimelineEntry({ entry }: { readonly entry: AuditEntryView }) {
  const { t } = useTranslation('administration');
  const [open, setOpen] = useState(false);
  const ActionMark = ICONS[entry.action] ?? IconHistory;
  const moment = momentOf(entry.createTime);
  const id = `audit-${entry.id}`;
  const bad = entry.action === 'login-failed' || entry.action === 'delete';
  return (
    <li className={styles['entry']}>
      <UnstyledButton
        className={styles['line']}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <ActionMark size={16} stroke={1.5} className={bad ? styles['bad'] : styles['mark']} />
        <span className={styles['sentence']}>{sentenceOf(t, entry)}</span>
        <span className={styles['from']}>{entry.ip}</span>
        <Tooltip label={absolute(moment)}>
          <time dateTime={moment.toISOString()} className={styles['time']}>
            {moment.toLocaleTimeString(language(), { timeStyle: 'short' })}
          </time>
        </Tooltip>
        {open ? (
          <IconChevronDown size={14} stroke={1.5} />
        ) : (
          <IconChevronRight size={14} stroke={1.5} />
        )}
      </UnstyledButton>
      <Collapse expanded={open} id={id}>
        <Stack gap="xs" className={styles['detail']}>
          <AuditDetail detail={entry.detail} />
          <Text size="xs" c="dimmed">
            {absolute(moment)}
            {entry.ip && ` · ${t('audit.fromAddress', { ip: entry.ip })}`}
            {entry.actorId !== null && ` · ${t('audit.userId', { id: entry.actorId })}`}
            {entry.targetId !== null && ` · ${t('audit.targetId', { id: entry.targetId })}`}
          </Text>
          {entry.requestId && <RequestId id={entry.requestId} />}
        </Stack>
      </Collapse>
    </li>
  );
}
