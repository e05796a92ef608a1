import styles from './sparkline.module.css';

interface Props {
  readonly values: readonly number[];
  readonly tone?: 'usual' | 'bad';
}

const WIDTH = 100;
const HEIGHT = 32;

/** Values over time as a line without axes, shown beside the figure. */
export function Sparkline({ values, tone = 'usual' }: Props) {
  const highest = Math.max(...values, 1);
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.map((value, place) => [
    (place * step).toFixed(1),
    (HEIGHT - 2 - (value / highest) * (HEIGHT - 4)).toFixed(1),
  ]);
  const line = points.map((point) => point.join(',')).join(' ');
  return (
    <svg
      className={styles['line']}
      data-tone={tone}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden
    >
      <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
      <polyline points={line} />
    </svg>
  );
}
