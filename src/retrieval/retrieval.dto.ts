import {
  Decimal,
  Flag,
  Id,
  Input,
  Text,
  Whole,
  Answer,
  decimal,
  integer,
  nullable,
  OK_MESSAGE,
  optional,
  recordId,
  schema,
  text,
  View,
} from '../platform/http/index.js';
import type { Explanation, RetrievalResult, RetrievedFragment } from './retrieval.js';

/** A question to one knowledge base; omitted values are taken from its settings. */
export class RetrievalBody extends Input({
  knowledgeId: Id({ description: 'A knowledge base that the caller may read' }),
  query: Text({
    max: 100_000,
    description: 'The question or words to search for',
    example: 'How long is the warranty?',
  }),
  topK: Whole({ optional: true, min: 1, max: 200, description: 'Replaces retrieveLimit' }),
  threshold: Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Minimum cosine similarity in the vector channel; replaces similarityThreshold',
  }),
  enableRerank: Flag({ optional: true }),
  rerankModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category rerank',
  }),
  enableHybrid: Flag({ optional: true, description: 'Vector and keyword search, fused' }),
  hybridAlpha: Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel',
  }),
  explain: Flag({
    optional: true,
    description: 'Explain the rank of each fragment, and what was dropped and why',
  }),
}) {}

/** One found fragment. */
export class RetrievedFragmentView extends View({
  id: text({ example: 'k3v9x0a2bq', description: 'fid of the fragment' }),
  docId: text({ example: 'a1b2c3d4e5' }),
  knowledgeId: recordId(),
  idx: integer({ example: 0, description: 'Index in the document, from 0' }),
  content: text({ example: 'The warranty lasts two years.' }),
  score: decimal({ example: 0.83, description: 'On the scale that `scale` names' }),
  rawScore: optional(decimal({ example: 0.71, description: 'Before the reranker' })),
  originalIndex: optional(
    integer({ example: 2, description: 'Position before the reranker, from 0' }),
  ),
  sourceName: text({ example: 'warranty.pdf', description: 'Name of the document' }),
  page: nullable(integer({ example: 3, description: 'Page, from 1' })),
  headings: nullable(text({ example: 'Terms > Warranty' })),
  location: nullable(text({ example: 'lines 10-42' })),
  explain: optional(
    schema<Explanation>({
      type: 'object',
      additionalProperties: true,
      description: 'Its places in the channels; only when requested',
    }),
  ),
}) {}

/** What stands beside `data`, for OpenAPI; the last two only when an explanation is requested. */
export const besideRetrieved = {
  channels: { type: 'object', description: 'What each channel did' },
  scale: { type: 'string', enum: ['cosine', 'fusion', 'rerank'], description: 'Of `score`' },
  rerank: { type: 'string', enum: ['off', 'applied', 'fallback'] },
  settings: { type: 'object', description: 'With which it was searched' },
  dropped: { type: 'array', items: { type: 'object' }, description: 'Left out, and why' },
};

/** `data` is the list that existing clients read; the explanation is beside it. */
export function toRetrievalAnswer(
  result: RetrievalResult,
  explain: boolean,
): Answer<RetrievedFragmentView[]> {
  const { channels, scale, rerank, settings } = result;
  return new Answer(
    result.fragments.map((fragment) => toView(fragment, explain)),
    result.notices.length === 0 ? OK_MESSAGE : result.notices.join(' '),
    {
      channels,
      scale,
      rerank,
      ...(explain && { settings, dropped: result.dropped.map((one) => toView(one, true)) }),
    },
  );
}

function toView(fragment: RetrievedFragment, explain: boolean): RetrievedFragmentView {
  const { fid, explanation } = fragment;
  return RetrievedFragmentView.of(fragment, {
    id: fid,
    explain: explain ? explanation : undefined,
  });
}
