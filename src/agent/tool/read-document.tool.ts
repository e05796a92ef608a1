import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { DocumentRepository } from '../../fragment/index.js';
import type { DocumentFragment, DocumentInfo, FragmentRange } from '../../fragment/index.js';
import { AgentBases } from '../agent.bases.js';
import { MAX_CONTENT_CHARS, ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome, ToolTurn } from './agent-tool.js';
import { currentBases, listOf, shownName, withoutBases } from './bases.js';
import { HOW_TO_USE, quoteFragments, TurnFullError, WindowFullError } from './quoted-fragments.js';

/** Maximum fragments per answer. */
const MAX_FRAGMENTS = 100;
/** Maximum documents listed when a name is ambiguous. */
const MAX_DOCUMENTS = 10;
/** Characters reserved for remarks besides the fragments. */
const REMARKS = 2_000;
const REMARK_TOKENS = 300;

const index = z.int().min(0).max(2_147_483_647);
const page = z.int().min(1).max(2_147_483_647);

const input = z.strictObject({
  document: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .describe('docId of the document, as search_knowledge shows it, or its name.'),
  from: index.optional().describe('Index of the first fragment. Default: 0, the beginning.'),
  to: index.optional().describe('Index of the last fragment. Default: as far as the answer goes.'),
  fromPage: page.optional().describe('First page, from 1, for documents with pages.'),
  toPage: page.optional().describe('Last page.'),
});
type Input = z.infer<typeof input>;

/** A document's place in its base, for people and the model. */
interface Extent {
  readonly lastIdx: number;
  readonly lastPage: number | null;
}

/** Reads a document of the agent's knowledge bases, fragment by fragment. */
@Injectable()
export class ReadDocumentTool implements AgentTool<Input> {
  readonly name = 'read_document';
  readonly input = input;
  readonly refusal = withoutBases;
  readonly description = `Reads a document from its beginning, or a range of its fragments or pages, such as what comes before and after a fragment that was found. Returns at most ${MAX_FRAGMENTS} fragments and about 30,000 characters, numbered, and says how to go on. Use search_knowledge to find a passage. ${HOW_TO_USE}`;

  constructor(
    private readonly bases: AgentBases,
    private readonly documents: DocumentRepository,
  ) {}

  describe({ bases }: ToolTurn): string {
    return `Documents of these knowledge bases can be read: ${listOf(bases)}.`;
  }

  async run({ document: named, ...range }: Input, context: ToolContext): Promise<ToolOutcome> {
    const { tenantId } = context.caller;
    check(range);
    const document = await this.find(named, context);
    context.signal.throwIfAborted();
    const extent = await this.extent(tenantId, document, range);
    const rows = await this.documents.read(tenantId, document, range, MAX_FRAGMENTS + 1);
    if (rows.length === 0) throw nothingIn(document, extent);
    return answer(document, extent, range, shownOf(rows, context));
  }

  private async find(named: string, context: ToolContext): Promise<DocumentInfo> {
    const bases = await currentBases(this.bases, context);
    const search = { text: named, filter: context.filter, limit: MAX_DOCUMENTS };
    const matches = await this.documents.find(context.caller, bases, search);
    const [document, ...others] = matches;
    if (!document) {
      throw new ToolFailure(
        `There is no document "${shownName(named)}" in the knowledge bases. Give the docId or the name that search_knowledge shows.`,
      );
    }
    if (others.length > 0) {
      const list = matches.map(({ docId, name }) => `${docId} "${shownName(name)}"`).join(', ');
      throw new ToolFailure(
        `Several documents fit "${shownName(named)}": ${list}. Call read_document again with one of these docIds.`,
      );
    }
    return document;
  }

  private async extent(
    tenantId: string,
    document: DocumentInfo,
    { fromPage, toPage }: FragmentRange,
  ): Promise<Extent> {
    const { lastIdx, lastPage } = await this.documents.extent(tenantId, document);
    const name = shownName(document.name);
    if (lastIdx === null) {
      throw new ToolFailure(
        `The document "${name}" has no text: it is not parsed yet, its parsing has failed, or it is empty. Say so.`,
      );
    }
    if (lastPage === null && (fromPage !== undefined || toPage !== undefined)) {
      throw new ToolFailure(
        `The document "${name}" has no pages. Give from and to instead: its fragments are 0 to ${lastIdx}.`,
      );
    }
    return { lastIdx, lastPage };
  }
}

function check({ from, to, fromPage, toPage }: FragmentRange): void {
  if (from !== undefined && to !== undefined && from > to) {
    throw new ToolFailure(`from is ${from} and to is ${to}. Give a from that is not larger.`);
  }
  if (fromPage !== undefined && toPage !== undefined && fromPage > toPage) {
    throw new ToolFailure(
      `fromPage is ${fromPage} and toPage is ${toPage}. Give a fromPage that is not larger.`,
    );
  }
}

function nothingIn(document: DocumentInfo, { lastIdx, lastPage }: Extent): ToolFailure {
  return new ToolFailure(
    `The document "${shownName(document.name)}" has nothing in this range. Its fragments are 0 to ${lastIdx}${pagesOf(lastPage)}.`,
  );
}

function pagesOf(lastPage: number | null): string {
  return lastPage === null ? '' : `; the last one begins on page ${lastPage}`;
}

/** The arguments for what follows. */
function rest({ docId }: DocumentInfo, { to, toPage }: FragmentRange, next: number): string {
  return [
    `document "${docId}", from ${next}`,
    ...(to === undefined ? [] : [`to ${to}`]),
    ...(toPage === undefined ? [] : [`toPage ${toPage}`]),
  ].join(', ');
}

/** The fragments of an answer, and where to go on. */
interface Shown {
  readonly texts: readonly string[];
  readonly first: number;
  readonly last: number;
  /** The index of the next fragment of the range; undefined at its end. */
  readonly next: number | undefined;
  /** The only fragment is longer than an answer and was cut. */
  readonly isBeginning: boolean;
}

function shownOf(
  rows: readonly DocumentFragment[],
  { sources, room: { tokens, counter } }: ToolContext,
): Shown {
  const fragments = rows.map((row) => ({ ...row, score: 1 }));
  const [head] = fragments;
  if (!head) throw new Error('There is no fragment to show.');
  const quoted = quoteFragments(
    fragments,
    sources,
    {
      pieces: MAX_FRAGMENTS,
      characters: MAX_CONTENT_CHARS - REMARKS,
      tokens: tokens - REMARK_TOKENS,
    },
    { counter, facts: ({ docId, idx }) => ({ docId, index: idx }), isOrdered: true },
  );
  const { texts } = quoted;
  const count = texts.length;
  if (count === 0) throw sources.vacancies === 0 ? new TurnFullError() : new WindowFullError();
  const last = fragments[count - 1]?.idx ?? head.idx;
  // Manually set indexes can repeat; continuing after the last one never repeats an answer.
  const following = fragments[count];
  const next = following && Math.max(following.idx, last + 1);
  const isBeginning = quoted.sources[0]?.cutFrom !== undefined;
  return { texts, first: head.idx, last, next, isBeginning };
}

function answer(
  document: DocumentInfo,
  { lastIdx, lastPage }: Extent,
  range: FragmentRange,
  quotedRange: Shown,
): ToolOutcome {
  const { first, last, next, texts } = quotedRange;
  const name = shownName(document.name);
  const part = first === last ? `fragment ${first}` : `fragments ${first} to ${last}`;
  const remarks = [
    ...(quotedRange.isBeginning ? [`[Fragment ${first} is too long and was cut.]`] : []),
    ...(next === undefined
      ? []
      : [`[The document goes on. Call read_document again with ${rest(document, range, next)}.]`]),
  ];
  return {
    content: [
      `Document "${name}": ${part} of 0 to ${lastIdx}${pagesOf(lastPage)}. ${HOW_TO_USE}`,
      ...texts,
      ...remarks,
    ].join('\n\n'),
    summary: `read ${part} of ${name}`,
  };
}
