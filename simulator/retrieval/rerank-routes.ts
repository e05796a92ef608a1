import { randomUUID } from 'node:crypto';
import { coverage, featuresOf } from '../answer/features.js';
import { estimateTokens } from '../answer/tokens.js';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonObject, type JsonValue, numberOf, objectOf, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';

export const rerankRoutes: Route[] = [
  {
    method: 'POST',
    path: /\/(reranks?|text-rerank)$/,
    protocol: 'chat-completions',
    handle: answerRerank,
  },
];

async function answerRerank(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const { body } = exchange;
  const rerankRequest = rerankRequestOf(body);
  const query = stringOf(rerankRequest.query);
  const documents = Array.isArray(rerankRequest.documents)
    ? rerankRequest.documents.map(textOfDocument)
    : [];
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
    .slice(0, numberOf(rerankRequest.limit) ?? documents.length);
  spoil(results, documents.length, behaviour);
  const tokens = estimateTokens([query, ...documents].join(''));
  if (!behaviour.noUsage) exchange.recording.tokens = { input: tokens, output: 0 };
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const answer = {
    id: `rerank-${randomUUID()}`,
    model: stringOf(body['model']),
    ...rerankRequest.answer(results),
    ...(!behaviour.noUsage && { usage }),
  };
  return replyJson(exchange, 200, rerankRequest.isBare ? results.map(scored) : answer, behaviour);
}

interface Asked {
  readonly query: JsonValue | undefined;
  readonly documents: JsonValue | undefined;
  readonly limit: JsonValue | undefined;
  readonly answer: (results: JsonValue[]) => JsonObject;
  readonly isBare?: boolean;
}

/** The forms of TEI, DashScope and Voyage, which are answered in their own, too; any other is the common one. */
function rerankRequestOf(body: JsonObject): Asked {
  const { query, texts, top_n, top_k } = body;
  if (texts !== undefined) {
    return { query, documents: texts, limit: undefined, answer: () => ({}), isBare: true };
  }
  if (body['input'] !== undefined) {
    const input = objectOf(body['input']);
    return {
      query: input['query'],
      documents: input['documents'],
      limit: objectOf(body['parameters'])['top_n'],
      answer: (results) => ({ output: { results } }),
    };
  }
  const { documents } = body;
  if (top_k !== undefined) {
    return { query, documents, limit: top_k, answer: (data) => ({ object: 'list', data }) };
  }
  return { query, documents, limit: top_n, answer: (results) => ({ results }) };
}

function scored({ index, relevance_score }: { index: number; relevance_score: number }): JsonValue {
  return { index, score: relevance_score };
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

/** Share of the query that the document covers; a more concise document scores higher. */
function relevance(query: string, document: string): number {
  const queryFeatures = featuresOf(query);
  const documentFeatures = featuresOf(document);
  const score =
    0.9 * coverage(queryFeatures, documentFeatures) +
    0.1 * coverage(documentFeatures, queryFeatures);
  return Math.round(score * 1e6) / 1e6;
}

function textOfDocument(document: JsonValue): string {
  return typeof document === 'string' ? document : stringOf(objectOf(document)['text']);
}
