import { posix } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../protocol/values.js';
import type { ProtectedPath } from '../../sandbox/workspace-scan.js';
import { kindOf } from '../../protocol/tool-call.js';
import type { FileOperation, FileState } from '../../../effect/index.js';

/** A file, a link or a folder as it was found. */
export interface ManifestFile {
  /** Path below the workspace, with `/` between names. */
  readonly path: string;
  /** Bytes; of a folder the number of names in it. */
  readonly size: number;
  /** Milliseconds with fractions; 0 of a folder. A command can set the first back, and not the second. */
  readonly modifiedAt: number;
  readonly changedAt: number;
  readonly inode: number;
  /** Mode as in FileState. */
  readonly mode: number;
  /** Hash of the content, lower-case hex; null if unread. A link's content is its target; a folder has none. */
  readonly sha256: string | null;
  /** Whether the content is stored. */
  readonly kept: boolean;
}

/** The files, links and folders of a workspace at one moment, ordered by path. */
export type Manifest = readonly ManifestFile[];

/** Stored state of a workspace before a command. */
export interface StoredManifest {
  readonly manifest: Manifest;
  /** Protected paths that were there: what the command adds to them is removed. */
  readonly protectedPaths: readonly ProtectedPath[];
}

const VERSION = 3;

const row = z.tuple([
  z.string(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.string().length(64).nullable(),
  z.boolean(),
]);
const stored = z.object({
  version: z.literal(VERSION),
  files: z.array(row),
  protectedPaths: z.array(z.tuple([z.string(), z.string()])),
});

/** The same bytes for the same manifest. */
export function manifestBytes({ manifest, protectedPaths }: StoredManifest): Buffer {
  const files = manifest.map(
    ({ path, size, modifiedAt, changedAt, inode, mode, sha256: hash, kept }) =>
      [path, size, modifiedAt, changedAt, inode, mode, hash, kept] as const,
  );
  return Buffer.from(JSON.stringify({ version: VERSION, files, protectedPaths }));
}

/** Undefined when the bytes are no manifest of this version. */
export function readManifest(bytes: Buffer): StoredManifest | undefined {
  const { data } = stored.safeParse(parsed(bytes));
  const manifest = data?.files.map(
    ([path, size, modifiedAt, changedAt, inode, mode, hash, kept]): ManifestFile => ({
      path,
      size,
      modifiedAt,
      changedAt,
      inode,
      mode,
      kept,
      sha256: hash,
    }),
  );
  return manifest && data && { manifest, protectedPaths: data.protectedPaths };
}

/** Whether it is certainly the same content at the same place: nothing has been written to it since. */
export function isSameFile(one: FileIdentity, other: FileIdentity): boolean {
  return (
    one.inode === other.inode &&
    one.size === other.size &&
    one.modifiedAt === other.modifiedAt &&
    one.changedAt === other.changedAt
  );
}

export type FileIdentity = Pick<ManifestFile, 'inode' | 'size' | 'modifiedAt' | 'changedAt'>;

/**
 * Changes of files, links and folders: removed ones first, so that their names are free for new ones. A file that was
 * only touched has not changed. A folder that came or went with its contents is reported as `madeFolders` of those; an
 * empty one by itself.
 */
export function operationsBetween(before: Manifest, after: Manifest): FileOperation[] {
  const beforeByPath = byPath(before);
  const afterByPath = byPath(after);
  const removed = before.filter(({ path }) => !afterByPath.has(path));
  const created = after.filter(({ path }) => !beforeByPath.has(path));
  const others = after.flatMap((file) => {
    const earlier = beforeByPath.get(file.path);
    return earlier && !isUnchanged(earlier, file)
      ? [operation('UPDATE', { before: earlier, after: file })]
      : [];
  });
  return [
    ...withFolders(removed, (file) => operation('DELETE', { before: file })),
    ...others,
    ...withFolders(created, (file) => operation('CREATE', { after: file })),
  ];
}

/** Operations of what has come, or gone: of folders only where nothing is, or was, in them. */
function withFolders(
  files: Manifest,
  operationOf: (file: ManifestFile) => FileOperation,
): FileOperation[] {
  const folders = new Set(files.filter(isFolder).map(({ path }) => path));
  return files
    .filter((file) => !isFolder(file) || file.size === 0)
    .map((file) => {
      let count = 0;
      for (let above = posix.dirname(file.path); folders.has(above); count += 1) {
        above = posix.dirname(above);
      }
      return { ...operationOf(file), ...(count > 0 && { madeFolders: count }) };
    });
}

function isFolder({ mode }: ManifestFile): boolean {
  return kindOf(mode) === 'folder';
}

/** A manifest is compared with the one before and with the one after it. */
const maps = new WeakMap<Manifest, ReadonlyMap<string, ManifestFile>>();

export function byPath(manifest: Manifest): ReadonlyMap<string, ManifestFile> {
  const cachedMap = maps.get(manifest);
  if (cachedMap) return cachedMap;
  const map = new Map(manifest.map((file) => [file.path, file]));
  maps.set(manifest, map);
  return map;
}

function isUnchanged(before: ManifestFile, after: ManifestFile): boolean {
  if (before.mode !== after.mode) return false;
  return isSameFile(before, after) || (before.sha256 !== null && before.sha256 === after.sha256);
}

function operation(
  op: FileOperation['op'],
  { before, after }: { readonly before?: ManifestFile; readonly after?: ManifestFile },
): FileOperation {
  return {
    path: (before ?? after)?.path ?? '',
    op,
    before: before ? stateOf(before) : null,
    after: after ? stateOf(after) : null,
    // A file of which nothing is known to compare it with cannot be removed again either.
    restorable: before ? before.kept : after?.sha256 !== null,
  };
}

function stateOf(file: ManifestFile): FileState {
  const size = isFolder(file) ? 0 : file.size;
  return { sha256: file.sha256 ?? unreadHash(file), size, mode: file.mode };
}

/** Stands for a content that was not read: no content has this hash, and another state of the file has another one. */
function unreadHash({ path, size, modifiedAt, changedAt, inode }: ManifestFile): string {
  return sha256(JSON.stringify(['not read', path, size, modifiedAt, changedAt, inode]));
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
