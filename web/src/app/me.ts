import { queryOptions, useQuery } from '@tanstack/react-query';
import type { UserInfoView } from '@plinth/client';
import { plinth } from './plinth';
import { setTimeZone } from '../ui/time';

/** The signed-in user with their roles and permissions. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    // Without keepTenant, the answer would end a switch to another tenant.
    const info = await plinth.profileInfo({ query: { keepTenant: true }, signal });
    setTimeZone(info.timeZone);
    return info;
  },
  staleTime: 60_000,
});

/** Whether the permissions include the wanted one; a segment `*` stands for any. */
export function includes(permissions: readonly string[], wanted: string): boolean {
  const segments = wanted.split(':');
  return permissions.some((held) =>
    held.split(':').every((part, place) => part === '*' || part === segments[place]),
  );
}

interface Me {
  readonly user: UserInfoView['user'] | undefined;
  /** The tenant whose records are shown: a super administrator can switch to another than their own. */
  readonly tenantId: string | undefined;
  readonly isSuperAdmin: boolean;
  /** Whether one of the permissions is held; true for an empty list. False until the user is loaded. */
  readonly may: (...permissions: readonly string[]) => boolean;
}

export function useMe(): Me {
  const { data } = useQuery(meQuery);
  return {
    user: data?.user,
    tenantId: data?.tenantId,
    isSuperAdmin: data?.roles.includes('superadmin') ?? false,
    may: (...permissions) =>
      data !== undefined &&
      (permissions.length === 0 || permissions.some((one) => includes(data.permissions, one))),
  };
}
