import { ApiPropertyOptional } from '@nestjs/swagger';
import { Answer, Decimal, Id, OK_MESSAGE, Text, Whole } from '../platform/http/index.js';
import type { Explanation, RetrievalResult, RetrievedFragment } from './retrieval.js';

/** One found fragment. */
export class RetrievedFragmentView {
  @Text({ example: 'k3v9x0a2bq', description: 'fid of the fragment' })
  id: string;

  @Text({ example: 'a1b2c3d4e5' })
  docId: string;

  @Id()
  knowledgeId: number;

  @Whole({ example: 0, description: 'Index in the document, from 0' })
  idx: number;

  @Text({ example: 'The warranty lasts two years.' })
  content: string;

  @Decimal({ example: 0.83, description: 'On the scale that `scale` names' })
  score: number;

  @Decimal({ optional: true, example: 0.71, description: 'Before the reranker' })
  rawScore?: number;

  @Whole({ optional: true, example: 2, description: 'Position before the reranker, from 0' })
  originalIndex?: number;

  @Text({ example: 'warranty.pdf', description: 'Name of the document' })
  sourceName: string;

  @Whole({ nullable: true, example: 3, description: 'Page, from 1' })
  page: number | null;

  @Text({ nullable: true, example: 'Terms > Warranty' })
  headings: string | null;

  @Text({ nullable: true, example: 'lines 10-42' })
  location: string | null;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Its places in the channels; only when requested',
  })
  explain?: Explanation;
}

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
  const { fid, docId, knowledgeId, idx, content, score, sourceName } = fragment;
  const { page, headings, location, rawScore, originalIndex, explanation } = fragment;
  return {
    id: fid,
    docId,
    knowledgeId,
    idx,
    content,
    score,
    ...(rawScore !== undefined && { rawScore }),
    ...(originalIndex !== undefined && { originalIndex }),
    sourceName,
    page,
    headings,
    location,
    ...(explain && { explain: explanation }),
  };
}
