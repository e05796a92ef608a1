import { Inject, Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { isUnavailable } from '../../platform/database/index.js';
import { DomainError } from '../../platform/error/index.js';
import { DocumentRepository } from '../../fragment/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { NeighbourService, RetrievalService } from '../../retrieval/index.js';
import type {
  RetrievalRequest,
  RetrievalResult,
  RetrievedFragment,
} from '../../retrieval/index.js';
import { CONTENT_CHARACTERS, ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome, ToolTurn } from './agent-tool.js';
import { chosenBases, currentBases, listOf, shownName, withoutBases } from './bases.js';
import { HOW_TO_USE, quoteFragments, TurnFullError, WindowFullError } from './quoted-fragments.js';
import type { QuotedFragments } from './quoted-fragments.js';
import { inRankOrder } from './sources.js';

const DEFAULT_LIMIT = 8;
const MOST_FRAGMENTS = 20;
/** Documents that a filter can name. */
const MOST_DOCUMENTS = 20;
/** Fragments among which a filtered search looks. */
const MOST_FILTERED = 20_000;
/** For the remarks beside the fragments. */
const REMARKS = 3_000;
const REMARK_TOKENS = 500;

const page = z.int().min(1).max(2_147_483_647);

const input = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(1_000)
    .describe('What to look for, as a complete question or key terms.'),
  knowledge: z
    .union([z.string().max(300), z.int()])
    .optional()
    .describe('Name or id of one knowledge base. Default: all of them.'),
  document: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .optional()
    .describe('Search only in the documents with this docId, or this text in their name.'),
  fromPage: page.optional().describe('With document: search only from this page on.'),
  toPage: page.optional().describe('With document: search only up to this page.'),
  limit: z
    .int()
    .min(1)
    .max(MOST_FRAGMENTS)
    .optional()
    .describe(`Fragments at most, 1 to ${MOST_FRAGMENTS}. Default: ${DEFAULT_LIMIT}.`),
});
type Input = z.infer<typeof input>;

/** A base that was searched. */
interface SearchedBase {
  readonly knowledge: KnowledgeBase;
  readonly result: RetrievalResult;
}

/** What came of the search of one base. */
type BaseSearch = SearchedBase | { readonly knowledge: KnowledgeBase; readonly failure: string };

/** Searches the knowledge bases of the agent. */
@Injectable()
export class SearchKnowledgeTool implements AgentTool<Input> {
  readonly name = 'search_knowledge';
  readonly input = input;
  readonly refusal = withoutBases;
  readonly description = `Searches documents and returns the fragments that fit best, numbered. Search before you answer a question about what the documents may hold; search again with other words, or for each part of a question, when the result is not enough. Use read_document for more of a document that was found. ${HOW_TO_USE}`;
  private readonly logger = new Logger('AgentTools');

  constructor(
    @Inject(CONFIG)
    private readonly config: Pick<Config, 'CHAT_RETRIEVED_PIECES' | 'CHAT_RETRIEVED_CHARACTERS'>,
    private readonly knowledge: KnowledgeService,
    private readonly documents: DocumentRepository,
    private readonly retrieval: RetrievalService,
    private readonly neighbours: NeighbourService,
  ) {}

  describe({ bases }: ToolTurn): string {
    return `The knowledge bases, by id and name: ${listOf(bases)}.`;
  }

  async run(given: Input, context: ToolContext): Promise<ToolOutcome> {
    const { query, knowledge, limit } = given;
    const chosen = chosenBases(await currentBases(this.knowledge, context), knowledge);
    const filter = await this.filter(chosen, given, context);
    const bases = filter ? chosen.filter(({ id }) => filter.has(id)) : chosen;
    context.signal.throwIfAborted();
    const searches = await Promise.all(
      bases.map((base) =>
        this.search(base, { query, limit, fragmentIds: filter?.get(base.id) }, context),
      ),
    );
    const found = searches.filter((search) => 'result' in search);
    const remarks = remarksOf(searches);
    if (found.length === 0) throw new ToolFailure(`${remarks} Answer without them, and say so.`);
    const quoted = await this.quoted(found, limit ?? DEFAULT_LIMIT, context);
    return answer({ query, bases, quoted, remarks });
  }

  /** The fragments of the named documents, by base; undefined without a filter. */
  private async filter(
    bases: readonly KnowledgeBase[],
    { document, fromPage, toPage }: Input,
    { caller }: ToolContext,
  ): Promise<ReadonlyMap<number, readonly number[]> | undefined> {
    const hasPages = fromPage !== undefined || toPage !== undefined;
    if (document === undefined) {
      if (!hasPages) return undefined;
      throw new ToolFailure('fromPage and toPage need document. Give the document, or no pages.');
    }
    const { tenantId } = caller;
    const ids = bases.map(({ id }) => id);
    const found = await this.documents.find(tenantId, ids, document, MOST_DOCUMENTS + 1);
    const name = shownName(document);
    if (found.length === 0) {
      throw new ToolFailure(
        `There is no document "${name}" in these knowledge bases. Search without document to see the names of documents.`,
      );
    }
    if (found.length > MOST_DOCUMENTS) {
      throw new ToolFailure(
        `More than ${MOST_DOCUMENTS} documents fit "${name}". Give more of the name, or search without document.`,
      );
    }
    const pages = { fromPage, toPage };
    const filter = await this.documents.fragmentIds(tenantId, found, pages, MOST_FILTERED + 1);
    const count = [...filter.values()].reduce((sum, { length }) => sum + length, 0);
    if (count > MOST_FILTERED) {
      throw new ToolFailure(
        `The documents have more than ${MOST_FILTERED} fragments. Name one document, give a range of pages, or search without document.`,
      );
    }
    if (count > 0) return filter;
    throw new ToolFailure(
      hasPages
        ? `The document "${name}" has no text on these pages, or no pages. Search without pages.`
        : `The document "${name}" has no text yet. Search without document.`,
    );
  }

  /** A base that fails is left out of the result, which says so. Rejects only when the signal aborts. */
  private async search(
    knowledge: KnowledgeBase,
    {
      query,
      limit,
      fragmentIds,
    }: Pick<RetrievalRequest, 'query' | 'fragmentIds'> & { readonly limit: number | undefined },
    { caller, signal }: ToolContext,
  ): Promise<BaseSearch> {
    try {
      const overrides = { topK: limit };
      const request = { caller, knowledge, query, overrides, fragmentIds, signal };
      const result = await this.retrieval.retrieve(request);
      return { knowledge, result };
    } catch (error) {
      signal.throwIfAborted();
      const msg = 'Failed to search a knowledge base';
      if (!isUnavailable(error)) this.logger.warn({ msg, knowledgeId: knowledge.id, err: error });
      const failure = error instanceof DomainError ? error.message : 'The search failed.';
      return { knowledge, failure };
    }
  }

  private async quoted(
    searched: readonly SearchedBase[],
    limit: number,
    { caller, sources, room: { tokens, counter } }: ToolContext,
  ): Promise<QuotedFragments<RetrievedFragment>> {
    const { CHAT_RETRIEVED_PIECES, CHAT_RETRIEVED_CHARACTERS } = this.config;
    const hits = searched.map(({ knowledge, result: { fragments } }) => ({ knowledge, fragments }));
    const neighbours = await this.neighbours.of(caller.tenantId, hits);
    const ranked = [...inRankOrder(hits.map(({ fragments }) => fragments))];
    const quoted = quoteFragments(
      ranked,
      sources,
      {
        pieces: Math.min(limit, CHAT_RETRIEVED_PIECES),
        characters: Math.min(CHAT_RETRIEVED_CHARACTERS, CONTENT_CHARACTERS - REMARKS),
        tokens: tokens - REMARK_TOKENS,
      },
      { counter, neighbours, facts: ({ docId, idx }) => ({ docId, index: idx }) },
    );
    if (ranked.length > 0 && quoted.texts.length === 0) {
      throw sources.vacancies === 0 ? new TurnFullError() : new WindowFullError();
    }
    return quoted;
  }
}

function remarksOf(searches: readonly BaseSearch[]): string {
  const remarks = searches.flatMap((search) => {
    const name = shownName(search.knowledge.name);
    return 'failure' in search
      ? [`The knowledge base "${name}" could not be searched. ${search.failure}`]
      : search.result.notices.map((notice) => `Knowledge base "${name}": ${notice}`);
  });
  return remarks.join('\n').slice(0, REMARKS / 2);
}

function answer({
  query,
  bases,
  quoted: { texts, sources, leftOut },
  remarks,
}: {
  readonly query: string;
  readonly bases: readonly KnowledgeBase[];
  readonly quoted: QuotedFragments<RetrievedFragment>;
  readonly remarks: string;
}): ToolOutcome {
  const count = texts.length === 1 ? '1 fragment' : `${texts.length} fragments`;
  const summary = `searched "${query}": ${count}`;
  if (texts.length > 0) {
    const misfits = leftOut.filter(({ reason }) => reason === 'room').length;
    const cut = sources.filter(({ cutFrom }) => cutFrom !== undefined).map(({ number }) => number);
    const notes = [
      ...cut.map((number) => `[Fragment ${number} is longer and was cut.]`),
      ...(misfits === 0
        ? []
        : [`[${misfits} more did not fit. Search for less, or read the document.]`]),
    ];
    return {
      content: [HOW_TO_USE, ...texts, ...notes, remarks].filter(Boolean).join('\n\n'),
      summary,
    };
  }
  const where = bases.map(({ name }) => `"${shownName(name)}"`).join(', ');
  const none = `Nothing was found in ${where}. Search with other words, or say that the documents do not hold the answer.`;
  return { content: [none, remarks].filter(Boolean).join('\n\n'), summary };
}
