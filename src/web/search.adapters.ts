import { z } from 'zod';
import { msg } from '../platform/message/index.js';
import { SearchFailedError } from './search.errors.js';

export const SEARCH_CODES = ['searxng', 'brave', 'tavily', 'serper'] as const;
export type SearchCode = (typeof SEARCH_CODES)[number];

const MAX_TITLE_CHARS = 300;
const MAX_SNIPPET_CHARS = 2_000;
const MAX_DATE_CHARS = 40;
const MAX_URL_CHARS = 2_000;

/** One page that a service has found. */
export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** When the page was published, as the service writes it; null: not stated. */
  readonly date: string | null;
}

export interface SearchQuery {
  readonly query: string;
  readonly count: number;
  /** Address of the service, without a slash at the end. */
  readonly address: string;
  readonly apiKey: string | undefined;
}

export interface SearchRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer of a service, whatever its status. */
export interface SearchAnswer {
  readonly status: number;
  readonly text: string;
}

/** How a service is asked and how it answers. */
interface SearchAdapter {
  readonly label: string;
  /** Undefined for services that companies run themselves. */
  readonly defaultAddress?: string;
  readonly needsKey: boolean;
  request(query: SearchQuery): SearchRequest;
  /** The results in a JSON answer; undefined where it is none of this service. */
  read(json: unknown): readonly SearchResult[] | undefined;
  /** What a status or an error of this service means where it differs from the usual. */
  refusal?(answer: SearchAnswer): SearchFailedError | undefined;
}

const text = z.string().nullish();
const searxng = z.object({
  results: z.array(z.object({ title: text, url: text, content: text, publishedDate: text })),
  unresponsive_engines: z.array(z.unknown()).default([]),
});
/** Without results `web` is absent. */
const brave = z.object({
  type: z.literal('search'),
  web: z
    .object({
      results: z.array(z.object({ title: text, url: text, description: text, page_age: text })),
    })
    .nullish(),
});
const tavily = z.object({
  results: z.array(z.object({ title: text, url: text, content: text, published_date: text })),
});
const serper = z.object({
  organic: z.array(z.object({ title: text, link: text, snippet: text, date: text })),
});

/** The services by their codes. A new one is one entry here. */
export const SEARCH_ADAPTERS: Readonly<Record<SearchCode, SearchAdapter>> = {
  searxng: {
    label: 'SearXNG',
    needsKey: false,
    request: ({ query, address, apiKey }) => ({
      url: `${address}/search?${String(new URLSearchParams({ q: query, format: 'json' }))}`,
      method: 'GET',
      headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
    }),
    read: (json) => {
      const { data } = searxng.safeParse(json);
      if (data && data.results.length === 0 && data.unresponsive_engines.length > 0) {
        throw new SearchFailedError(
          'engines',
          msg`None of the engines of SearXNG has answered: they may be blocked or ask for a captcha. Check its page of engine statistics.`,
        );
      }
      return data?.results.flatMap(({ title, url, content, publishedDate }) =>
        resultOf(title, url, content, publishedDate),
      );
    },
    refusal: ({ status }) =>
      status === 403
        ? new SearchFailedError(
            'format',
            msg`SearXNG answers no JSON. Add json to search.formats in its settings.yml.`,
          )
        : undefined,
  },
  brave: {
    label: 'Brave Search',
    defaultAddress: 'https://api.search.brave.com/res/v1',
    needsKey: true,
    request: ({ query, count, address, apiKey = '' }) => ({
      url: `${address}/web/search?${String(new URLSearchParams({ q: query, count: String(count) }))}`,
      method: 'GET',
      headers: { 'x-subscription-token': apiKey },
    }),
    read: (json) => {
      const { data } = brave.safeParse(json);
      return (
        data &&
        (data.web?.results ?? []).flatMap(({ title, url, description, page_age: date }) =>
          resultOf(title, url, description, date),
        )
      );
    },
    // A wrong token is answered with 422 and this code, not with 401.
    refusal: ({ text: body }) =>
      body.includes('SUBSCRIPTION_TOKEN_INVALID') ? keyRefused() : undefined,
  },
  tavily: {
    label: 'Tavily',
    defaultAddress: 'https://api.tavily.com',
    needsKey: true,
    request: ({ query, count, address, apiKey = '' }) => ({
      url: `${address}/search`,
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, max_results: count }),
    }),
    read: (json) =>
      tavily
        .safeParse(json)
        .data?.results.flatMap(({ title, url, content, published_date: date }) =>
          resultOf(title, url, content, date),
        ),
    refusal: ({ status }) => (status === 432 || status === 433 ? quotaReached() : undefined),
  },
  serper: {
    label: 'Serper',
    defaultAddress: 'https://google.serper.dev',
    needsKey: true,
    request: ({ query, count, address, apiKey = '' }) => ({
      url: `${address}/search`,
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ q: query, num: count }),
    }),
    read: (json) =>
      serper
        .safeParse(json)
        .data?.organic.flatMap(({ title, link, snippet, date }) =>
          resultOf(title, link, snippet, date),
        ),
    refusal: ({ status, text: body }) =>
      status === 400 && body.includes('Not enough credits') ? quotaReached() : undefined,
  },
};

/** Marks of pages that ask whether the caller is a person, with whichever status they come. */
const CAPTCHA =
  /captcha|unusual traffic|verify (?:that )?you are (?:a )?human|are you a robot|cf-chl|challenge-platform|anomaly-modal/i;

/** The results in an answer. Throws SearchFailedError for everything that is no list of results, even with status 200. */
export function readSearchAnswer(code: SearchCode, answer: SearchAnswer): readonly SearchResult[] {
  const adapter = SEARCH_ADAPTERS[code];
  const { status, text: body } = answer;
  const isMarkup = /^\s*(?:<!--|<!doctype|<html|<\?xml)/i.test(body);
  if (isMarkup && CAPTCHA.test(body)) {
    throw new SearchFailedError(
      'captcha',
      msg`The search service asks for a captcha instead of answering. Search less often, or use another provider.`,
    );
  }
  if (status !== 200) throw adapter.refusal?.(answer) ?? refusalOf(status);
  const results = adapter.read(jsonOf(body));
  if (results) return results;
  throw new SearchFailedError(
    'format',
    isMarkup
      ? msg`The search service answered with a page instead of JSON. Check its address.`
      : msg`The search service answered something that is no list of results. Check its address and kind.`,
  );
}

function refusalOf(status: number): SearchFailedError {
  if (status === 401 || status === 403) return keyRefused();
  if (status === 402) return quotaReached();
  if (status === 429) {
    return new SearchFailedError(
      'rate',
      msg`The search service has had too many requests. Try again later.`,
    );
  }
  return new SearchFailedError(
    'status',
    msg`The search service answered with status ${status}. Check its address, or try again later.`,
  );
}

function keyRefused(): SearchFailedError {
  return new SearchFailedError(
    'auth',
    msg`The search service refuses the API key. Enter another one.`,
  );
}

function quotaReached(): SearchFailedError {
  return new SearchFailedError(
    'quota',
    msg`The searches of the plan at the search service are used up. Add credits there, or use another provider.`,
  );
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function resultOf(
  title: string | null | undefined,
  address: string | null | undefined,
  snippet: string | null | undefined,
  date: string | null | undefined,
): SearchResult[] {
  const url = URL.parse(address ?? '');
  if (!url || !/^https?:$/.test(url.protocol) || url.href.length > MAX_URL_CHARS) return [];
  return [
    {
      title: plain(title, MAX_TITLE_CHARS) || url.hostname,
      url: url.href,
      snippet: plain(snippet, MAX_SNIPPET_CHARS),
      date: plain(date, MAX_DATE_CHARS) || null,
    },
  ];
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#x27': "'",
  '#39': "'",
};

/** Services mark the terms of the query in titles and snippets. */
function plain(marked: string | null | undefined, maxChars: number): string {
  return (marked ?? '')
    .replaceAll(/<\/?(?:strong|b|em|mark|span)\b[^>]*>/gi, '')
    .replaceAll(
      /&(amp|lt|gt|quot|#x27|#39);/gi,
      (_, name: string) => ENTITIES[name.toLowerCase()] ?? '',
    )
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxChars)
    .toWellFormed();
}
