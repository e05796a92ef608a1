import type { KnowledgeView } from '@plinth/client';
import { queryOptions } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { isChangeable } from '../access/levels';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';

/** Query key prefix of a base. Every change in the base reloads all queries with this prefix. */
export const baseKey = (id: number) => ['knowledge', id] as const;

export const baseQuery = (id: number) =>
  queryOptions({
    queryKey: [...baseKey(id), 'base'],
    queryFn: ({ signal }) => plinth.knowledgeGet({ path: { id }, signal }),
    staleTime: 15_000,
  });

interface Access {
  /** Whether the user may change this base with the permission. */
  readonly can: (permission: string) => boolean;
  /** Reason why the base cannot be changed; undefined if it can. */
  readonly readOnly: string | undefined;
}

/** Access of the user to a base: the level that grants give, with the respective permissions. */
export function useBaseAccess(base: KnowledgeView | undefined): Access {
  const { t } = useTranslation('knowledge');
  const { may } = useMe();
  if (!base) return { can: () => false, readOnly: undefined };
  const mayChange = isChangeable(base.level);
  const can = (permission: string): boolean => mayChange && may(permission);
  if (!mayChange) return { can, readOnly: t('readOnly.shared') };
  return { can, readOnly: may('system:info:edit') ? undefined : t('readOnly.permission') };
}
