import { describe, expect, it } from '@jest/globals';
import { readSearchAnswer, SEARCH_ADAPTERS } from './search.adapters.js';
import type { SearchCode } from './search.adapters.js';
import { SearchFailedError } from './search.errors.js';

const ASKED = { query: 'a & b', count: 3, address: 'https://s.example.com', apiKey: 'key-1' };

/**
 * Answers in the form that the services document; none was recorded. SearXNG: docs.searxng.org/dev/search_api ("Requesting an
 * unset format will return a 403 Forbidden error") and its JSON result class. Brave: api-dashboard.search.brave.com, Web Search
 * responses; its 422 is in github.com/nearai/ironclaw/issues/2780 (2026-04-21). Tavily: docs.tavily.com, POST /search;
 * `published_date` comes with topic news only; the codes 432 and 433 are unverified. Serper: serper.dev playground; its errors
 * are unverified.
 */
const ANSWERS: Readonly<Record<SearchCode, object>> = {
  searxng: {
    query: 'a',
    number_of_results: 0,
    results: [
      {
        url: 'https://example.com/a',
        title: 'Page A',
        content: 'About A.',
        publishedDate: '2026-10-02T00:00:00',
        engine: 'duckduckgo',
        score: 1,
      },
    ],
    answers: [],
    unresponsive_engines: [['google', 'Suspended: CAPTCHA']],
  },
  brave: {
    type: 'search',
    query: { original: 'a' },
    web: {
      type: 'search',
      results: [
        {
          title: '<strong>Page</strong> A',
          url: 'https://example.com/a',
          description: 'About <strong>A</strong>&#x27;s.',
          page_age: '2026-10-02T00:00:00',
          age: '8 weeks ago',
        },
      ],
    },
  },
  tavily: {
    query: 'a',
    results: [{ title: 'Page A', url: 'https://example.com/a', content: 'About A.', score: 0.9 }],
    response_time: 1.2,
  },
  serper: {
    searchParameters: { q: 'a', type: 'search', engine: 'google' },
    organic: [
      {
        title: 'Page A',
        link: 'https://example.com/a',
        snippet: 'About A.',
        date: 'Oct 2, 2026',
        position: 1,
      },
    ],
    credits: 1,
  },
};

const NONE: Readonly<Record<SearchCode, object>> = {
  searxng: { query: 'a', results: [], unresponsive_engines: [] },
  brave: { type: 'search', query: { original: 'a' } },
  tavily: { query: 'a', results: [], response_time: 0.4 },
  serper: { searchParameters: { q: 'a' }, organic: [], credits: 1 },
};

const codes = Object.keys(SEARCH_ADAPTERS) as SearchCode[];

function failureOf(code: SearchCode, status: number, text: string): string {
  try {
    readSearchAnswer(code, { status, text });
  } catch (error) {
    if (error instanceof SearchFailedError) return error.failure;
    throw error;
  }
  return 'none';
}

describe('a search service', () => {
  it.each(codes)('%s is read', (code) => {
    const text = JSON.stringify(ANSWERS[code]);
    const [first, ...others] = readSearchAnswer(code, { status: 200, text });
    expect(others).toEqual([]);
    expect(first).toMatchObject({ title: 'Page A', url: 'https://example.com/a' });
    expect(first?.snippet).toMatch(/^About A('s)?\.$/);
    if (code !== 'tavily') expect(first?.date).toMatch(/2026/);
    else expect(first?.date).toBeNull();
  });

  it.each(codes)('%s that finds nothing is no failure', (code) => {
    const text = JSON.stringify(NONE[code]);
    expect(readSearchAnswer(code, { status: 200, text })).toEqual([]);
  });

  it.each(codes)('%s: a captcha or a page with status 200 is no empty result', (code) => {
    const captcha = '<!DOCTYPE html><html><title>Just a moment</title><div class="g-recaptcha">';
    expect(failureOf(code, 200, captcha)).toBe('captcha');
    expect(failureOf(code, 200, '<html><body>Welcome</body></html>')).toBe('format');
    expect(failureOf(code, 200, '{}')).toBe('format');
    expect(failureOf(code, 200, '')).toBe('format');
    expect(failureOf(code, 429, '')).toBe('rate');
    expect(failureOf(code, 502, '<html>Bad gateway</html>')).toBe('status');
  });

  it('says what its own statuses mean', () => {
    expect(failureOf('searxng', 403, '<!doctype html><h1>Forbidden</h1>')).toBe('format');
    expect(failureOf('serper', 403, '{"message":"Unauthorized.","statusCode":403}')).toBe('auth');
    const credits = '{"message":"Not enough credits","statusCode":400}';
    expect(failureOf('serper', 400, credits)).toBe('quota');
    expect(failureOf('serper', 400, '{"message":"Missing query"}')).toBe('status');
    expect(failureOf('tavily', 401, '{"detail":{"error":"Unauthorized"}}')).toBe('auth');
    expect(failureOf('tavily', 432, '{"detail":{"error":"plan limit"}}')).toBe('quota');
    const token =
      '{"type":"ErrorResponse","error":{"status":422,"code":"SUBSCRIPTION_TOKEN_INVALID"}}';
    expect(failureOf('brave', 422, token)).toBe('auth');
  });

  it('SearXNG whose engines are all blocked has not found nothing', () => {
    const blocked = { results: [], unresponsive_engines: [['google', 'Suspended: CAPTCHA']] };
    expect(failureOf('searxng', 200, JSON.stringify(blocked))).toBe('engines');
  });

  it('leads to pages of the web only', () => {
    const results = ['javascript:alert(1)', 'file:///etc/passwd', 'nonsense', null].map((url) => ({
      url,
      title: 'x',
    }));
    const text = JSON.stringify({ results });
    expect(readSearchAnswer('searxng', { status: 200, text })).toEqual([]);
  });

  it('is asked in its own way', () => {
    const [searxng, brave, tavily, serper] = codes.map((code) =>
      SEARCH_ADAPTERS[code].request(ASKED),
    );
    expect(searxng?.url).toBe('https://s.example.com/search?q=a+%26+b&format=json');
    expect(brave).toMatchObject({
      url: 'https://s.example.com/web/search?q=a+%26+b&count=3',
      headers: { 'x-subscription-token': 'key-1' },
    });
    expect(tavily?.headers).toMatchObject({ authorization: 'Bearer key-1' });
    expect(JSON.parse(tavily?.body ?? '')).toEqual({ query: 'a & b', max_results: 3 });
    expect(serper?.headers).toMatchObject({ 'x-api-key': 'key-1' });
    expect(JSON.parse(serper?.body ?? '')).toEqual({ q: 'a & b', num: 3 });
  });
});
