import { Injectable } from '@nestjs/common';
import { AUTOMATIC } from '../../knowledge/index.js';
import { Database } from '../../platform/database/index.js';
import type { AnalysedText, AnalysedQuestion, QuestionWord } from './text-analysis.js';
import { packPostings, rank, withoutFragments } from './bm25.js';
import type { KeywordHit, Posting } from './bm25.js';
import { KeywordRepository } from './keyword.repository.js';
import type {
  AttachmentScope,
  BlockChange,
  DocumentRow,
  KnowledgeScope,
  TermPostings,
} from './keyword.repository.js';
import { pauses, TextAnalysis } from './text-analysis.js';

/** Different words of a question that are looked for; what is longer was pasted. */
const MAX_WORDS = 256;

export interface AnalysedFragment {
  readonly fragmentId: number;
  readonly analysed: AnalysedText;
}

/** The base that texts come into. */
export interface AnalysisBase extends KnowledgeScope {
  /** The setting of the base. */
  readonly language?: string;
  /** The document that has them already: its languages come before those of the base. */
  readonly attachmentId?: number;
}

interface KeywordRestriction {
  readonly fragmentIds?: readonly number[] | undefined;
  /** Restricts the search to fragments of these documents; absent: the whole base. */
  readonly attachmentIds?: readonly number[] | undefined;
}

export interface KeywordSearchOptions extends KeywordRestriction {
  readonly signal?: AbortSignal;
}

/** Fragments of chosen documents that are listed before a search. Half a million would take longer than the search. */
const MAX_LISTED = 20_000;

/**
 * Fragments of one block. More make searching cheaper and adding to a block dearer, and rows would outgrow a page of
 * the database; a larger document has a block of its own.
 */
const CAPACITY = 1_024;

const NO_POSTINGS = Buffer.alloc(0);

/** Keyword search over the fragments of knowledge bases; docs/decisions/0006-keyword-index.md says how it works. */
@Injectable()
export class KeywordIndex {
  constructor(
    private readonly analysis: TextAnalysis,
    private readonly repository: KeywordRepository,
    private readonly database: Database,
  ) {}

  /**
   * The terms of texts, in their order. Texts of one document belong in one call, because short ones take the language of
   * the others, and that of the base they come into. Call it before a transaction: it takes its time.
   */
  async analyse(texts: readonly string[], base?: AnalysisBase): Promise<AnalysedText[]> {
    if (!base) return this.analysis.analyse(texts);
    const { language, ...scope } = base;
    return this.analysis.analyse(texts, {
      language: language === AUTOMATIC ? undefined : language,
      votes: () => this.repository.documentLanguages(scope),
    });
  }

  /** Replaces what the index holds of a document; joins the open transaction. */
  async replaceAttachment(
    scope: AttachmentScope,
    fragments: readonly AnalysedFragment[],
  ): Promise<void> {
    await this.database.transaction(() => this.replaceDocument(scope, fragments));
  }

  /** Replaces one fragment, adds it, or removes it where `analysed` is undefined; joins the open transaction. */
  async replaceFragment(
    scope: AttachmentScope,
    fragmentId: number,
    analysed: AnalysedText | undefined,
  ): Promise<void> {
    await this.database.transaction(() => this.exchangeFragment(scope, fragmentId, analysed));
  }

  /**
   * Locks the index for an open transaction that changes several documents; call it directly after their rows are
   * locked. Documents share blocks, so two transactions that locked them one by one could deadlock.
   */
  async hold(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.repository.holdBlocksOf(tenantId, attachmentIds);
  }

  /**
   * Removes what the index holds of a document; joins the open transaction. Has to happen before the document's row is
   * deleted, which fails otherwise. The rows of a knowledge base or a tenant take the index along by themselves.
   */
  async removeAttachment(scope: AttachmentScope): Promise<void> {
    await this.database.transaction(() => this.replaceDocument(scope, []));
  }

  /** The fragments that have at least one word of the query, best first; equal scores in the order of their ids. */
  async search(
    scope: KnowledgeScope,
    query: string,
    limit: number,
    { signal, ...restriction }: KeywordSearchOptions = {},
  ): Promise<KeywordHit[]> {
    const { languages, ...corpus } = await this.repository.statistics(scope);
    signal?.throwIfAborted();
    const limitedQuestion = limited(await this.analysis.wordsOf(query, languages));
    const terms = termsIn(limitedQuestion);
    if (languages.length === 0 || terms.length === 0) return [];
    signal?.throwIfAborted();
    const among = await this.amongOf(scope, restriction);
    signal?.throwIfAborted();
    const rows = await this.repository.find(scope, terms);
    signal?.throwIfAborted();
    const postings = new Map(rows.map((row) => [row.term, row.postings]));
    const postingsOf = (stems: readonly string[]): Buffer[] =>
      stems.flatMap((term) => postings.get(term) ?? []);
    const withPostings = <Item extends QuestionWord>(word: Item) => ({
      ...word,
      postings: postingsOf(word.terms),
      similar: postingsOf(word.similar),
    });
    // The order is that of the question, so that equal sums are rounded equally.
    const question = {
      words: limitedQuestion.words.map(withPostings),
      joined: limitedQuestion.joined.map(withPostings),
    };
    if (among !== 'many') return rank(question, corpus, limit, among);
    return this.bestOf(scope, restriction, limit, (pool) => rank(question, corpus, pool));
  }

  /** The words of each text by which the query finds it, as the text has them. */
  async matchedWords(
    scope: KnowledgeScope,
    query: string,
    texts: readonly string[],
  ): Promise<string[][]> {
    const { languages } = await this.repository.statistics(scope);
    const limitedQuestion = limited(await this.analysis.wordsOf(query, languages));
    return this.analysis.wordsWith(new Set(termsIn(limitedQuestion)), texts, languages);
  }

  /** The fragments that may be found; undefined for all of the base, `many` for more than are listed before the search. */
  private async amongOf(
    scope: KnowledgeScope,
    { fragmentIds, attachmentIds }: KeywordRestriction,
  ): Promise<ReadonlySet<number> | 'many' | undefined> {
    if (!attachmentIds) return fragmentIds && new Set(fragmentIds);
    if (fragmentIds) {
      return new Set(await this.repository.fragmentsIn(scope, attachmentIds, fragmentIds));
    }
    const limit = MAX_LISTED + 1;
    const ids = await this.repository.fragmentsOf(scope, attachmentIds, limit);
    return ids.length > MAX_LISTED ? 'many' : new Set(ids);
  }

  /** The best within many documents: whether a fragment is one of theirs is looked up from the best of the base on. */
  private async bestOf(
    scope: KnowledgeScope,
    { attachmentIds = [] }: KeywordRestriction,
    limit: number,
    ranked: (pool: number) => KeywordHit[],
  ): Promise<KeywordHit[]> {
    for (let pool = 4 * limit; ; pool *= 8) {
      const hits = ranked(pool);
      const ids = hits.map(({ fragmentId }) => fragmentId);
      const within = new Set(await this.repository.fragmentsIn(scope, attachmentIds, ids));
      const wanted = hits.filter(({ fragmentId }) => within.has(fragmentId));
      if (wanted.length >= limit || hits.length < pool) return wanted.slice(0, limit);
    }
  }

  /**
   * Replaces all fragments of a document, adds it, or removes it where there are none. Expects a transaction, and holds
   * the document's and the block's row until its end; so do the methods below.
   */
  private async replaceDocument(
    scope: AttachmentScope,
    fragments: readonly AnalysedFragment[],
  ): Promise<void> {
    const document = await this.repository.holdDocument(scope);
    if (!document) return this.add(scope, fragments);
    const { tenantId } = scope;
    const block = await this.repository.holdBlock(tenantId, document.blockId);
    const before = Object.keys(document.fragments).map(Number);
    const others = block.fragments - before.length;
    if (others > 0 && fragments.length > 0 && others + fragments.length <= CAPACITY) {
      return this.exchange(scope, document, before, fragments);
    }
    if (others > 0) {
      await this.exchange(scope, document, before, []);
      await this.repository.removeDocument(scope);
    } else {
      await this.repository.removeBlock(tenantId, document.blockId);
    }
    return this.add(scope, fragments);
  }

  /** Replaces one fragment of a document, adds it, or removes it where there is no `analysed`. */
  private async exchangeFragment(
    scope: AttachmentScope,
    fragmentId: number,
    analysed: AnalysedText | undefined,
  ): Promise<void> {
    const fragments = analysed ? [{ fragmentId, analysed }] : [];
    const document = await this.repository.holdDocument(scope);
    if (!document) return this.add(scope, fragments);
    await this.repository.holdBlock(scope.tenantId, document.blockId);
    const before = String(fragmentId) in document.fragments ? [fragmentId] : [];
    return this.exchange(scope, document, before, fragments);
  }

  private async add(scope: AttachmentScope, fragments: readonly AnalysedFragment[]): Promise<void> {
    if (fragments.length === 0) return;
    const postings = await packed(fragments);
    const blockId = await this.repository.takeBlock(scope, sizeOf(fragments), CAPACITY);
    await this.repository.append(scope, blockId, rowsOf(postings));
    await this.repository.saveDocument(scope, {
      blockId,
      fragments: Object.fromEntries(fragments.map(toEntry)),
      languages: sizeOf(fragments).languages,
    });
  }

  /** Puts fragments in the place of some of the document's in its block, which is held. */
  private async exchange(
    scope: AttachmentScope,
    { blockId, fragments, languages }: DocumentRow,
    before: readonly number[],
    added: readonly AnalysedFragment[],
  ): Promise<void> {
    const { tenantId } = scope;
    const after = await packed(added);
    const terms = new Set([...before.flatMap((id) => termsOf(fragments[id])), ...after.keys()]);
    const taken = new Set(before);
    const lengths = new Map<number, number>();
    const rows = await this.repository.postings(tenantId, blockId, [...terms]);
    for (const { term, postings } of rows) {
      const remaining = withoutFragments(postings, taken, lengths);
      after.set(term, Buffer.concat([remaining, after.get(term) ?? NO_POSTINGS]));
    }
    const changed = rowsOf(after);
    const empty = changed.filter(({ postings }) => postings.length === 0);
    await this.repository.replace(
      scope,
      blockId,
      changed.filter(({ postings }) => postings.length > 0),
    );
    await this.repository.removePostings(
      tenantId,
      blockId,
      empty.map(({ term }) => term),
    );
    const size = sizeOf(added);
    await this.repository.resizeBlock(tenantId, blockId, {
      ...size,
      fragments: size.fragments - before.length,
      terms: size.terms - sum([...lengths.values()]),
    });
    const others = Object.entries(fragments).filter(([id]) => !taken.has(Number(id)));
    // The languages of the remaining fragments are not stored.
    const otherLanguages = others.length === 0 ? [] : languages;
    await this.repository.changeDocument(scope, {
      fragments: Object.fromEntries([...others, ...added.map(toEntry)]),
      languages: otherLanguages && [...new Set([...otherLanguages, ...size.languages])],
    });
    await this.repository.recountLanguages(scope, blockId);
  }
}

/** Limits the question to the words that a search may look up. */
function limited({ words, joined }: AnalysedQuestion): AnalysedQuestion {
  const isKept = (place: number): boolean => place < MAX_WORDS;
  return {
    words: words.slice(0, MAX_WORDS),
    joined: joined.filter(({ places }) => places.every(isKept)).slice(0, MAX_WORDS),
  };
}

function termsIn({ words, joined }: AnalysedQuestion): string[] {
  const terms = [...words, ...joined].flatMap((word) => [...word.terms, ...word.similar]);
  return [...new Set(terms)];
}

function sizeOf(fragments: readonly AnalysedFragment[]): BlockChange {
  return {
    fragments: fragments.length,
    terms: sum(fragments.map(({ analysed }) => analysed.termCount)),
    languages: [...new Set(fragments.map(({ analysed }) => analysed.language))],
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function toEntry({ fragmentId, analysed }: AnalysedFragment): [id: string, terms: string] {
  return [String(fragmentId), [...analysed.terms.keys()].join(' ')];
}

function termsOf(entry: string | undefined): string[] {
  return entry ? entry.split(' ') : [];
}

/** The postings of the fragments, by term. */
async function packed(fragments: readonly AnalysedFragment[]): Promise<Map<string, Buffer>> {
  const pause = pauses();
  const byTerm = new Map<string, AnalysedFragment[]>();
  for (const fragment of fragments) {
    await pause();
    for (const term of fragment.analysed.terms.keys()) {
      const having = byTerm.get(term);
      if (having) having.push(fragment);
      else byTerm.set(term, [fragment]);
    }
  }
  const packedByTerm = new Map<string, Buffer>();
  for (const [term, having] of byTerm) {
    await pause();
    packedByTerm.set(term, packPostings(having.map((fragment) => postingOf(fragment, term))));
  }
  return packedByTerm;
}

function postingOf({ fragmentId, analysed }: AnalysedFragment, term: string): Posting {
  const { terms, termCount } = analysed;
  return { fragmentId, frequency: terms.get(term) ?? 0, length: termCount };
}

function rowsOf(postings: ReadonlyMap<string, Buffer>): TermPostings[] {
  return [...postings].map(([term, bytes]) => ({ term, postings: bytes }));
}
