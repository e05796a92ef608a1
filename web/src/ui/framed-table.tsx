import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import styles from './framed-table.module.css';

interface Props {
  /** Accessible name of the table. */
  readonly label: string;
  /** Minimum width; below it the table scrolls horizontally. */
  readonly minWidth: number;
  readonly mt?: string;
  readonly children: ReactNode;
}

/** A table whose rows are all loaded, unlike a paginated list of the service. */
export function FramedTable({ label, minWidth, mt, children }: Props) {
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" mt={mt} className={styles['frame']}>
      <Table aria-label={label}>{children}</Table>
    </Table.ScrollContainer>
  );
}
