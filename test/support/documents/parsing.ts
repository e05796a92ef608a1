import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { DocumentParser } from '../../../src/attach/parser/index.js';
import type { PageRecognition, ParsedDocument } from '../../../src/attach/parser/index.js';
import { loadConfig } from '../../../src/platform/config/index.js';
import { PdfWords } from './pdf-words.js';

export const SETTINGS = { textBlockSize: 500, overlapChar: 50, separator: '' };

/** A DocumentParser with its own folder, as Plinth has one. */
export class TestParser implements AsyncDisposable {
  /** Of the PDFs that were parsed. */
  readonly words = new PdfWords();

  private constructor(
    readonly parser: DocumentParser,
    readonly folder: string,
  ) {}

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<TestParser> {
    // What breaks a reader is logged, and here that is what is wanted.
    Logger.overrideLogger(false);
    const folder = await mkdtemp(join(tmpdir(), 'plinth-parser-'));
    const parser = new DocumentParser(loadConfig({ DATA_DIR: folder, ...variables }));
    await parser.onModuleInit();
    return new TestParser(parser, folder);
  }

  async parse(
    name: string,
    bytes: Buffer,
    {
      signal = new AbortController().signal,
      settings = SETTINGS,
      recognition,
    }: {
      readonly signal?: AbortSignal;
      readonly settings?: typeof SETTINGS;
      readonly recognition?: PageRecognition;
    } = {},
  ): Promise<ParsedDocument> {
    const parsed = await this.parser.parse(
      { content: Readable.from([bytes]), name, byteSize: bytes.length },
      settings,
      signal,
      recognition,
    );
    if (bytes.subarray(0, 5).toString('latin1') === '%PDF-') {
      this.words.add(bytes, { text: parsed.fragments.map(({ content }) => content).join('\n') });
    }
    return parsed;
  }

  /** The message of the DocumentError it ends with; fails when it is parsed. */
  async reason(
    name: string,
    bytes: Buffer,
    options?: { readonly recognition: PageRecognition },
  ): Promise<string> {
    try {
      await this.parse(name, bytes, options);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 400) return error.message;
      throw error;
    }
    throw new Error(`${name} was parsed.`);
  }

  /** Names of the files that wait to be parsed, or were forgotten. */
  spooled(): Promise<string[]> {
    return readdir(join(this.folder, 'parsing'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.parser.onApplicationShutdown();
    await rm(this.folder, { recursive: true, force: true });
  }
}
