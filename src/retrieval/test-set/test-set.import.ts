import { text } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import type { Answer } from '../../platform/http/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import { FileStorage, isRefused, StorageService } from '../../platform/storage/index.js';
import type { UploadedPart } from '../../platform/storage/index.js';
import { readJudgements, readQueries, IncompleteImportError, ImportTooLargeError } from './beir.js';
import type { BeirJudgement } from './beir.js';
import { distinct, Expectations, TestSetService } from './test-set.service.js';
import type { ImportTestSetBody } from './test-set.dto.js';
import type { Expected } from './test-set.entity.js';
import { readerScope } from './test-set.repository.js';
import type { ReaderScope, TestQueryValues } from './test-set.repository.js';
import { toImportAnswer } from './test-set.view.js';
import type { ImportView } from './test-set.view.js';

/** Limit of a file, which is read into memory. */
const MAX_UPLOAD_MB = 16;

const QUERIES = /\.jsonl?$/i;
const QRELS = /\.(?:tsv|txt)$/i;

/** The part of an import that refers to this knowledge base. */
interface Matched {
  readonly values: readonly TestQueryValues[];
  readonly skipped: number;
  /** Corpus id of each skipped judgement. */
  readonly unknown: readonly string[];
}

/** Imports test sets in the layout of BEIR. */
@Injectable()
export class TestSetImport {
  constructor(
    private readonly testSets: TestSetService,
    private readonly expectations: Expectations,
    private readonly knowledge: KnowledgeService,
    private readonly storage: StorageService,
    private readonly files: FileStorage,
  ) {}

  /**
   * Adds queries, replacing those with the same queryId. Judgements for unknown documents and queries without judgements
   * are left out; a score of 0 or less is not a judgement. A malformed line rejects the whole import.
   */
  async import(
    caller: Caller,
    knowledgeId: number,
    upload: { readonly body: ImportTestSetBody; readonly parts: readonly UploadedPart[] },
  ): Promise<Answer<ImportView>> {
    const { queries, qrels } = { ...upload.body, ...(await this.read(upload.parts)) };
    await this.knowledge.writable(caller, knowledgeId);
    if (!queries || !qrels) throw new IncompleteImportError();
    const texts = new Map(readQueries(queries).map((one) => [one.id, one.text]));
    const judgements = readJudgements(qrels).filter(
      ({ queryId, score }) => score > 0 && texts.has(queryId),
    );
    const scope = readerScope(caller, knowledgeId);
    const { values, skipped, unknown } = await this.match(scope, texts, judgements);
    const added = await this.testSets.putAll(caller, knowledgeId, values);
    const view = { added, replaced: values.length - added, skipped, unknown: unknown.length };
    return toImportAnswer(view, [...new Set(unknown)]);
  }

  private async match(
    scope: ReaderScope,
    texts: ReadonlyMap<string, string>,
    judgements: readonly BeirJudgement[],
  ): Promise<Matched> {
    const names = new Set(judgements.map(({ corpusId }) => corpusId));
    const resolved = await this.expectations.resolve(scope, [...names]);
    const byQuery = Map.groupBy(judgements, ({ queryId }) => queryId);
    const values = [...texts].map(([queryId, query]) => {
      const expected = (byQuery.get(queryId) ?? []).flatMap(({ corpusId, score }): Expected[] => {
        const one = resolved.get(corpusId);
        return one ? [{ ...one, relevance: score }] : [];
      });
      return { queryId, query, expected: distinct(expected) };
    });
    const importable = values.filter(({ expected }) => expected.length > 0);
    const unknown = judgements
      .map(({ corpusId }) => corpusId)
      .filter((name) => !resolved.has(name));
    return { values: importable, skipped: values.length - importable.length, unknown };
  }

  /** The texts of the files: queries from *.jsonl, qrels from *.tsv. The stored files are removed. */
  private async read(parts: readonly UploadedPart[]): Promise<ImportTestSetBody> {
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
    if (part.size > MAX_UPLOAD_MB * 2 ** 20)
      throw new ImportTooLargeError(part.name, MAX_UPLOAD_MB);
    return text(await this.files.read(part.storageKey));
  }
}
