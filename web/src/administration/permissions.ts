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
  /** The permission prefix before the action, with `_` instead of `:`, which text keys cannot contain. */
  readonly key: string;
  /** English name of the group from the service. */
  readonly name: string;
  readonly permissions: readonly PermissionView[];
}

/** The permission as a text key: `system:user:list` becomes `system_user_list`. */
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

/** Describes what a permission allows; falls back to the service's description if the console has no text. */
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

/** Whether a granted permission, which may contain wildcards, includes another one. */
function covers(granted: string, permission: string): boolean {
  const parts = permission.split(':');
  return granted.split(':').every((part, place) => part === '*' || part === parts[place]);
}

/** Expands the permissions of a role, which may contain wildcards, to those in the list. */
export function expanded(granted: readonly string[], all: readonly PermissionView[]): string[] {
  return all
    .map(({ permission }) => permission)
    .filter((permission) => granted.some((one) => covers(one, permission)));
}

/** Permissions to store: an existing wildcard is kept while every permission that it includes is still chosen. */
export function compacted(
  before: readonly string[],
  chosen: readonly string[],
  all: readonly PermissionView[],
): string[] {
  const keptPermissions = before.filter(
    (granted) =>
      granted.includes('*') && expanded([granted], all).every((one) => chosen.includes(one)),
  );
  return [
    ...keptPermissions,
    ...chosen.filter((one) => !keptPermissions.some((granted) => covers(granted, one))),
  ];
}
