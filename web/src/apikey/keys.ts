import type { ApiKeyView } from '@plinth/client';

/** Scope of a list of keys: the user's own keys or those of the whole tenant. */
export type Scope = 'own' | 'tenant';

/** Queries to reload when a key changes. The two lists have different columns and therefore different names. */
export const KEY_LISTS = [['own-keys'], ['api-keys']] as const;

/** Whether the key is valid and was created by a user. What an application may do is decided when it is connected. */
export function isChangeable({ state, application }: ApiKeyView): boolean {
  return state === 'active' && application === null;
}
