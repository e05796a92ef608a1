import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import type { QueryKey, UseMutationResult } from '@tanstack/react-query';
import i18next from 'i18next';
import { messageOf } from './states';
import { notifyFailure, notifySuccess } from './notify';

interface Options<Result, Input> {
  /** Message shown on success; none if absent. */
  readonly done?: string | ((result: Result) => string) | undefined;
  /** Key prefixes of the queries to reload. */
  readonly changes?: readonly QueryKey[];
  readonly after?: ((result: Result, input: Input) => void) | undefined;
  /** Handles a failure, for example in a form. Defaults to a notification. */
  readonly onFailure?: (error: unknown) => void;
}

/** An action at the service. It runs once at a time, reports its outcome and reloads the queries that it changes. */
export function useAction<Result, Input = void>(
  run: (input: Input) => Promise<Result>,
  { done, changes = [], after, onFailure }: Options<Result, Input> = {},
): UseMutationResult<Result, unknown, Input> {
  const queries = useQueryClient();
  const running = useRef(new Map<string, Promise<Result>>());
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      if (done !== undefined) notifySuccess(typeof done === 'string' ? done : done(result));
      after?.(result, input);
      await Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
    onError: onFailure ?? notifyFailure,
  });
  // A second click can arrive before the page renders the pending state.
  const mutateAsync: typeof mutation.mutateAsync = (...given) => {
    const key = keyOf(given[0]);
    const same = running.current.get(key);
    if (same) return same;
    const work = mutation.mutateAsync(...given);
    running.current.set(key, work);
    const forget = (): void => void running.current.delete(key);
    work.then(forget, forget);
    return work;
  };
  return {
    ...mutation,
    mutateAsync,
    mutate: (...given) => void mutateAsync(...given).catch(() => undefined),
  };
}

let blobs = 0;
const blobKeys = new WeakMap<Blob, number>();

/** Key that is equal for equal inputs. A file equals only itself, because JSON does not represent its content. */
function keyOf(input: unknown): string {
  return JSON.stringify([input], (_, value: unknown) => {
    if (!(value instanceof Blob)) return value;
    const key = blobKeys.get(value) ?? ++blobs;
    blobKeys.set(value, key);
    return { blob: key };
  });
}

interface Named {
  readonly name: string;
}

/** An action on several records. It continues after a failure and reports all failures with their reasons. */
export function useActionOnEach<Item extends Named>(
  run: (item: Item) => Promise<unknown>,
  { done, changes }: { readonly done: string; readonly changes: readonly QueryKey[] },
): UseMutationResult<void, unknown, readonly Item[]> {
  const queries = useQueryClient();
  return useAction((items: readonly Item[]) => onEach(items, run), {
    done,
    changes,
    onFailure: (error) => {
      notifyFailure(error);
      for (const queryKey of changes) void queries.invalidateQueries({ queryKey });
    },
  });
}

/** Maximum number of failures listed by name. */
const MAX_NAMED_FAILURES = 5;

/** Runs the action on one record after the other, even after a failure, and throws all failures at the end. */
export async function onEach<Item extends Named>(
  items: readonly Item[],
  run: (item: Item) => Promise<unknown>,
): Promise<void> {
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  for (const item of items) {
    try {
      await run(item);
    } catch (error) {
      failures.push({ name: item.name, error });
    }
  }
  if (failures.length === 0) return;
  if (items.length === 1) throw failures[0]?.error;
  const reasons = failures.map(({ name, error }) => `${name} – ${messageOf(error)}`);
  throw new Error(
    i18next.t('ui:partlyDone', {
      done: items.length - failures.length,
      failed: failures.length,
      reasons: `${reasons.slice(0, MAX_NAMED_FAILURES).join(' ')}${reasons.length > MAX_NAMED_FAILURES ? ' …' : ''}`,
    }),
  );
}
