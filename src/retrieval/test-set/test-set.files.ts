import { text } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { FileStorage, isRefused, StorageService } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import type { ImportTestSetBody } from './test-set.dto.js';
import { ImportTooLargeError } from './beir.js';

/** Limit of a file, which is read into memory. */
const LARGEST_MB = 16;

const QUERIES = /\.jsonl?$/i;
const QRELS = /\.(?:tsv|txt)$/i;

/** The files of an import. */
@Injectable()
export class TestSetFiles {
  constructor(
    private readonly storage: StorageService,
    private readonly files: FileStorage,
  ) {}

  /** The texts of the files: queries from *.jsonl, qrels from *.tsv. The stored files are removed. */
  async read(parts: readonly UploadedPart[]): Promise<ImportTestSetBody> {
    try {
      const queries = await this.contentOf(parts, QUERIES);
      const qrels = await this.contentOf(parts, QRELS);
      return {
        ...(queries !== undefined && { queries }),
        ...(qrels !== undefined && { qrels }),
      };
    } finally {
      await this.storage.discardUnrecorded(parts);
    }
  }

  private async contentOf(
    parts: readonly UploadedPart[],
    ending: RegExp,
  ): Promise<string | undefined> {
    const part = parts.find(({ name }) => ending.test(name));
    if (!part) return undefined;
    if (isRefused(part)) throw part.refusal;
    if (part.size > LARGEST_MB * 2 ** 20) throw new ImportTooLargeError(part.name, LARGEST_MB);
    return text(await this.files.read(part.storageKey));
  }
}
