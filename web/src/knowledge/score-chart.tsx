import '@mantine/charts/styles.layer.css';
import { LineChart } from '@mantine/charts';
import type { EvaluationView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { absolute, momentOf } from '../ui/time';
import styles from './knowledge.module.css';

const SHORT = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const;

/** Chart of the scores of runs, oldest first. */
export default function ScoreChart({ runs }: { readonly runs: readonly EvaluationView[] }) {
  const { t, i18n } = useTranslation('knowledge');
  const data = runs.toReversed().map(({ id, createTime, ndcg, recall, mrr }) => ({
    id,
    time: absolute(momentOf(createTime)),
    ndcg,
    recall,
    mrr,
  }));
  const short = new Map(
    runs.map(({ createTime }) => {
      const moment = momentOf(createTime);
      return [absolute(moment), moment.toLocaleString(i18n.language, SHORT)];
    }),
  );
  return (
    <figure className={styles['plot']} role="img" aria-label={t('evaluation.chart')}>
      <LineChart
        h={240}
        data={data}
        dataKey="time"
        withLegend
        legendProps={{ position: 'bottom' }}
        yAxisProps={{ domain: [0, 1], width: 36 }}
        xAxisProps={{ tickFormatter: (time: string) => short.get(time) ?? time }}
        valueFormatter={(value) => value.toFixed(3)}
        curveType="linear"
        lineProps={{ isAnimationActive: false }}
        series={[
          { name: 'ndcg', label: t('evaluation.metric.ndcg'), color: 'indigo.6' },
          { name: 'recall', label: t('evaluation.metric.recall'), color: 'teal.6' },
          { name: 'mrr', label: t('evaluation.metric.mrr'), color: 'orange.6' },
        ]}
      />
    </figure>
  );
}
