import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { StorageService } from '../platform/storage/index.js';
import type { StoredFileInfo } from '../platform/storage/index.js';
import { DocumentParser, openStoredZip, refusalOf } from './parser/index.js';
import type { DocumentFile } from './parser/index.js';
import type { Message } from '../platform/message/index.js';

/** The whole of a document in as few pieces as its structure allows, and no character twice. */
const WHOLE = { textBlockSize: 10_000_000, overlapChar: 0, separator: '' };

/** Reads stored files as documents without making them part of a knowledge base. */
@Injectable()
export class DocumentReader {
  constructor(
    private readonly storage: StorageService,
    private readonly parser: DocumentParser,
  ) {}

  /** Reason why no file of this content can be parsed, and what to do instead; undefined if it may be. */
  async refusal(
    tenantId: string,
    { id, originalName, mimeType, byteSize }: StoredFileInfo,
  ): Promise<Message | undefined> {
    const openZip = () =>
      openStoredZip(byteSize, (range) => this.storage.openRange(tenantId, id, range));
    return refusalOf({ name: originalName, mimeType, openZip });
  }

  /**
   * The text of the file. Fails with a DomainError that says what to do when the document cannot be parsed, and with the
   * signal's reason when that aborts.
   */
  async text(tenantId: string, fileId: number, signal: AbortSignal): Promise<string> {
    const { content, originalName: name, byteSize } = await this.storage.open(tenantId, fileId);
    return this.parsed({ content, name, byteSize }, signal);
  }

  /** Text of a file that is not stored. `name` has the suffix of its type. */
  textOf(content: Buffer, name: string, signal: AbortSignal): Promise<string> {
    const file = { content: Readable.from([content]), name, byteSize: content.length };
    return this.parsed(file, signal);
  }

  private async parsed(file: DocumentFile, signal: AbortSignal): Promise<string> {
    const { fragments } = await this.parser.parse(file, WHOLE, signal);
    return fragments.map((fragment) => fragment.content).join('\n\n');
  }
}
