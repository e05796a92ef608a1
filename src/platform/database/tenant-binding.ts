import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom work runs: one tenant, or the whole installation for a reason that the code gives. */
type Binding =
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'installation'; readonly reason: string };

const storage = new AsyncLocalStorage<Binding>();

export function currentBinding(): Binding | undefined {
  return storage.getStore();
}

/** The tenant to which the work is bound; undefined where it is bound to none. */
export function boundTenant(): string | undefined {
  const binding = storage.getStore();
  return binding?.kind === 'tenant' ? binding.tenantId : undefined;
}

/**
 * Binds the work, and everything that it starts, to the tenant: TenantWall refuses its statements on rows of any other.
 * TenantInterceptor binds requests; a job or a sweep binds its work to the tenant of the row that it found.
 */
export function inTenant<T>(tenantId: string, work: () => T): T {
  return storage.run({ kind: 'tenant', tenantId }, work);
}

/**
 * Runs work that belongs to no tenant, such as a sweep over all of them. test/architecture/tenant-bindings.spec.ts
 * lists every call with its reason. Keep the work to the statement that needs it.
 */
export function acrossTenants<T>(reason: string, work: () => T): T {
  return storage.run({ kind: 'installation', reason }, work);
}

/** The work, to be run later, bound as now. */
export function withBinding<T>(work: () => T): () => T {
  const binding = storage.getStore();
  return binding === undefined ? work : () => storage.run(binding, work);
}
