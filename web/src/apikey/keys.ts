/** The keys of the user, or those of all users of the tenant. */
export type Scope = 'own' | 'tenant';

/** The queries that a change of a key changes. The two lists have different columns, and so different names. */
export const KEY_LISTS = [['own-keys'], ['api-keys']] as const;
