import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { StorageRepository } from './storage.repository.js';

const FILE_KEY = /^[a-f0-9]{8}\/[a-f0-9]{32}$/;

/** Throws for a key that FileKeys has not made: such a key could lead out of the storage. */
export function assertFileKey(key: string): void {
  if (!FILE_KEY.test(key)) throw new Error('A file was asked for under a key of an unknown form.');
}

/**
 * Makes the keys of files: random, below a prefix that names the installation. Two databases that are used with one
 * DATA_DIR or bucket, one after the other, so never take each other's files for orphans.
 */
@Injectable()
export class FileKeys {
  private known: string | undefined;

  constructor(private readonly repository: StorageRepository) {}

  async make(): Promise<string> {
    return `${await this.prefix()}${randomBytes(16).toString('hex')}`;
  }

  async prefix(): Promise<string> {
    this.known ??= `${tag(await this.repository.installation())}/`;
    return this.known;
  }
}

function tag(installation: string): string {
  return createHash('sha256').update(installation).digest('hex').slice(0, 8);
}
