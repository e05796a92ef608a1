import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/index.js';
import type { StoredFile } from './storage.entity.js';

/** A feature whose records have files: the file is readable exactly for those who may read the record. */
export interface FileOwner {
  /** The files among these that the caller may read. */
  readable(caller: Caller, fileIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** Declared here; features that keep files as parts of their records register themselves. */
@Injectable()
export class FileOwners {
  private readonly owners = new Map<string, FileOwner>();

  /** `kind` is the mark on the records of the files. */
  join(kind: string, owner: FileOwner): void {
    this.owners.set(kind, owner);
  }

  /** The files of the tenant that the caller may read; an independent file is readable for every user of the tenant. */
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
