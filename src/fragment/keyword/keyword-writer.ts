import { Injectable } from '@nestjs/common';
import type { AnalysedText } from './analysed-text.js';
import { KeywordRepository } from './keyword.repository.js';
import type { DocumentRow, TermPostings } from './keyword.repository.js';
import { packPostings, withoutFragments } from './postings.js';
import type { Posting } from './postings.js';
import type { AttachmentScope } from './scope.js';

export interface AnalysedFragment {
  readonly fragmentId: number;
  readonly analysed: AnalysedText;
}

/**
 * Fragments of one block. More make searching cheaper and adding to a block dearer, and rows would outgrow a page of
 * the database; a larger document has a block of its own.
 */
const CAPACITY = 512;

/** Changes blocks. Every method expects a transaction, and holds the document's and the block's row until its end. */
@Injectable()
export class KeywordWriter {
  constructor(private readonly repository: KeywordRepository) {}

  async add(scope: AttachmentScope, fragments: readonly AnalysedFragment[]): Promise<void> {
    const blockId = await this.repository.takeBlock(scope, fragments.length, CAPACITY);
    await this.append(scope, blockId, fragments);
    await this.repository.saveDocument(scope, {
      blockId,
      fragments: Object.fromEntries(fragments.map(toEntry)),
    });
  }

  async removeDocument(scope: AttachmentScope): Promise<void> {
    const document = await this.repository.holdDocument(scope);
    if (!document) return;
    const { blockId, fragments } = document;
    const { tenantId } = scope;
    const block = await this.repository.holdBlock(tenantId, blockId);
    if (block.fragments === Object.keys(fragments).length) {
      await this.repository.removeBlock(tenantId, blockId);
      return;
    }
    await this.takeOut(scope, document, Object.keys(fragments).map(Number));
    await this.repository.removeDocument(scope);
  }

  /** Replaces one fragment of a document, adds it, or removes it where there is no `analysed`. */
  async replaceFragment(
    scope: AttachmentScope,
    fragmentId: number,
    analysed: AnalysedText | undefined,
  ): Promise<void> {
    const document = await this.repository.holdDocument(scope);
    const added = analysed ? [{ fragmentId, analysed }] : [];
    if (!document) {
      if (analysed) await this.add(scope, added);
      return;
    }
    const { blockId, fragments } = document;
    await this.repository.holdBlock(scope.tenantId, blockId);
    if (String(fragmentId) in fragments) await this.takeOut(scope, document, [fragmentId]);
    await this.append(scope, blockId, added);
    const others = Object.entries(fragments).filter(([id]) => Number(id) !== fragmentId);
    await this.repository.changeDocument(
      scope,
      Object.fromEntries([...others, ...added.map(toEntry)]),
    );
  }

  private async append(
    scope: AttachmentScope,
    blockId: number,
    fragments: readonly AnalysedFragment[],
  ): Promise<void> {
    await this.repository.append(scope, blockId, postingsOf(fragments));
    await this.repository.resizeBlock(scope.tenantId, blockId, {
      fragments: fragments.length,
      terms: fragments.reduce((sum, { analysed }) => sum + analysed.termCount, 0),
      languages: [...new Set(fragments.map(({ analysed }) => analysed.language))],
    });
  }

  /** Takes the postings of some fragments of the document out of its block. */
  private async takeOut(
    { tenantId, ...scope }: AttachmentScope,
    { blockId, fragments }: DocumentRow,
    ids: readonly number[],
  ): Promise<void> {
    const terms = new Set(ids.flatMap((id) => termsOf(fragments[id])));
    const before = await this.repository.postings(tenantId, blockId, [...terms]);
    const lengths = new Map<number, number>();
    const taken = new Set(ids);
    const after = before.map(({ term, postings }) => ({
      term,
      postings: withoutFragments(postings, taken, lengths),
    }));
    const kept = after.filter(({ postings }) => postings.length > 0);
    const empty = after.filter(({ postings }) => postings.length === 0);
    await this.repository.replace({ tenantId, ...scope }, blockId, kept);
    await this.repository.removePostings(
      tenantId,
      blockId,
      empty.map(({ term }) => term),
    );
    await this.repository.resizeBlock(tenantId, blockId, {
      fragments: -ids.length,
      terms: -[...lengths.values()].reduce((sum, length) => sum + length, 0),
      languages: [],
    });
  }
}

function toEntry({ fragmentId, analysed }: AnalysedFragment): [id: string, terms: string] {
  return [String(fragmentId), [...analysed.terms.keys()].join(' ')];
}

function termsOf(entry: string | undefined): string[] {
  return entry ? entry.split(' ') : [];
}

function postingsOf(fragments: readonly AnalysedFragment[]): TermPostings[] {
  const byTerm = new Map<string, Posting[]>();
  for (const { fragmentId, analysed } of fragments) {
    for (const [term, frequency] of analysed.terms) {
      const posting = { fragmentId, frequency, length: analysed.termCount };
      const postings = byTerm.get(term);
      if (postings) postings.push(posting);
      else byTerm.set(term, [posting]);
    }
  }
  return [...byTerm].map(([term, postings]) => ({ term, postings: packPostings(postings) }));
}
