import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { QueryKey, UseMutationResult } from '@tanstack/react-query';
import { failed, said } from './notify';

interface Options<Result, Input> {
  /** What is said when it is done; nothing if absent. */
  readonly done?: string | ((result: Result) => string);
  /** The queries whose answers it changes, by the beginning of their keys. */
  readonly changes?: readonly QueryKey[];
  readonly after?: (result: Result, input: Input) => void;
  /** Shows a failure itself, such as in a form; otherwise it is a notification. */
  readonly onFailure?: (error: unknown) => void;
}

/** A change at the service: runs once at a time, says how it ended and loads again what it changed. */
export function useAction<Result, Input = void>(
  run: (input: Input) => Promise<Result>,
  { done, changes = [], after, onFailure }: Options<Result, Input> = {},
): UseMutationResult<Result, unknown, Input> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      if (done !== undefined) said(typeof done === 'string' ? done : done(result));
      after?.(result, input);
      await Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
    onError: onFailure ?? failed,
  });
}
