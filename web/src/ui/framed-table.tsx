import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import styles from './framed-table.module.css';

interface Props {
  /** What a screen reader calls it. */
  readonly label: string;
  /** Below this width it scrolls sideways. */
  readonly minWidth: number;
  readonly mt?: string;
  readonly children: ReactNode;
}

/** A table that is no list of the service: all of its rows are there. */
export function FramedTable({ label, minWidth, mt, children }: Props) {
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" mt={mt} className={styles['frame']}>
      <Table aria-label={label}>{children}</Table>
    </Table.ScrollContainer>
  );
}
