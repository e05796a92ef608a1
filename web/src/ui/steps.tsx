import { Loader, Stack, Text } from '@mantine/core';
import {
  IconCircleCheck,
  IconCircleDashed,
  IconCircleMinus,
  IconCircleX,
} from '@tabler/icons-react';
import { duration } from './format';
import styles from './steps.module.css';

export interface Step {
  readonly name: string;
  readonly title: string;
  readonly state: 'waiting' | 'running' | 'good' | 'bad' | 'skipped';
  readonly detail?: string;
  /** Duration of the step. */
  readonly ms?: number;
}

interface Props {
  readonly steps: readonly Step[];
  /** Accessible names of the marks. */
  readonly labels: Readonly<Record<'running' | 'good' | 'bad', string>>;
}

/** Steps of a test with their durations and results. */
export function Steps({ steps, labels }: Props) {
  return (
    <ol className={styles['steps']}>
      {steps.map(({ name, title, state, detail, ms }) => (
        <li key={name} className={styles['step']} data-state={state}>
          <Mark state={state} labels={labels} />
          <Stack gap={0} className={styles['text'] ?? ''}>
            <Text fw={600}>{title}</Text>
            {detail && (
              <Text size="sm" c="dimmed">
                {detail}
              </Text>
            )}
          </Stack>
          {ms !== undefined && (
            <Text size="sm" c="dimmed">
              {duration(ms)}
            </Text>
          )}
        </li>
      ))}
    </ol>
  );
}

const ICONS = {
  waiting: IconCircleDashed,
  good: IconCircleCheck,
  bad: IconCircleX,
  skipped: IconCircleMinus,
};

function Mark({ state, labels }: Pick<Step, 'state'> & Pick<Props, 'labels'>) {
  if (state === 'running') {
    return (
      <Loader size={20} role="img" className={styles['mark'] ?? ''} aria-label={labels.running} />
    );
  }
  const Icon = ICONS[state];
  const label = state === 'good' || state === 'bad' ? { 'aria-label': labels[state] } : {};
  return (
    <Icon
      size={20}
      stroke={1.5}
      className={`${styles['mark']} ${styles[state] ?? ''}`}
      aria-hidden={!('aria-label' in label)}
      {...label}
    />
  );
}
