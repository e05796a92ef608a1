import type { PermissionView } from '@plinth/client';
import { queryOptions } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { plinth } from '../app/plinth';
import type texts from './texts.en.json';

/** The permissions that roles can have. */
export const permissionsQuery = queryOptions({
  queryKey: ['permissions'],
  queryFn: ({ signal }) => plinth.permissionList({ signal }),
  staleTime: Infinity,
});

export interface PermissionGroup {
  /** The part of the permissions before the action, with `_` for `:`, which texts cannot have in their keys. */
  readonly key: string;
  /** In English, as the service calls it. */
  readonly name: string;
  readonly permissions: readonly PermissionView[];
}

/** `system:user:list` is `system_user_list`. */
export function keyOf(permission: string): string {
  return permission.replaceAll(':', '_');
}

export function groupsOf(permissions: readonly PermissionView[]): readonly PermissionGroup[] {
  const groups = Map.groupBy(permissions, ({ group }) => group);
  return [...groups].map(([name, members]) => {
    const first = members[0]?.permission ?? '';
    return { key: keyOf(first.slice(0, first.lastIndexOf(':'))), name, permissions: members };
  });
}

/** What a permission allows, in words; the service's description for one that the console does not know. */
export function allowedBy(
  t: TFunction<'administration'>,
  { permission, description }: PermissionView,
): string {
  const key = keyOf(permission) as keyof (typeof texts)['permission'];
  return t(`permission.${key}`, { defaultValue: description });
}

export function groupTitle(t: TFunction<'administration'>, { key, name }: PermissionGroup): string {
  return t(`group.${key as keyof (typeof texts)['group']}`, { defaultValue: name });
}

/** Whether a granted permission, which may have wildcards, stands for the other one. */
function covers(granted: string, permission: string): boolean {
  const parts = permission.split(':');
  return granted.split(':').every((part, place) => part === '*' || part === parts[place]);
}

/** The permissions of the list that those of a role stand for. */
export function expanded(granted: readonly string[], all: readonly PermissionView[]): string[] {
  return all
    .map(({ permission }) => permission)
    .filter((permission) => granted.some((one) => covers(one, permission)));
}

/** What to store for the chosen ones: a wildcard of before stays where all that it stands for is still chosen. */
export function compacted(
  before: readonly string[],
  chosen: readonly string[],
  all: readonly PermissionView[],
): string[] {
  const kept = before.filter(
    (granted) =>
      granted.includes('*') && expanded([granted], all).every((one) => chosen.includes(one)),
  );
  return [...kept, ...chosen.filter((one) => !kept.some((granted) => covers(granted, one)))];
}
