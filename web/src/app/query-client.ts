import { ApiError } from '@plinth/client';
import { QueryClient } from '@tanstack/react-query';

/** A refusal stays one when it is asked again; a lost connection or a service that is starting does not. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === 503;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => isPassing(error) && failures < 2,
      // navigator.onLine is false on machines without internet, which may reach the service all the same.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});
