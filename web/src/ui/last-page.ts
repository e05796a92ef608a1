import { useEffect } from 'react';

interface Paged {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  /** Whether `total` is that of the list as it is now. */
  readonly isKnown: boolean;
}

/** The last page, at least 1. A page behind it, whose rows were deleted or whose address is an old one, is left for it. */
export function useLastPage(
  { page, size, total, isKnown }: Paged,
  goTo: (last: number) => void,
): number {
  const last = Math.max(1, Math.ceil(total / size));
  const isBeyond = isKnown && page > last;
  useEffect(() => {
    if (isBeyond) goTo(last);
    // `goTo` is left out: it is new with every render.
  }, [isBeyond, last]);
  return last;
}
