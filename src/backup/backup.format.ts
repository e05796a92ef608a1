import { z } from 'zod';

/** A backup or restore that cannot be done, with what to do next. */
export class BackupError extends Error {}

/**
 * A backup is a folder, or a prefix in a bucket:
 *
 *     encryption.json   only of an encrypted backup: the salt of its key; every other object is sealed
 *     database.dump     pg_dump's custom format; database.tgz: PGlite's dump of its data folder
 *     files/…           uploaded files by their keys
 *     harness/…         contents that the coding harness keeps, by tenant and SHA-256
 *     secret.key        the generated key of an embedded set-up
 *     contents.ndjson   size and SHA-256 of each object above, a line each
 *     manifest.json     written last: a backup without it is incomplete
 */
export const PATHS = {
  encryption: 'encryption.json',
  secretKey: 'secret.key',
  contents: 'contents.ndjson',
  manifest: 'manifest.json',
} as const;

export const DUMPS = { postgresql: 'database.dump', embedded: 'database.tgz' } as const;

export const Encryption = z.object({ format: z.literal(1), salt: z.base64() });

const Checksum = { bytes: z.int().nonnegative(), sha256: z.hex().length(64) };

/** A line of contents.ndjson. */
export const Entry = z.object({
  // Written by a backup, read by a restore that follows it: nothing leads out of the folder.
  path: z.string().regex(/^(?:[\w-]+\/){0,3}[\w.-]*\w$/),
  ...Checksum,
});
export type Entry = z.output<typeof Entry>;

export const Manifest = z.object({
  format: z.literal(1, 'is of a newer release'),
  createdAt: z.iso.datetime(),
  release: z.string(),
  store: z.enum(['postgresql', 'embedded']),
  /** The major version of PostgreSQL. */
  postgres: z.int(),
  /** The class name of the last migration, which ends with its number. */
  lastMigration: z.string(),
  /** Names the SECRET_KEY with which the credentials are encrypted. */
  secretKeyId: z.string(),
  /** The stores in which knowledge bases have their vectors. Those in Qdrant are not in the backup. */
  vectorStores: z.array(z.string()),
  /** Files whose record was there and whose content was not, also before the backup. */
  missingFiles: z.int().nonnegative(),
  objects: z.int().positive(),
  contents: z.object(Checksum),
});
export type Manifest = z.output<typeof Manifest>;
