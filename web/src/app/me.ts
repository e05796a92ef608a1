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

/** Whether the permissions include the required one; a segment `*` matches any segment. */
export function includes(permissions: readonly string[], required: string): boolean {
  const segments = required.split(':');
  return permissions.some((permission) =>
    permission.split(':').every((part, place) => part === '*' || part === segments[place]),
  );
}

interface Me {
  readonly user: UserInfoView['user'] | undefined;
  /** The tenant whose records are shown. A super administrator can switch to another tenant. */
  readonly tenantId: string | undefined;
  readonly isSuperAdmin: boolean;
  /** Whether the user has one of the permissions; true for an empty list. False until the user is loaded. */
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
