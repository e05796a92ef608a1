import { useQuery } from '@tanstack/react-query';
import type { SearchCodeView, SearchProviderView } from '@plinth/client';
import { plinth } from '../app/plinth';

/** Queries that a change of a provider makes stale: agents are offered tools of the web or not. */
export const CHANGES = [['searchProviders'], ['agents', 'choices']];

export type SearchCode = SearchProviderView['code'];

/** The kinds of search services. */
export function useKinds(): {
  readonly kinds: readonly SearchCodeView[];
  readonly labelOf: (code: SearchCode) => string;
} {
  const { data: kinds = [] } = useQuery({
    queryKey: ['searchKinds'],
    queryFn: ({ signal }) => plinth.searchProviderKinds({ signal }),
    staleTime: Infinity,
  });
  return { kinds, labelOf: (code) => kinds.find((kind) => kind.code === code)?.label ?? code };
}
