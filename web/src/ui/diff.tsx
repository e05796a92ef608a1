import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';

const DiffLines = lazy(() => import('./diff-lines'));

interface Props {
  /** Accessible name, such as the path of the file. */
  readonly label: string;
  /** A unified diff of one file or of several. */
  readonly text?: string;
  /** Two texts to compare instead of a diff. */
  readonly before?: string;
  readonly after?: string;
  /** Wraps long lines and marks what has changed within them, as for prose. */
  readonly wraps?: boolean;
}

/** A unified diff with line numbers, or the difference of two texts. Its code is loaded on first use. */
export function Diff(props: Props) {
  return (
    <Suspense fallback={<Skeleton height={72} radius={0} />}>
      <DiffLines {...props} />
    </Suspense>
  );
}
