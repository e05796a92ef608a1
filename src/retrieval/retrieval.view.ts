import { getSchemaPath } from '@nestjs/swagger';
import {
  Answer,
  decimal,
  integer,
  localized,
  nullable,
  OK_MESSAGE,
  optional,
  recordId,
  schema,
  text,
  View,
} from '../platform/http/index.js';
import { sentences } from '../platform/message/index.js';
import type {
  ChannelReport,
  Explanation,
  RetrievalResult,
  RetrievedFragment,
} from './retrieval.js';

/** One found fragment. */
export class RetrievedFragmentView extends View({
  id: text({ example: 'k3v9x0a2bq', description: 'fid of the fragment' }),
  docId: text({ example: 'a1b2c3d4e5' }),
  knowledgeId: recordId(),
  idx: integer({ example: 0, description: 'Index in the document, from 0' }),
  content: text({ example: 'The warranty lasts two years.' }),
  score: decimal({
    example: 0.83,
    description: 'On the scale that `scale` names; the lowest one for what the reranker left out',
  }),
  rawScore: optional(
    decimal({
      example: 0.71,
      description:
        'Cosine similarity before fusion and reranker; absent where `score` is that, and without a vector hit',
    }),
  ),
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

/** Members beside `data`, for OpenAPI; the last two only when an explanation is requested. */
export const besideRetrieved = {
  channels: { type: 'object', description: 'What each channel did' },
  belowThreshold: {
    type: 'object',
    required: ['count', 'bestScore'],
    properties: {
      count: {
        type: 'integer',
        example: 4,
        description: 'How many of the nearest fragments the similarity threshold left out',
      },
      bestScore: {
        type: 'number',
        nullable: true,
        example: 0.43,
        description: 'The highest cosine similarity among them; null where there are none',
      },
    },
  },
  scale: { type: 'string', enum: ['cosine', 'fusion', 'rerank'], description: 'Of `score`' },
  rerank: { type: 'string', enum: ['off', 'applied', 'fallback'] },
  notices: {
    type: 'array',
    items: { type: 'string' },
    description: 'What failed or is missing, and what to do; the same texts as in msg',
  },
  settings: { type: 'object', description: 'With which it was searched' },
  dropped: {
    type: 'array',
    items: { $ref: getSchemaPath(RetrievedFragmentView) },
    description: 'Left out, and why',
  },
};

/** The members that are present without an explanation. */
export const alwaysBesideRetrieved = ['channels', 'belowThreshold', 'scale', 'rerank', 'notices'];

/** `data` is the list that existing clients read; the explanation is beside it. */
export function toRetrievalAnswer(
  result: RetrievalResult,
  explain: boolean,
): Answer<RetrievedFragmentView[]> {
  const { channels, belowThreshold, scale, rerank, notices, settings } = result;
  return new Answer(
    result.fragments.map((fragment) => toView(fragment, explain)),
    notices.length === 0 ? OK_MESSAGE : sentences(notices),
    {
      channels: {
        vector: shown(channels.vector),
        keyword: channels.keyword && shown(channels.keyword),
      },
      belowThreshold,
      scale,
      rerank,
      notices: notices.map((notice) => localized(notice)),
      ...(explain && { settings, dropped: result.dropped.map((one) => toView(one, true)) }),
    },
  );
}

function shown(report: ChannelReport): object {
  const { failure } = report;
  return failure === undefined ? report : { ...report, failure: localized(failure) };
}

function toView(fragment: RetrievedFragment, explain: boolean): RetrievedFragmentView {
  const { fid, explanation } = fragment;
  return RetrievedFragmentView.of(fragment, {
    id: fid,
    explain: explain ? explanation : undefined,
  });
}
