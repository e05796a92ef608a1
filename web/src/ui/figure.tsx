import { Text } from '@mantine/core';
import styles from './figure.module.css';
import { Sparkline } from './sparkline';

interface Props {
  readonly title: string;
  readonly value: string;
  /** Values over time. */
  readonly course: readonly number[];
  /** Whether the figure counts failures. */
  readonly tone?: 'usual' | 'bad';
  /** Whether the value itself is bad. */
  readonly bad?: boolean;
}

/** A figure with a sparkline. */
export function Figure({ title, value, course, tone = 'usual', bad = false }: Props) {
  return (
    <div className={styles['figure']}>
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <Text className={styles['value']} data-bad={bad}>
        {value}
      </Text>
      <Sparkline values={course} tone={course.some((one) => one > 0) ? tone : 'usual'} />
    </div>
  );
}
