import { queryOptions, useQuery } from '@tanstack/react-query';
import { profileInfo } from '@plinth/client';
import type { UserInfoView } from '@plinth/client';

/** The signed-in user with their roles and permissions. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => profileInfo({ signal }),
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
  readonly isSuperAdmin: boolean;
  /** Whether one of the permissions is held; true for an empty list. False until the user is loaded. */
  readonly may: (...permissions: readonly string[]) => boolean;
}

export function useMe(): Me {
  const { data } = useQuery(meQuery);
  return {
    user: data?.user,
    isSuperAdmin: data?.roles.includes('superadmin') ?? false,
    may: (...permissions) =>
      data !== undefined &&
      (permissions.length === 0 || permissions.some((one) => includes(data.permissions, one))),
  };
}
