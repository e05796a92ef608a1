import { ApiError } from '@plinth/client';
import { QueryClient } from '@tanstack/react-query';

/** Retries only lost connections and a starting service, because refused requests fail again. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === 503;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => isPassing(error) && failures < 2,
      // navigator.onLine is false on machines without internet access, which may still reach the service.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});
