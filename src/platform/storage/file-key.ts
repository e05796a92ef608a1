import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { StorageRepository } from './storage.repository.js';

const FILE_KEY = /^[a-f0-9]{8}\/[a-f0-9]{32}$/;

/** Throws for a key in another form than FileKeys generates: such a key could lead out of the storage. */
export function assertFileKey(key: string): void {
  if (!FILE_KEY.test(key)) throw new Error('The file key has an invalid form.');
}

/**
 * Generates the keys of files: random, below a prefix of the installation, so that two databases that use one DATA_DIR
 * or bucket in succession do not remove each other's files as orphans.
 */
@Injectable()
export class FileKeys {
  private cachedPrefix: string | undefined;

  constructor(private readonly repository: StorageRepository) {}

  async make(): Promise<string> {
    return `${await this.prefix()}${randomBytes(16).toString('hex')}`;
  }

  async prefix(): Promise<string> {
    this.cachedPrefix ??= `${tag(await this.repository.installation())}/`;
    return this.cachedPrefix;
  }
}

function tag(installation: string): string {
  return createHash('sha256').update(installation).digest('hex').slice(0, 8);
}
