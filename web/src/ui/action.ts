import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import type { QueryKey, UseMutationResult } from '@tanstack/react-query';
import i18next from 'i18next';
import { messageOf } from './failure';
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
  const running = useRef(new Map<string, Promise<Result>>());
  const mutation = useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      if (done !== undefined) said(typeof done === 'string' ? done : done(result));
      after?.(result, input);
      await Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
    onError: onFailure ?? failed,
  });
  // A second click comes before the page shows that the first one is at work.
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

/** Equal for equal inputs. A file is equal to itself alone: JSON has nothing of one. */
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

/** An action on several records. After a failure the others still get it, and all that failed is said with its reason. */
export function useActionOnEach<Item extends Named>(
  run: (item: Item) => Promise<unknown>,
  { done, changes }: { readonly done: string; readonly changes: readonly QueryKey[] },
): UseMutationResult<void, unknown, readonly Item[]> {
  const queries = useQueryClient();
  return useAction((items: readonly Item[]) => onEach(items, run), {
    done,
    changes,
    onFailure: (error) => {
      failed(error);
      for (const queryKey of changes) void queries.invalidateQueries({ queryKey });
    },
  });
}

/** How many failures are named. */
const MOST_NAMED = 5;

/** Runs it on one after the other, also after a failure; throws at the end what has failed. */
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
      reasons: `${reasons.slice(0, MOST_NAMED).join(' ')}${reasons.length > MOST_NAMED ? ' …' : ''}`,
    }),
  );
}
