import { Group, SegmentedControl, SimpleGrid, Table, Text, Title } from '@mantine/core';
import type { UseView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { Failure, RowsSkeleton } from '../ui/states';
import { Figure } from '../ui/figure';
import { duration, number, shortNumber } from '../ui/format';
import { FramedTable } from '../ui/framed-table';
import { Time } from '../ui/time';
import { VendorMark } from '../ui/vendor-mark';
import styles from './home.module.css';

const SPANS = ['7', '14', '30'] as const;
const POLL_MS = 60_000;

/** Charts of turns, tokens, time to first token and failures of the last days, by day and by model. */
export function Use() {
  const { t } = useTranslation('home');
  const [address, change] = useSearchParams();
  const days = SPANS.find((span) => span === address['days']) ?? '14';
  const { data, error, refetch } = useQuery({
    queryKey: ['home', 'use', days],
    queryFn: ({ signal }) => plinth.chatUseReport({ query: { days: Number(days) }, signal }),
    refetchInterval: POLL_MS,
  });
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <section aria-labelledby="use">
      <Group justify="space-between" mb="sm">
        <Title order={2} id="use">
          {t('use.title')}
        </Title>
        <SegmentedControl
          size="xs"
          aria-label={t('use.span')}
          data={SPANS.map((span) => ({
            value: span,
            label: t('use.days', { count: Number(span) }),
          }))}
          value={days}
          onChange={(value) => change({ days: value === '14' ? undefined : value })}
        />
      </Group>
      {data ? <Report use={data} /> : <RowsSkeleton rows={2} height={96} />}
    </section>
  );
}

function Report({ use }: { readonly use: UseView }) {
  const { t } = useTranslation('home');
  const { days, models, failures } = use;
  const sum = (figure: (day: UseView['days'][number]) => number): number =>
    days.reduce((total, day) => total + figure(day), 0);
  const turns = sum((day) => day.turns);
  const failed = sum((day) => day.failures);
  const started = sum((day) => day.firstTokens);
  const waited = sum((day) => day.firstTokens * (day.firstTokenMs ?? 0));
  const figures = [
    { name: 'turns', value: shortNumber(turns), data: days.map((day) => day.turns) },
    {
      name: 'tokens',
      value: shortNumber(sum((day) => day.inputTokens + day.outputTokens)),
      data: days.map((day) => day.inputTokens + day.outputTokens),
    },
    {
      name: 'firstToken',
      value: started === 0 ? '–' : duration(Math.round(waited / started)),
      data: days.map((day) => day.firstTokenMs ?? 0),
    },
    { name: 'failures', value: number(failed), data: days.map((day) => day.failures) },
  ] as const;
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        {figures.map(({ name, value, data }) => (
          <Figure
            key={name}
            title={t(`use.figures.${name}`)}
            value={value}
            course={data}
            tone={name === 'failures' ? 'bad' : 'usual'}
            bad={name === 'failures' && failed > 0}
          />
        ))}
      </SimpleGrid>
      {models.length > 0 && (
        <FramedTable label={t('use.models')} minWidth={560} mt="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('use.model')}</Table.Th>
              <Table.Th ta="right">{t('use.figures.turns')}</Table.Th>
              <Table.Th ta="right">{t('use.figures.tokens')}</Table.Th>
              <Table.Th ta="right">{t('use.figures.firstToken')}</Table.Th>
              <Table.Th ta="right">{t('use.figures.failures')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {models.map((model) => (
              <Table.Tr key={model.modelName ?? ''}>
                <Table.Td>
                  <Group gap="sm" wrap="nowrap">
                    <VendorMark code={model.providerCode ?? '?'} />
                    {model.modelName ?? t('use.noModel')}
                  </Group>
                </Table.Td>
                <Table.Td ta="right">{number(model.turns)}</Table.Td>
                <Table.Td ta="right">
                  {shortNumber(model.inputTokens + model.outputTokens)}
                </Table.Td>
                <Table.Td ta="right">
                  {model.firstTokenMs === null ? '–' : duration(Math.round(model.firstTokenMs))}
                </Table.Td>
                <Table.Td ta="right">{number(model.failures)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </FramedTable>
      )}
      {failures.length > 0 && (
        <>
          <Title order={3} mt="lg" mb="xs">
            {t('use.latestFailures')}
          </Title>
          <ul className={styles['failures']}>
            {failures.map(({ id, modelName, error, createTime }) => (
              <li key={id}>
                <Text size="sm">
                  <b>{modelName}</b> {error}
                </Text>
                <Time value={createTime} size="xs" />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
