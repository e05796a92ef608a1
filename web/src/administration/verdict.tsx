import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import styles from './verdict.module.css';

interface Props {
  readonly good: boolean;
  readonly icon?: ReactNode;
  readonly children: ReactNode;
}

/** A coloured label for good or bad, readable in both themes. */
export function Verdict({ good, icon, children }: Props) {
  return (
    <Badge
      variant="transparent"
      className={good ? styles['good'] : styles['bad']}
      leftSection={icon}
    >
      {children}
    </Badge>
  );
}
