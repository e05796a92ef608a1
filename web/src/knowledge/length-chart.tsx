import '@mantine/charts/styles.layer.css';
import { BarChart } from '@mantine/charts';
import { useTranslation } from 'react-i18next';
import { number } from '../ui/format';
import styles from './knowledge.module.css';

const BINS = 12;

/** Histogram of fragment lengths. */
export default function LengthChart({ lengths }: { readonly lengths: readonly number[] }) {
  const { t } = useTranslation('knowledge');
  const longest = Math.max(...lengths, 1);
  const width = Math.max(1, Math.ceil(longest / BINS));
  const bins = Array.from({ length: Math.ceil((longest + 1) / width) }, (_, place) => ({
    length: `${number(place * width)}–${number((place + 1) * width - 1)}`,
    count: lengths.filter((one) => Math.floor(one / width) === place).length,
  }));
  return (
    <figure className={styles['plot']} role="img" aria-label={t('split.histogram')}>
      <BarChart
        h={84}
        data={bins}
        dataKey="length"
        series={[{ name: 'count', label: t('split.fragments'), color: 'indigo.6' }]}
        withXAxis={false}
        withYAxis={false}
        gridAxis="none"
        barProps={{ isAnimationActive: false }}
      />
      <div className={styles['axis']}>
        <span>0</span>
        <span>{t('fragment.characters', { count: longest, shown: number(longest) })}</span>
      </div>
    </figure>
  );
}
