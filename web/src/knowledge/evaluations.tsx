import {
  Alert,
  Button,
  Checkbox,
  Collapse,
  Group,
  Paper,
  Skeleton,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { IconAdjustments, IconPlayerPlay } from '@tabler/icons-react';
import type { EvaluationView, KnowledgeView, NewEvaluationView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Failure, RowsSkeleton } from '../ui/states';
import { FormFailure } from '../ui/form';
import { number } from '../ui/format';
import { FramedTable } from '../ui/framed-table';
import { Time } from '../ui/time';
import { ApplySettings } from './apply-settings';
import { baseKey, useBaseAccess } from './base';
import { CompareEvaluations } from './compare-evaluations';
import { SearchFields } from './search-fields';
import { baseSettingsOf, bodyOf, savedOf } from './search-settings';
import { Difference } from './difference';

const ScoreChart = lazy(() => import('./score-chart'));

/** Number of runs that the service stores. */
const MAX_STORED_RUNS = 100;
const COLLAPSED_RUNS = 10;

const METRICS = ['ndcg', 'recall', 'mrr'] as const;

/** Runs of the test set: starts a run with other settings, charts scores over time and compares two runs. */
export function Evaluations({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [address, change] = useSearchParams();
  const [settings, setSettings] = useState(savedOf(base));
  const [trying, setTrying] = useState(false);
  const [applying, setApplying] = useState(false);
  const [all, setAll] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [latest, setLatest] = useState<NewEvaluationView>();
  const abort = useRef<AbortController>(null);
  useEffect(() => () => abort.current?.abort(new Error('The page was left.')), []);
  const path = { knowledgeId: base.id };
  const { data: questions } = useQuery({
    queryKey: [...baseKey(base.id), 'test set', 'count'],
    queryFn: ({ signal }) => plinth.testSetList({ path, query: { pageSize: 1 }, signal }),
  });
  const { data, error, refetch } = useQuery({
    queryKey: [...baseKey(base.id), 'evaluations'],
    queryFn: ({ signal }) =>
      plinth.evaluationList({ path, query: { pageSize: MAX_STORED_RUNS }, signal }),
  });
  const run = useAction(
    () => {
      abort.current = new AbortController();
      setFailure(undefined);
      return plinth.evaluationRun({
        path,
        body: { k: 10, ...bodyOf(settings) },
        signal: abort.current.signal,
      });
    },
    {
      done: t('evaluation.done'),
      changes: [[...baseKey(base.id), 'evaluations']],
      after: setLatest,
      onFailure: (caught) => {
        if (!abort.current?.signal.aborted) setFailure(caught);
      },
    },
  );
  const count = questions?.total ?? 0;
  const runs = data?.rows ?? [];
  const chosen = (address['compare'] ?? '').split(',').filter(Boolean).map(Number);
  const pair = chosen
    .map((id) => runs.find((one) => one.id === id))
    .filter((one) => one !== undefined);
  const choose = (id: number, on: boolean): void => {
    // Selecting a third run replaces the first.
    const next = on ? [...chosen, id].slice(-2) : chosen.filter((one) => one !== id);
    change({ compare: next.length === 0 ? undefined : next.join(',') });
  };
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <RowsSkeleton rows={2} height={120} />;
  if (count === 0 && runs.length === 0) return null;
  return (
    <Stack component="section" gap="md" aria-label={t('evaluation.title')}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={2}>{t('evaluation.title')}</Title>
          <Text size="sm" c="dimmed" maw={560}>
            {t('evaluation.about')}
          </Text>
        </div>
        {can('system:info:edit') && (
          <Group gap="xs">
            <ActionButton
              variant="default"
              icon={IconAdjustments}
              aria-expanded={trying}
              onClick={() => setTrying(!trying)}
            >
              {t('evaluation.settings')}
            </ActionButton>
            {run.isPending ? (
              <Button
                variant="default"
                onClick={() => abort.current?.abort(new Error('The evaluation was cancelled.'))}
              >
                {t('evaluation.cancel')}
              </Button>
            ) : (
              <ActionButton
                icon={IconPlayerPlay}
                disabled={count === 0}
                onClick={() => run.mutate()}
              >
                {t('evaluation.run')}
              </ActionButton>
            )}
          </Group>
        )}
      </Group>
      <Collapse expanded={trying}>
        {trying && (
          <Paper p="md" maw={480}>
            <SearchFields value={settings} onChange={setSettings} />
            <Group mt="md" gap="xs">
              <Button
                size="xs"
                variant="subtle"
                color="gray"
                onClick={() => setSettings(savedOf(base))}
              >
                {t('retrieval.ofBase')}
              </Button>
              <Button size="xs" variant="default" onClick={() => setApplying(true)}>
                {t('apply.open')}
              </Button>
            </Group>
          </Paper>
        )}
      </Collapse>
      {run.isPending && (
        <Alert variant="default" role="status">
          {t('evaluation.running', { count })}
        </Alert>
      )}
      {failure !== undefined && <FormFailure error={failure} />}
      {latest && <Latest run={latest} />}
      {runs.length > 1 && (
        <Suspense fallback={<Skeleton height={240} />}>
          <ScoreChart runs={runs} />
        </Suspense>
      )}
      {runs.length > 0 && (
        <FramedTable label={t('evaluation.runs')} minWidth={560}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={36}>
                <span className="only-for-readers">{t('evaluation.compare')}</span>
              </Table.Th>
              <Table.Th>{t('evaluation.when')}</Table.Th>
              {METRICS.map((metric) => (
                <Table.Th key={metric} ta="right">
                  {t(`evaluation.metric.${metric}`)}
                </Table.Th>
              ))}
              <Table.Th ta="right">{t('evaluation.questions')}</Table.Th>
              <Table.Th>{t('evaluation.settings')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {(all ? runs : runs.slice(0, COLLAPSED_RUNS)).map((one) => (
              <Table.Tr key={one.id}>
                <Table.Td>
                  <Checkbox
                    size="xs"
                    aria-label={t('evaluation.choose', { id: one.id })}
                    checked={chosen.includes(one.id)}
                    onChange={({ currentTarget }) => choose(one.id, currentTarget.checked)}
                  />
                </Table.Td>
                <Table.Td>
                  <Time value={one.createTime} />
                </Table.Td>
                {METRICS.map((metric) => (
                  <Table.Td key={metric} ta="right">
                    {one[metric].toFixed(3)}
                  </Table.Td>
                ))}
                <Table.Td ta="right">{number(one.queryCount)}</Table.Td>
                <Table.Td>
                  <RunSettings run={one} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </FramedTable>
      )}
      {runs.length > COLLAPSED_RUNS && (
        <Button variant="subtle" color="gray" onClick={() => setAll(!all)}>
          {all ? t('evaluation.fewer') : t('evaluation.all', { count: runs.length })}
        </Button>
      )}
      {runs.length > 1 && pair.length < 2 && (
        <Text size="sm" c="dimmed">
          {t('evaluation.chooseTwo')}
        </Text>
      )}
      {pair[0] && pair[1] && (
        <CompareEvaluations base={base} runs={runs} pair={[pair[0], pair[1]]} />
      )}
      {applying && (
        <ApplySettings
          base={base}
          changes={baseSettingsOf(settings)}
          onClose={() => setApplying(false)}
        />
      )}
    </Stack>
  );
}

function RunSettings({ run: { settings } }: { readonly run: EvaluationView }) {
  const { t } = useTranslation('knowledge');
  const { topK, threshold, enableHybrid, hybridAlpha, enableRerank } = settings;
  return (
    <Text size="xs" c="dimmed">
      {t('evaluation.short', { topK: number(topK), threshold: number(threshold, 2) })}
      {enableHybrid && ` · ${t('evaluation.hybrid', { alpha: number(hybridAlpha, 2) })}`}
      {enableRerank && ` · ${t('evaluation.rerank')}`}
    </Text>
  );
}

/** Scores of the last run and their difference from the run before. */
function Latest({ run }: { readonly run: NewEvaluationView }) {
  const { t } = useTranslation('knowledge');
  return (
    <Paper p="md" role="status">
      <Group gap="xl">
        {METRICS.map((metric) => (
          <div key={metric}>
            <Text size="xs" c="dimmed">
              {t(`evaluation.metric.${metric}`)}
            </Text>
            <Group gap={8}>
              <Text fz={20} fw={600}>
                {run[metric].toFixed(3)}
              </Text>
              {run.difference && <Difference value={run.difference[metric]} />}
            </Group>
          </div>
        ))}
      </Group>
    </Paper>
  );
}
