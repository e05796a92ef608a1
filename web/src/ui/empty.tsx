import { Stack, Text, Title } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import styles from './state.module.css';

interface Props {
  readonly icon: Icon;
  readonly title: string;
  /** Explanation in one or two sentences. */
  readonly children?: ReactNode;
  /** The main action that adds the first record. */
  readonly action?: ReactNode;
}

/** Placeholder of a page or list without records. */
export function Empty({ icon: Icon, title, children, action }: Props) {
  return (
    <Stack className={`${styles['state']} ${styles['inline']}`}>
      <Icon size={28} stroke={1.5} className={styles['icon']} />
      <Title order={2}>{title}</Title>
      {children && <Text c="dimmed">{children}</Text>}
      {action}
    </Stack>
  );
}
