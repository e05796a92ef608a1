import type { Attachment } from '../attachment.entity.js';
import { isSkipped } from './folder.loader.js';
import type { FoundFile, SkippedEntry } from './folder.loader.js';

export interface DigestedFile extends FoundFile {
  /** Of the content, in lower-case hex. */
  readonly sha256: string;
}

/** A document that the knowledge base holds. */
export type HeldDocument = Pick<Attachment, 'id' | 'name' | 'fileHash' | 'status'>;

/** A document whose file has another content by now. */
export interface OutdatedDocument {
  readonly document: HeldDocument;
  /** Digest of what the file holds now: once the base has that, the document can go. */
  readonly replacedBy: string;
}

export interface ImportPlan {
  readonly toStore: readonly DigestedFile[];
  readonly outdated: readonly OutdatedDocument[];
  /** What the base holds already, under whatever name. */
  readonly unchanged: readonly HeldDocument[];
  readonly skipped: readonly SkippedEntry[];
}

/**
 * What an import has to do. A knowledge base holds a content once, so of several files with the same content the first
 * is taken; and what some file of the folder still holds never goes, though its name may belong to another by now.
 */
export function planImport(
  entries: readonly (DigestedFile | SkippedEntry)[],
  held: readonly HeldDocument[],
): ImportPlan {
  const skipped = entries.filter((entry) => isSkipped(entry));
  const files = entries.filter((entry): entry is DigestedFile => !isSkipped(entry));
  const first = new Map<string, DigestedFile>();
  for (const file of files) {
    if (first.has(file.sha256)) skipped.push({ name: file.name, skipped: 'same content' });
    else first.set(file.sha256, file);
  }
  const heldHashes = new Set(held.map(({ fileHash }) => fileHash));
  const hashByName = new Map(files.map(({ name, sha256 }) => [name, sha256]));
  return {
    toStore: [...first.values()].filter(({ sha256 }) => !heldHashes.has(sha256)),
    outdated: held.flatMap((document) => {
      const replacedBy = first.has(document.fileHash) ? undefined : hashByName.get(document.name);
      return replacedBy === undefined ? [] : [{ document, replacedBy }];
    }),
    unchanged: held.filter(({ fileHash }) => first.has(fileHash)),
    skipped,
  };
}
