/** Scope of a list of keys: the user's own keys or those of the whole tenant. */
export type Scope = 'own' | 'tenant';

/** Queries to reload when a key changes. The two lists have different columns and therefore different names. */
export const KEY_LISTS = [['own-keys'], ['api-keys']] as const;
