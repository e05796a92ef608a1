import { protocolError } from '../../answer-failure.js';
import { isRecord } from '../../json-fields.js';
import type { Secrets } from '../../safe-text.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { RankedDocument, RerankCall } from '../rerank.adapter.js';
import { rankedSchema } from './query-documents.wire.js';

/** Maps an answer of /rerank to at most `topN` documents, best first. Throws UpstreamError. */
export function toRankedDocuments(
  answer: unknown,
  { documents, topN }: Pick<RerankCall, 'documents' | 'topN'>,
  secrets: Secrets,
): readonly RankedDocument[] {
  if (isRecord(answer) && answer['error']) throw errorInAnswer(answer['error'], secrets);
  const parsed = rankedSchema.safeParse(answer);
  if (!parsed.success) {
    throw protocolError('The provider answered without a score for each document.', parsed.error);
  }
  const { results } = parsed.data;
  if (results.length === 0) throw protocolError('The provider answered no document.');
  if (results.some(({ index }) => index < 0 || index >= documents.length)) {
    throw protocolError('The provider answered a document that it was not given.');
  }
  if (new Set(results.map(({ index }) => index)).size < results.length) {
    throw protocolError('The provider answered the same document twice.');
  }
  // Not every service sorts, or keeps to the number asked for.
  return results
    .map(({ index, relevance_score: score }) => ({ index, score }))
    .sort((one, other) => other.score - one.score || one.index - other.index)
    .slice(0, topN);
}
