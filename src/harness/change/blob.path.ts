import { join } from 'node:path';

/** Valid name of a tenant's folder; ids of tenants are digits. */
const TENANT = /^\w{1,20}$/;
const HASH = /^[\da-f]{64}$/;

/** The folder of all stored contents. */
export function blobRoot(dataDir: string): string {
  return join(dataDir, 'harness', 'blobs');
}

/** The folder of a tenant's stored contents; undefined when no tenant can have this id. */
export function tenantBlobs(root: string, tenantId: string): string | undefined {
  return TENANT.test(tenantId) ? join(root, tenantId) : undefined;
}

/** Path of a content by its SHA-256. */
export function blobPath(root: string, tenantId: string, hash: string): string {
  const folder = tenantBlobs(root, tenantId);
  if (folder === undefined) throw new Error('The id of a tenant must be a word.');
  if (!HASH.test(hash)) throw new Error('The hash of a kept content must be a SHA-256.');
  return join(folder, hash.slice(0, 2), hash);
}
