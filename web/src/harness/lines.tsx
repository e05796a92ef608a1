import { useTranslation } from 'react-i18next';
import styles from './harness.module.css';

interface Props {
  readonly additions: number | null;
  readonly deletions: number | null;
}

/** Shows changed lines as "+3 −1"; nothing for binary files. */
export function Lines({ additions, deletions }: Props) {
  const { t } = useTranslation('harness');
  if (additions === null && deletions === null) return null;
  const [more, less] = [additions ?? 0, deletions ?? 0];
  return (
    <span className={styles['lineCounts']}>
      <span className="only-for-readers">{t('lines', { more, less })}</span>
      <span className={styles['good']} aria-hidden>
        +{more}
      </span>{' '}
      <span className={styles['bad']} aria-hidden>
        −{less}
      </span>
    </span>
  );
}
