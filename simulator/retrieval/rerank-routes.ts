import { randomUUID } from 'node:crypto';
import { coverage, featuresOf } from '../answer/features.js';
import { estimateTokens } from '../answer/tokens.js';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonValue, numberOf, objectOf, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';

export const rerankRoutes: Route[] = [
  { method: 'POST', path: /\/reranks?$/, protocol: 'chat-completions', handle: answerRerank },
];

async function answerRerank(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const { body } = exchange;
  const query = stringOf(body['query']);
  const documents = Array.isArray(body['documents']) ? body['documents'].map(textOfDocument) : [];
  if (query === '' || documents.length === 0) {
    const problem = 'query and documents are required';
    return replyJson(exchange, 400, errorBody('chat-completions', 400, problem));
  }
  const results = documents
    .map((text, index) => ({
      index,
      relevance_score: relevance(query, text),
      ...(body['return_documents'] === true && { document: { text } }),
    }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, numberOf(body['top_n']) ?? documents.length);
  spoil(results, documents.length, behaviour);
  const tokens = estimateTokens([query, ...documents].join(''));
  if (!behaviour.noUsage) exchange.recording.tokens = { input: tokens, output: 0 };
  const answer = {
    id: `rerank-${randomUUID()}`,
    model: stringOf(body['model']),
    results,
    ...(!behaviour.noUsage && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
  return replyJson(exchange, 200, answer, behaviour);
}

/** Puts in the faults that a behaviour asks for; NaN is written as null. */
function spoil(
  results: { index: number; relevance_score: number }[],
  documents: number,
  { tooFew, tooMany, sameIndex, notFinite }: Behaviour,
): void {
  if (tooFew) results.pop();
  if (tooMany) results.push({ index: documents, relevance_score: 0 });
  for (const result of results) {
    if (sameIndex) result.index = 0;
    if (notFinite) result.relevance_score = NaN;
  }
}

/** How much of the query the document covers; of equally good ones the more concise is better. */
function relevance(query: string, document: string): number {
  const wanted = featuresOf(query);
  const found = featuresOf(document);
  const score = 0.9 * coverage(wanted, found) + 0.1 * coverage(found, wanted);
  return Math.round(score * 1e6) / 1e6;
}

function textOfDocument(document: JsonValue): string {
  return typeof document === 'string' ? document : stringOf(objectOf(document)['text']);
}
