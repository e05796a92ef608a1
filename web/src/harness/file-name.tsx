import styles from './harness.module.css';

interface Props {
  /** What has happened to it, or would happen. */
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
