import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { PageImage, PageRecognition, RecognisedPage } from '../parser/index.js';
import type { PageText, TextRecognition } from '../recognition/index.js';
import type { DocumentLease } from './document-lease.js';
import { ParsingRepository } from './parsing.repository.js';

/** Pages of scans that are read at a time for each document that may be parsed. */
const PAGES_PER_WORKER = 2;

/**
 * Reads the pages of documents by text recognition, and keeps each page until the document is parsed. Pages and tokens
 * are reported to the lease.
 */
@Injectable()
export class PageReader {
  private readonly pages: PQueue;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: ParsingRepository,
  ) {
    this.pages = new PQueue({ concurrency: PAGES_PER_WORKER * config.PARSE_WORKERS });
  }

  /** Recognition for one attempt. After the first page that fails permanently no further page starts. */
  recognitionOf(
    lease: DocumentLease,
    recognition: TextRecognition,
    signal: AbortSignal,
  ): PageRecognition {
    const { format, longestSide } = recognition;
    return {
      longestSide,
      begin: async (pages) => {
        const storedAnswers = await this.repository.modelAnswers(lease.claim);
        const recognisedPages = new Map<number, RecognisedPage>();
        for (const page of pages) {
          const answer = storedAnswers.get(digestOf(recognition, page));
          if (!answer) continue;
          recognisedPages.set(page, { format, text: answer.text });
          lease.count(answer);
        }
        lease.report({ ocrDone: recognisedPages.size, ocrTotal: pages.length });
        await lease.check();
        return recognisedPages;
      },
      read: async (images) => {
        const failure = new AbortController();
        const either = AbortSignal.any([signal, failure.signal]);
        const reading = images.map(async (image) => {
          try {
            return await this.read(lease, { image, recognition, signal: either });
          } catch (error) {
            failure.abort(error);
            throw error;
          }
        });
        await Promise.allSettled(reading);
        // The row says what was paid, also for the pages before the one that failed.
        if (failure.signal.aborted) await lease.check().catch(() => undefined);
        failure.signal.throwIfAborted();
        return Promise.all(reading);
      },
    };
  }

  private read(
    lease: DocumentLease,
    { image, recognition, signal }: ReadPage,
  ): Promise<readonly [number, RecognisedPage]> {
    const inContext = AsyncLocalStorage.snapshot();
    const work = async (): Promise<readonly [number, RecognisedPage]> => {
      signal.throwIfAborted();
      const { page } = image;
      const answer = storable(await recognition.read(image, signal));
      await this.repository.storeAnswer(lease.claim, {
        digest: digestOf(recognition, page),
        ...answer,
      });
      lease.count(answer);
      lease.pageRead();
      await lease.check();
      return [page, { format: recognition.format, text: answer.text }];
    };
    return this.pages.add(() => inContext(work));
  }
}

interface ReadPage {
  readonly image: PageImage;
  readonly recognition: TextRecognition;
  readonly signal: AbortSignal;
}

/** Removes characters that PostgreSQL cannot store. */
function storable(answer: PageText): PageText {
  return { ...answer, text: answer.text.replaceAll('\0', '').toWellFormed() };
}

/** The file of a document never changes, so its page is named by its number. */
function digestOf({ key }: TextRecognition, page: number): string {
  return createHash('sha256')
    .update(JSON.stringify([key, page]))
    .digest('hex');
}
