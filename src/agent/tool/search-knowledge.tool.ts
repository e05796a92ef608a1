import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { isUnavailable } from '../../platform/database/index.js';
import { DomainError } from '../../platform/error/index.js';
import { DocumentRepository } from '../../fragment/index.js';
import type { DocumentInfo } from '../../fragment/index.js';
import { AgentBases } from '../agent.bases.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import {
  allOf,
  FILTER_OPERATORS,
  keysOf,
  MetadataRepository,
  readFilter,
} from '../../metadata/index.js';
import type { MetadataFilter, MetadataKey } from '../../metadata/index.js';
import { NeighbourService, RetrievalService } from '../../retrieval/index.js';
import type {
  RetrievalRequest,
  RetrievalResult,
  RetrievedFragment,
} from '../../retrieval/index.js';
import { MAX_CONTENT_CHARS, ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome, ToolTurn } from './agent-tool.js';
import { chosenBases, currentBases, listOf, shownName, withoutBases } from './bases.js';
import {
  HOW_TO_USE,
  MAX_QUOTED_CHARS,
  MAX_QUOTED_FRAGMENTS,
  quoteFragments,
  TurnFullError,
  WindowFullError,
} from './quoted-fragments.js';
import type { QuotedFragments } from './quoted-fragments.js';
import { inRankOrder } from './sources.js';
import { english } from '../../platform/message/index.js';

const DEFAULT_LIMIT = 8;
const MAX_FRAGMENTS = 20;
/** Maximum documents that a search can be limited to. */
const MAX_DOCUMENTS = 20;
/** Maximum fragments on the pages that a search is limited to. */
const MAX_FILTERED = 20_000;
/** Characters reserved for remarks besides the fragments. */
const REMARKS = 3_000;
const REMARK_TOKENS = 500;

/** Maximum conditions per call. */
const MAX_CONDITIONS = 10;
/** Maximum metadata keys listed in an answer. */
const MAX_KEYS = 50;

const scalar = z.union([z.string(), z.number()]);
const condition = z.strictObject({
  key: z.string().describe('A key of the metadata.'),
  op: z
    .enum(FILTER_OPERATORS)
    .describe(
      'gt, gte, lt and lte: for numbers and dates. in, nin: value is a list. contains: for keys with lists. exists: value is true or false.',
    ),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.array(scalar)])
    .optional()
    .describe('A text, a number, or a date such as 2026-01-31.'),
});

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
  filter: z
    .array(condition)
    .min(1)
    .max(MAX_CONDITIONS)
    .optional()
    .describe(
      'Search only in documents whose metadata fits all of these conditions. The answer to an unknown key lists the keys.',
    ),
  limit: z
    .int()
    .min(1)
    .max(MAX_FRAGMENTS)
    .optional()
    .describe(`Fragments at most, 1 to ${MAX_FRAGMENTS}. Default: ${DEFAULT_LIMIT}.`),
});
type Input = z.infer<typeof input>;

/** The part of a base that is searched. */
type Among = Pick<RetrievalRequest, 'attachmentIds' | 'fragmentIds'>;

/** A base that was searched. */
interface SearchedBase {
  readonly knowledge: KnowledgeBase;
  readonly result: RetrievalResult;
}

/** Outcome of the search in one base. */
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
    private readonly bases: AgentBases,
    private readonly documents: DocumentRepository,
    private readonly metadata: MetadataRepository,
    private readonly retrieval: RetrievalService,
    private readonly neighbours: NeighbourService,
  ) {}

  describe({ bases }: ToolTurn): string {
    return `The knowledge bases, by id and name: ${listOf(bases)}.`;
  }

  async run(input: Input, context: ToolContext): Promise<ToolOutcome> {
    const { query, knowledge, limit } = input;
    const chosen = chosenBases(await currentBases(this.bases, context), knowledge);
    const keys = input.filter && (await this.keys(chosen, context));
    const filter = allOf(context.filter, filterOf(input, keys));
    const among = await this.named(chosen, input, { ...context, filter });
    const bases = among ? chosen.filter(({ id }) => among.has(id)) : chosen;
    context.signal.throwIfAborted();
    const searches = await Promise.all(
      bases.map((base) =>
        this.search(base, { query, limit, filter, ...among?.get(base.id) }, context),
      ),
    );
    const successful = searches.filter((search) => 'result' in search);
    const isEmpty = successful.every(({ result }) => result.fragments.length === 0);
    const remarks = [remarksOf(searches), ...(keys && isEmpty ? [listOfKeys(keys)] : [])].join(' ');
    if (successful.length === 0)
      throw new ToolFailure(`${remarks} Answer without them, and say so.`);
    const quoted = await this.quoted(successful, limit ?? DEFAULT_LIMIT, context);
    return answer({ query, bases, quoted, remarks });
  }

  /** The keys of the documents that the turn may read. */
  private async keys(
    bases: readonly KnowledgeBase[],
    { caller, filter }: ToolContext,
  ): Promise<readonly MetadataKey[]> {
    return this.metadata.keys(caller, bases, filter);
  }

  /** The named documents and pages, by base; undefined where none are named. */
  private async named(
    bases: readonly KnowledgeBase[],
    { document, fromPage, toPage }: Input,
    { caller, filter }: ToolContext,
  ): Promise<ReadonlyMap<number, Among> | undefined> {
    const hasPages = fromPage !== undefined || toPage !== undefined;
    if (document === undefined) {
      if (!hasPages) return undefined;
      throw new ToolFailure('fromPage and toPage need document. Give the document, or no pages.');
    }
    const { tenantId } = caller;
    const search = { text: document, filter, limit: MAX_DOCUMENTS + 1 };
    const matches = await this.documents.find(caller, bases, search);
    const name = shownName(document);
    if (matches.length === 0) {
      throw new ToolFailure(
        `There is no document "${name}" in these knowledge bases. Search without document to see the names of documents.`,
      );
    }
    if (matches.length > MAX_DOCUMENTS) {
      throw new ToolFailure(
        `More than ${MAX_DOCUMENTS} documents fit "${name}". Give more of the name, or search without document.`,
      );
    }
    if (!hasPages) {
      if (matches.some(({ fragmentCount }) => fragmentCount > 0)) return byBase(matches);
      throw new ToolFailure(`The document "${name}" has no text yet. Search without document.`);
    }
    const pages = { fromPage, toPage };
    const fragments = await this.documents.fragmentIds(tenantId, matches, pages, MAX_FILTERED + 1);
    const count = [...fragments.values()].reduce((sum, { length }) => sum + length, 0);
    if (count > MAX_FILTERED) {
      throw new ToolFailure(
        `The pages have more than ${MAX_FILTERED} fragments. Name one document, give fewer pages, or search without pages.`,
      );
    }
    if (count > 0) {
      return new Map([...fragments].map(([id, fragmentIds]) => [id, { fragmentIds }]));
    }
    throw new ToolFailure(
      `The document "${name}" has no text on these pages, or no pages. Search without pages.`,
    );
  }

  /** A base that fails is left out of the result, which says so. Rejects only when the signal aborts. */
  private async search(
    knowledge: KnowledgeBase,
    {
      query,
      limit,
      ...among
    }: Among & Pick<RetrievalRequest, 'query' | 'filter'> & { readonly limit: number | undefined },
    { caller, agentId, signal }: ToolContext,
  ): Promise<BaseSearch> {
    try {
      const overrides = { topK: limit };
      const request = { caller, agentId, knowledge, query, overrides, ...among, signal };
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
    const hits = searched.map(({ knowledge, result: { fragments } }) => ({ knowledge, fragments }));
    const neighbours = await this.neighbours.of(caller.tenantId, hits);
    const ranked = [...inRankOrder(hits.map(({ fragments }) => fragments))];
    const quoted = quoteFragments(
      ranked,
      sources,
      {
        pieces: Math.min(limit, MAX_QUOTED_FRAGMENTS),
        characters: Math.min(MAX_QUOTED_CHARS, MAX_CONTENT_CHARS - REMARKS),
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

/** The model's filter. ToolFailure lists the existing keys if it uses others. */
function filterOf(
  { filter: conditions = [] }: Input,
  keys: readonly MetadataKey[] = [],
): MetadataFilter | undefined {
  const all = conditions.map((one, place) => readFilter(one, `filter[${place}]`));
  const existingKeys = new Set(keys.map(({ key }) => key));
  const unknown = all.flatMap(keysOf).find((key) => !existingKeys.has(key));
  if (unknown === undefined) return allOf(...all);
  throw new ToolFailure(`No document has the key "${shownName(unknown)}". ${listOfKeys(keys)}`);
}

function listOfKeys(keys: readonly MetadataKey[]): string {
  if (keys.length === 0) return 'The documents have no metadata. Search without filter.';
  const listedKeys = keys.slice(0, MAX_KEYS).map(({ key, type }) => `${key} (${type})`);
  const rest = keys.length > MAX_KEYS ? ' and others' : '';
  return `The keys of the metadata are ${listedKeys.join(', ')}${rest}.`;
}

function byBase(documents: readonly DocumentInfo[]): ReadonlyMap<number, Among> {
  const groups = Map.groupBy(documents, ({ knowledgeId }) => knowledgeId);
  return new Map(
    [...groups].map(([id, group]) => [
      id,
      { attachmentIds: group.map(({ attachmentId }) => attachmentId) },
    ]),
  );
}

function remarksOf(searches: readonly BaseSearch[]): string {
  const remarks = searches.flatMap((search) => {
    const name = shownName(search.knowledge.name);
    return 'failure' in search
      ? [`The knowledge base "${name}" could not be searched. ${search.failure}`]
      : search.result.notices.map((notice) => `Knowledge base "${name}": ${english(notice)}`);
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
