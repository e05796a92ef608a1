import { hashOf } from '../../effect/index.js';
import type { CitableFragment } from '../../retrieval/index.js';
import type { ToolContext } from './agent-tool.js';
import { quoteFragments, TurnFullError, WindowFullError } from './quoted-fragments.js';
import type { QuotedFragments } from './quoted-fragments.js';
import type { SentFragment } from './sources.js';

/** Room for remarks besides the quotations. */
const REMARK_TOKENS = 300;

/** A text of the web as a fragment: it is numbered, quoted and cited like those of documents. */
export type WebFragment = CitableFragment & SentFragment & { readonly url: string };

interface WebText {
  readonly url: string;
  readonly title: string;
  readonly content: string;
  /** Tells the texts of one address apart: results of searches from each part of a page. */
  readonly part: string;
  readonly readTime: Date;
}

export function webFragment({ url, title, content, part, readTime }: WebText): WebFragment {
  const hash = hashOf(`${url}\n${part}\n${content}`);
  return {
    ...{ knowledgeId: 0, docId: url, fid: `web-${hash.slice(0, 24)}`, sourceName: title, content },
    ...{ page: null, headings: null, location: null, score: 1 },
    ...{ url, readTime: readTime.toISOString() },
  };
}

/** The texts that fit, as data for the model. `facts` are attributes of the tags besides address and day of the look-up. */
export function quoteWeb(
  fragments: readonly WebFragment[],
  { sources, room: { tokens, counter } }: ToolContext,
  characters: number,
  facts: (fragment: WebFragment) => Readonly<Record<string, string>> = () => ({}),
): QuotedFragments<WebFragment> {
  const room = { pieces: fragments.length, characters, tokens: tokens - REMARK_TOKENS };
  const quoted = quoteFragments(fragments, sources, room, {
    counter,
    facts: (fragment) => ({
      address: fragment.url,
      read: fragment.readTime?.slice(0, 10) ?? '',
      ...facts(fragment),
    }),
  });
  if (fragments.length > 0 && quoted.texts.length === 0) {
    throw sources.vacancies === 0 ? new TurnFullError() : new WindowFullError();
  }
  return quoted;
}
