import {
  Alert,
  Group,
  Menu,
  Select,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Table,
  Tabs,
  Text,
  Title,
} from '@mantine/core';
import type { UsageRowView, UsageView } from '@plinth/client';
import { IconChartBar, IconDownload, IconReceipt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { saveFile } from '../ui/download';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { Figure } from '../ui/figure';
import { duration, number, shortNumber } from '../ui/format';
import { FramedTable } from '../ui/framed-table';
import { Page } from '../ui/page';
import { dayBefore } from '../ui/time';
import { Limits } from './limits';
import { Notices } from './notices';

const VIEWS = ['report', 'limits', 'notices'] as const;
const SPANS = ['7', '30', '90'] as const;
const GROUPS = [
  ...(['model', 'user', 'key', 'group', 'tag', 'provider'] as const),
  ...(['agent', 'door', 'feature', 'day'] as const),
] as const;
const MAX_ROWS = 100;

/** The page of model usage, limits and notices about them. */
export default function UsagePage() {
  const { t } = useTranslation('usage');
  const { may } = useMe();
  const [{ view }, change] = useSearchParams();
  if (!may('system:limit:list')) return <Report />;
  const activeView = VIEWS.find((name) => name === view) ?? 'report';
  const inTabs = (content: ReactNode): ReactNode => (
    <Tabs
      value={activeView}
      onChange={(chosen) =>
        // The lists have columns and pages of their own.
        change({
          view: chosen === 'report' ? undefined : (chosen ?? ''),
          sort: undefined,
          page: undefined,
        })
      }
    >
      <Tabs.List aria-label={t('limits.tabs')} mb="lg">
        <Tabs.Tab value="report">{t('title')}</Tabs.Tab>
        <Tabs.Tab value="limits">{t('limits.title')}</Tabs.Tab>
        <Tabs.Tab value="notices">{t('notices.title')}</Tabs.Tab>
      </Tabs.List>
      {VIEWS.map((name) => (
        <Tabs.Panel key={name} value={name}>
          {activeView === name && content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
  if (activeView === 'limits') return <Limits inTabs={inTabs} />;
  return activeView === 'notices' ? <Notices inTabs={inTabs} /> : <Report inTabs={inTabs} />;
}

interface ReportProps {
  /** Puts the content below the tabs of the page. */
  readonly inTabs?: (content: ReactNode) => ReactNode;
}

/** Report of model calls, tokens and costs, of the tenant or of the current user. */
function Report({ inTabs = (content) => content }: ReportProps) {
  const { t } = useTranslation('usage');
  const { may } = useMe();
  const [address, change] = useSearchParams();
  const isAllowed = may('monitor:usage:query');
  const isOwn = !isAllowed || address['of'] === 'own';
  const days = SPANS.find((span) => span === address['days']) ?? '30';
  const groupBy = GROUPS.find((group) => group === address['by']) ?? 'model';
  const from = dayBefore(Number(days) - 1);
  const read = isOwn ? plinth.usageOwn : plinth.usageReport;
  const byDay = useQuery({
    queryKey: ['usage', isOwn, from, 'day'],
    queryFn: ({ signal }) => read({ query: { from, groupBy: 'day' }, signal }),
  });
  const byGroup = useQuery({
    queryKey: ['usage', isOwn, from, groupBy, 'table'],
    queryFn: ({ signal }) => read({ query: { from, groupBy, limit: MAX_ROWS }, signal }),
  });
  const save = useAction(async () => {
    saveFile(await (isOwn ? plinth.usageExportOwn : plinth.usageExport)({ query: { from } }));
  });
  const mayExport = isOwn || may('monitor:usage:export');
  return (
    <Page
      title={t('title')}
      description={t(isOwn ? 'aboutOwn' : 'about')}
      actions={
        <>
          {isAllowed && (
            <SegmentedControl
              size="xs"
              aria-label={t('whose')}
              data={[
                { value: 'all', label: t('all') },
                { value: 'own', label: t('own') },
              ]}
              value={isOwn ? 'own' : 'all'}
              onChange={(value) => change({ of: value === 'own' ? 'own' : undefined })}
            />
          )}
          <SegmentedControl
            size="xs"
            aria-label={t('span')}
            data={SPANS.map((span) => ({ value: span, label: t('days', { count: Number(span) }) }))}
            value={days}
            onChange={(value) => change({ days: value === '30' ? undefined : value })}
          />
          {isAllowed && may('monitor:usage:export') && <Charges groupBy={groupBy} />}
          {mayExport && (
            <ActionButton
              variant="default"
              icon={IconDownload}
              loading={save.isPending}
              onClick={() => save.mutate()}
            >
              {t('export')}
            </ActionButton>
          )}
        </>
      }
    >
      {inTabs(
        <>
          <Answer query={byDay} show={(report) => <Days report={report} count={Number(days)} />} />
          <Group justify="space-between" mt="xl" mb="sm" align="flex-end">
            <Title order={2}>{t('table')}</Title>
            <Select
              aria-label={t('groupBy')}
              allowDeselect={false}
              data={GROUPS.map((group) => ({ value: group, label: t(`groups.${group}`) }))}
              value={groupBy}
              onChange={(value) => change({ by: value === 'model' ? undefined : (value ?? '') })}
            />
          </Group>
          <Answer
            query={byGroup}
            show={(report) => <Groups report={report} title={t(`groups.${groupBy}`)} />}
          />
        </>,
      )}
    </Page>
  );
}

const CHARGED = ['user', 'key', 'group', 'tag', 'model', 'agent'] as const;

/** Saves the charges of this month or the last, by what the table is grouped by or by user. */
function Charges({ groupBy }: { readonly groupBy: string }) {
  const { t } = useTranslation('usage');
  const charged = CHARGED.find((group) => group === groupBy) ?? 'user';
  const today = new Date();
  const months = [0, 1].map((back) => {
    const first = new Date(today.getFullYear(), today.getMonth() - back, 1);
    return `${first.getFullYear()}-${String(first.getMonth() + 1).padStart(2, '0')}`;
  });
  const save = useAction(async (choice: { month: string; format: 'csv' | 'xlsx' }) => {
    saveFile(await plinth.usageCharges({ query: { ...choice, groupBy: charged } }));
  });
  return (
    <Menu>
      <Menu.Target>
        <ActionButton variant="default" icon={IconReceipt} loading={save.isPending}>
          {t('charges')}
        </ActionButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t('chargesBy', { group: t(`groups.${charged}`) })}</Menu.Label>
        {months.flatMap((month) =>
          (['csv', 'xlsx'] as const).map((format) => (
            <Menu.Item key={month + format} onClick={() => save.mutate({ month, format })}>
              {t(`formats.${format}`, { month })}
            </Menu.Item>
          )),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface AnswerProps {
  readonly query: UseQueryResult<UsageView>;
  readonly show: (report: UsageView) => ReactNode;
}

function Answer({ query: { data, error, refetch }, show }: AnswerProps) {
  if (data) return show(data);
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  return <RowsSkeleton rows={3} height={96} />;
}

type Figure = (row: UsageRowView) => number;

/** Figures of the given number of days, each with a daily sparkline. */
function Days({ report, count }: { readonly report: UsageView; readonly count: number }) {
  const { t } = useTranslation('usage');
  const { total, rows } = report;
  const rowsByDay = new Map(rows.map((row) => [row.groups[0]?.key, row]));
  const days = Array.from({ length: count }, (_, place) => dayBefore(count - 1 - place));
  const course = (figure: Figure): number[] =>
    days.map((day) => {
      const row = rowsByDay.get(day);
      return row ? figure(row) : 0;
    });
  const figures = [
    { name: 'calls', value: shortNumber(total.calls), of: (row) => row.calls },
    {
      name: 'tokens',
      value: shortNumber(total.inputTokens + total.outputTokens),
      of: (row) => row.inputTokens + row.outputTokens,
    },
    { name: 'cost', value: costsText(total), of: (row) => Number(row.cost ?? 0) },
    { name: 'failures', value: number(total.failures), of: (row) => row.failures },
  ] as const satisfies readonly {
    readonly name: string;
    readonly value: string;
    readonly of: Figure;
  }[];
  return (
    <Stack gap="sm">
      {total.unpriced > 0 && (
        <Alert color="yellow">{t('unpriced', { count: total.unpriced })}</Alert>
      )}
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        {figures.map(({ name, value, of }) => (
          <Figure
            key={name}
            title={t(`figures.${name}`)}
            value={value}
            course={course(of)}
            tone={name === 'failures' ? 'bad' : 'usual'}
          />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

/** Costs of each currency; they are never added. */
function costsText({ costs }: Pick<UsageRowView, 'costs'>): string {
  if (costs.length === 0) return '–';
  return costs.map(({ currency, cost }) => `${number(Number(cost), 4)} ${currency}`).join(' + ');
}

function Groups({ report, title }: { readonly report: UsageView; readonly title: string }) {
  const { t } = useTranslation('usage');
  const { rows, more } = report;
  if (rows.length === 0)
    return (
      <Empty icon={IconChartBar} title={t('empty.title')}>
        {t('empty.text')}
      </Empty>
    );
  return (
    <>
      <FramedTable label={t('table')} minWidth={720}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{title}</Table.Th>
            {(
              [
                'calls',
                'failures',
                'input',
                'cached',
                'output',
                'firstToken',
                'cost',
                'unpriced',
              ] as const
            ).map((figure) => (
              <Table.Th key={figure} ta="right">
                {t(`figures.${figure}`)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => {
            const [group] = row.groups;
            return (
              <Table.Tr key={group?.key ?? ''}>
                <Table.Td>{group?.name ?? group?.key ?? t('none')}</Table.Td>
                <Table.Td ta="right">{number(row.calls)}</Table.Td>
                <Table.Td ta="right">{number(row.failures)}</Table.Td>
                <Table.Td ta="right">{shortNumber(row.inputTokens)}</Table.Td>
                <Table.Td ta="right">{shortNumber(row.cachedTokens)}</Table.Td>
                <Table.Td ta="right">{shortNumber(row.outputTokens)}</Table.Td>
                <Table.Td ta="right">
                  {row.firstTokenMs === null ? '–' : duration(Math.round(row.firstTokenMs))}
                </Table.Td>
                <Table.Td ta="right">{costsText(row)}</Table.Td>
                <Table.Td ta="right">{row.unpriced === 0 ? '–' : number(row.unpriced)}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </FramedTable>
      {more && (
        <Text size="sm" c="dimmed" mt="xs">
          {t('more', { count: rows.length })}
        </Text>
      )}
    </>
  );
}
