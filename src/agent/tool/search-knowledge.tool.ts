import { Inject, Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { DomainError } from '../../platform/error/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { RetrievalService } from '../../retrieval/index.js';
import type { RetrievalResult } from '../../retrieval/index.js';
import { CONTENT_CHARACTERS, ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome, ToolTurn } from './agent-tool.js';
import { chosenBases, currentBases, listOf, shownName, withoutBases } from './bases.js';
import { HOW_TO_USE, QuotedFragments } from './quoted-fragments.js';
import { inRankOrder } from './sources.js';

const DEFAULT_LIMIT = 8;
const MOST_FRAGMENTS = 20;
/** For the remarks beside the fragments. */
const REMARKS = 3_000;

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
  limit: z
    .int()
    .min(1)
    .max(MOST_FRAGMENTS)
    .optional()
    .describe(`Fragments at most, 1 to ${MOST_FRAGMENTS}. Default: ${DEFAULT_LIMIT}.`),
});
type Input = z.infer<typeof input>;

/** What came of the search of one base. */
type BaseSearch =
  | { readonly knowledge: KnowledgeBase; readonly result: RetrievalResult }
  | { readonly knowledge: KnowledgeBase; readonly failure: string };

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
    private readonly retrieval: RetrievalService,
  ) {}

  describe({ bases }: ToolTurn): string {
    return `The knowledge bases, by id and name: ${listOf(bases)}.`;
  }

  async run({ query, knowledge, limit }: Input, context: ToolContext): Promise<ToolOutcome> {
    const bases = chosenBases(await currentBases(this.knowledge, context), knowledge);
    const searches = await Promise.all(
      bases.map((base) => this.search(base, { query, limit }, context)),
    );
    const results = searches.flatMap((search) => ('result' in search ? [search.result] : []));
    const remarks = remarksOf(searches);
    if (results.length === 0) throw new ToolFailure(`${remarks} Answer without them, and say so.`);
    const quoted = this.quoted(results, limit ?? DEFAULT_LIMIT, context);
    return answer({ query, bases, quoted, remarks });
  }

  /** A base that fails is left out of the result, which says so. Rejects only when the signal aborts. */
  private async search(
    knowledge: KnowledgeBase,
    { query, limit }: { readonly query: string; readonly limit: number | undefined },
    { caller, signal }: ToolContext,
  ): Promise<BaseSearch> {
    try {
      const overrides = { topK: limit };
      const result = await this.retrieval.retrieve({ caller, knowledge, query, overrides, signal });
      return { knowledge, result };
    } catch (error) {
      signal.throwIfAborted();
      const msg = 'Failed to search a knowledge base';
      this.logger.warn({ msg, knowledgeId: knowledge.id, err: error });
      const failure = error instanceof DomainError ? error.message : 'The search failed.';
      return { knowledge, failure };
    }
  }

  private quoted(
    results: readonly RetrievalResult[],
    limit: number,
    { sources }: ToolContext,
  ): readonly string[] {
    const { CHAT_RETRIEVED_PIECES, CHAT_RETRIEVED_CHARACTERS } = this.config;
    const most = Math.min(limit, CHAT_RETRIEVED_PIECES);
    const characters = Math.min(CHAT_RETRIEVED_CHARACTERS, CONTENT_CHARACTERS - REMARKS);
    const quoted = new QuotedFragments(sources, characters);
    for (const fragment of inRankOrder(results.map(({ fragments }) => fragments))) {
      if (quoted.texts.length === most) break;
      quoted.add(fragment);
    }
    return quoted.texts;
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
  quoted,
  remarks,
}: {
  readonly query: string;
  readonly bases: readonly KnowledgeBase[];
  readonly quoted: readonly string[];
  readonly remarks: string;
}): ToolOutcome {
  const count = quoted.length === 1 ? '1 fragment' : `${quoted.length} fragments`;
  const summary = `searched "${query}": ${count}`;
  if (quoted.length > 0) {
    return {
      content: [HOW_TO_USE, ...quoted, remarks].filter(Boolean).join('\n\n'),
      summary,
    };
  }
  const where = bases.map(({ name }) => `"${shownName(name)}"`).join(', ');
  const none = `Nothing was found in ${where}. Search with other words, or say that the documents do not hold the answer.`;
  return { content: [none, remarks].filter(Boolean).join('\n\n'), summary };
}
