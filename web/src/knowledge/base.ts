import type { KnowledgeView } from '@plinth/client';
import { queryOptions } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';

/** The queries of a base begin with this key; what is changed in the base makes them all load again. */
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
  /** Why nothing can be changed; undefined where something can. */
  readonly readOnly: string | undefined;
}

/** What the user may do with a base: its owner and super administrators change it, with the permission for each thing. */
export function useBaseAccess(base: KnowledgeView | undefined): Access {
  const { t } = useTranslation('knowledge');
  const { user, isSuperAdmin, may } = useMe();
  if (!base) return { can: () => false, readOnly: undefined };
  const isOwner = isSuperAdmin || base.userId === user?.userId;
  const can = (permission: string): boolean => isOwner && may(permission);
  if (!isOwner) return { can, readOnly: t('readOnly.shared') };
  return { can, readOnly: may('system:info:edit') ? undefined : t('readOnly.permission') };
}
