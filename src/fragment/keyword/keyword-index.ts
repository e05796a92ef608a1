import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { AnalysedText } from './text-analysis.js';
import { rank } from './bm25.js';
import type { KeywordResult } from './bm25.js';
import { KeywordRepository } from './keyword.repository.js';
import { KeywordWriter } from './keyword-writer.js';
import type { AnalysedFragment } from './keyword-writer.js';
import type { AttachmentScope, KnowledgeScope } from './keyword.repository.js';
import { TextAnalysis } from './text-analysis.js';

/** Terms of a question that are looked for; what is longer was pasted. */
const MOST_TERMS = 256;

const NOTHING: KeywordResult = { hits: [], total: 0 };

/** Keyword search over the fragments of knowledge bases; docs/decisions/0006-keyword-index.md says how it works. */
@Injectable()
export class KeywordIndex {
  constructor(
    private readonly analysis: TextAnalysis,
    private readonly writer: KeywordWriter,
    private readonly repository: KeywordRepository,
    private readonly database: Database,
  ) {}

  /**
   * The terms of texts, in their order. Texts of one document belong in one call, because short ones take the language of
   * the others. Call it before a transaction: it takes its time.
   */
  async analyse(texts: readonly string[]): Promise<AnalysedText[]> {
    return this.analysis.analyse(texts);
  }

  /** Replaces what the index holds of a document; joins the open transaction. */
  async replaceAttachment(
    scope: AttachmentScope,
    fragments: readonly AnalysedFragment[],
  ): Promise<void> {
    await this.database.transaction(() => this.writer.replaceDocument(scope, fragments));
  }

  /** Replaces one fragment, adds it, or removes it where `analysed` is undefined; joins the open transaction. */
  async replaceFragment(
    scope: AttachmentScope,
    fragmentId: number,
    analysed: AnalysedText | undefined,
  ): Promise<void> {
    await this.database.transaction(() => this.writer.replaceFragment(scope, fragmentId, analysed));
  }

  /**
   * For an open transaction that changes several documents: call it directly after their rows are locked. Documents share
   * blocks, so two transactions that took them one by one as their documents come could wait for each other.
   */
  async hold(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.repository.holdBlocksOf(tenantId, attachmentIds);
  }

  /**
   * Removes what the index holds of a document; joins the open transaction. Has to happen before the document's row is
   * deleted, which fails otherwise. The rows of a knowledge base or a tenant take the index along by themselves.
   */
  async removeAttachment(scope: AttachmentScope): Promise<void> {
    await this.database.transaction(() => this.writer.replaceDocument(scope, []));
  }

  /** The fragments that have at least one word of the query, best first. */
  async search(
    scope: KnowledgeScope,
    query: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<KeywordResult> {
    const { languages, ...corpus } = await this.repository.statistics(scope);
    signal?.throwIfAborted();
    const asked = await this.analysis.termsOf(query, languages);
    const terms = [...asked.keys()].slice(0, MOST_TERMS);
    if (languages.length === 0 || terms.length === 0) return NOTHING;
    signal?.throwIfAborted();
    const rows = await this.repository.find(scope, terms);
    signal?.throwIfAborted();
    const postings = new Map(rows.map((row) => [row.term, row.postings]));
    // In the order of the question, so that the same sums have the same rounding.
    const found = terms.flatMap((term) => {
      const bytes = postings.get(term);
      return bytes ? [{ word: asked.get(term) ?? term, postings: bytes }] : [];
    });
    return rank(found, corpus, limit);
  }
}
