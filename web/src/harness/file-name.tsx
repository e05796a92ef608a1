import styles from './harness.module.css';

interface Props {
  /** The kind of change to the file. */
  readonly operation: string;
  readonly path: string;
}

export function FileName({ operation, path }: Props) {
  return (
    <>
      <span className={styles['op']}>{operation}</span>{' '}
      <code className={styles['mono']}>{path}</code>
    </>
  );
}
