import { useEffect } from 'react';

interface Paged {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  /** Whether `total` is up to date. */
  readonly isKnown: boolean;
}

/** Returns the last page, at least 1. If the current page is beyond it, for example after deletions, opens the last page. */
export function useLastPage(
  { page, size, total, isKnown }: Paged,
  goTo: (last: number) => void,
): number {
  const last = Math.max(1, Math.ceil(total / size));
  const isBeyond = isKnown && page > last;
  useEffect(() => {
    if (isBeyond) goTo(last);
    // `goTo` is omitted because it is new on every render.
  }, [isBeyond, last]);
  return last;
}
