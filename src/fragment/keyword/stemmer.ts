import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeywordRepository } from './keyword.repository.js';
import type { StemRequest } from './keyword.repository.js';

/** Answers the stem, '' for a stop word. */
export type StemReader = (request: StemRequest) => string;

/** Stems that are kept; a language has some ten thousand that matter. */
const KEPT = 50_000;

/** Words of one statement. */
const BATCH = 10_000;

/** PostgreSQL's Snowball stemmers, with a memory. */
@Injectable()
export class Stemmer {
  /** Stems by dictionary and word, '' for stop words. */
  private readonly known = new LRUCache<string, string>({ max: KEPT });

  constructor(private readonly repository: KeywordRepository) {}

  /** A reader of the stems of these words. */
  async stems(requests: readonly StemRequest[]): Promise<StemReader> {
    const stems = new Map<string, string>();
    const missing = new Map<string, StemRequest>();
    for (const request of requests) {
      const key = keyOf(request);
      if (stems.has(key) || missing.has(key)) continue;
      const stem = this.known.get(key);
      if (stem === undefined) missing.set(key, request);
      else stems.set(key, stem);
    }
    const asked = [...missing];
    for (let start = 0; start < asked.length; start += BATCH) {
      const batch = asked.slice(start, start + BATCH);
      const answers = await this.repository.stems(batch.map(([, request]) => request));
      batch.forEach(([key, { word }], index) => {
        const stem = answers[index] ?? word;
        stems.set(key, stem);
        this.known.set(key, stem);
      });
    }
    return (request) => stems.get(keyOf(request)) ?? request.word;
  }
}

function keyOf({ dictionary, word }: StemRequest): string {
  return `${dictionary} ${word}`;
}
