import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import type { StoredFile } from './storage.entity.js';

/** A feature whose records hold files: who may read the record may read its file, and nobody else. */
export interface FileOwner {
  /** Those of the files that the caller may read. */
  readable(caller: Caller, fileIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** Declared here, joined by the features that keep files as parts of their own records. */
@Injectable()
export class FileOwners {
  private readonly owners = new Map<string, FileOwner>();

  /** `kind` is what the records of the files are marked with. */
  join(kind: string, owner: FileOwner): void {
    this.owners.set(kind, owner);
  }

  /** Those of the tenant's files that the caller may read: what belongs to no record is everybody's. */
  async visible(caller: Caller, files: readonly StoredFile[]): Promise<StoredFile[]> {
    const readable = new Set<number>();
    for (const [kind, owner] of this.owners) {
      const ids = files.filter(({ belongsTo }) => belongsTo === kind).map(({ id }) => id);
      if (ids.length === 0) continue;
      for (const id of await owner.readable(caller, ids)) readable.add(id);
    }
    return files.filter(({ id, belongsTo }) => belongsTo === null || readable.has(id));
  }
}
