import { Group, Paper, Stack, Table, Text, Title } from '@mantine/core';
import type { EvaluationView, KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Failure, RowsSkeleton } from '../ui/states';
import { number } from '../ui/format';
import { Time } from '../ui/time';
import { baseKey } from './base';
import { Difference } from './difference';
import styles from './knowledge.module.css';

interface Props {
  readonly base: KnowledgeView;
  /** All runs, newest first. */
  readonly runs: readonly EvaluationView[];
  readonly pair: readonly [EvaluationView, EvaluationView];
}

/** Page size of runs with results. */
const PER_PAGE = 10;

const METRICS = ['ndcg', 'recall', 'mrr'] as const;
const SETTINGS = [
  'topK',
  'threshold',
  'enableHybrid',
  'hybridAlpha',
  'enableRerank',
  'rerankModel',
  'embeddingModel',
  'textBlockSize',
  'overlapChar',
] as const;

/** Compares two runs: their different settings and the scores of each question, largest changes first. */
export function CompareEvaluations({ base, runs, pair }: Props) {
  const { t } = useTranslation('knowledge');
  const [older, newer] = pair[0].id < pair[1].id ? pair : [pair[1], pair[0]];
  const { data, error, refetch } = useQuery({
    queryKey: [...baseKey(base.id), 'evaluations', 'results', older.id, newer.id],
    queryFn: async ({ signal }) => {
      const ofBoth = [];
      for (const run of [older, newer]) {
        const place = runs.findIndex(({ id }) => id === run.id);
        const { rows } = await plinth.evaluationList({
          path: { knowledgeId: base.id },
          query: {
            withResults: true,
            pageSize: PER_PAGE,
            pageNum: Math.floor(place / PER_PAGE) + 1,
          },
          signal,
        });
        ofBoth.push(rows.find(({ id }) => id === run.id)?.results ?? []);
      }
      return ofBoth;
    },
    staleTime: Infinity,
  });
  const { data: questions } = useQuery({
    queryKey: [...baseKey(base.id), 'test set', 'texts'],
    queryFn: ({ signal }) =>
      plinth.testSetList({ path: { knowledgeId: base.id }, query: { pageSize: 1_000 }, signal }),
  });
  const texts = new Map((questions?.rows ?? []).map(({ queryId, query }) => [queryId, query]));
  const different = SETTINGS.filter((field) => older.settings[field] !== newer.settings[field]);
  const formatSetting = (value: string | number | boolean): string => {
    if (typeof value === 'boolean') return t(value ? 'on' : 'off');
    return typeof value === 'number' ? number(value, 3) : value || t('none');
  };
  const [before = [], after = []] = data ?? [];
  const rows = after
    .map((result) => {
      const old = before.find(({ queryId }) => queryId === result.queryId);
      return { ...result, old, change: old ? result.ndcg - old.ndcg : 0 };
    })
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  return (
    <Paper component="section" p="md" aria-label={t('evaluation.comparison')}>
      <Stack>
        <Title order={2} fz={14}>
          {t('evaluation.comparison')}
        </Title>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th />
              <Table.Th>
                <Time value={older.createTime} />
              </Table.Th>
              <Table.Th>
                <Time value={newer.createTime} />
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {METRICS.map((metric) => (
              <Table.Tr key={metric}>
                <Table.Th scope="row">{t(`evaluation.metric.${metric}`)}</Table.Th>
                <Table.Td>{older[metric].toFixed(3)}</Table.Td>
                <Table.Td>
                  <Group gap={8}>
                    {newer[metric].toFixed(3)}
                    <Difference value={newer[metric] - older[metric]} />
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
            {different.map((field) => (
              <Table.Tr key={field}>
                <Table.Th scope="row">{t(`evaluation.setting.${field}`)}</Table.Th>
                <Table.Td>{formatSetting(older.settings[field])}</Table.Td>
                <Table.Td fw={600}>{formatSetting(newer.settings[field])}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {different.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('evaluation.sameSettings')}
          </Text>
        )}
        {error && <Failure error={error} onRetry={() => void refetch()} />}
        {!data && !error && <RowsSkeleton rows={3} />}
        {rows.length > 0 && (
          <div
            className={styles['scrollY']}
            tabIndex={0}
            role="region"
            aria-label={t('evaluation.byQuestion')}
          >
            <Table aria-label={t('evaluation.byQuestion')} stickyHeader>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('test.query')}</Table.Th>
                  <Table.Th ta="right">{t('apply.before')}</Table.Th>
                  <Table.Th ta="right">{t('apply.after')}</Table.Th>
                  <Table.Th>{t('evaluation.change')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map(({ queryId, ndcg, old, change }) => (
                  <Table.Tr key={queryId}>
                    <Table.Td>{texts.get(queryId) ?? queryId}</Table.Td>
                    <Table.Td ta="right">{old ? old.ndcg.toFixed(3) : '–'}</Table.Td>
                    <Table.Td ta="right">{ndcg.toFixed(3)}</Table.Td>
                    <Table.Td>{old && <Difference value={change} />}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        )}
      </Stack>
    </Paper>
  );
}
